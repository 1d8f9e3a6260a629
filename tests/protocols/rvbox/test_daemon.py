from fleetgate.core.commands import CancelRun
from fleetgate.core.ids import RunId
from fleetgate.protocols.api import Opening, Send, Submit
from fleetgate.protocols.rvbox import codec
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.daemon import Asked, Daemon
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.state import Phase
from fleetgate.protocols.rvbox.testing import UUID, clear


def daemon() -> Daemon:
    made = Daemon(ClientSettings(shells=("none", "zsh")))
    made.opening = Opening(link="edge")
    return made


_SERVER = {
    w.ClientHello: (w.ServerWelcome(), w.ReconcileRequest()),
    w.ReconcileSnapshot: (w.ReconcileResult(),),
}


def test_i12_a_run_is_named_within_its_link() -> None:
    assert daemon().run_id(UUID) == f"edge/{UUID}"


def test_the_shells_offered_are_known_by_number() -> None:
    assert daemon().shells == {w.ShellType.NONE, w.ShellType.ZSH}


def test_what_may_not_be_sent_yet_is_held_and_sent_in_order() -> None:
    one = daemon()
    answers = [w.CommandAccepted(UUID, n, True) for n in (1, 2)]
    for answer in answers:
        assert one.send(answer) == ()
    for kind in (w.ClientHello, w.ReconcileSnapshot):
        one.session.send(kind())
        for opened in _SERVER.get(kind, ()):
            frame = codec.encode(w.Envelope("s", 1, opened))
            one.session.take(frame)
    assert one.session.phase is Phase.OPEN
    assert clear(one.release()) == answers
    assert one.release() == []
    (sent,) = one.send(answers[0])
    assert isinstance(sent, Send)


def test_while_the_core_is_asked_about_a_command_its_messages_wait() -> None:
    one = daemon()
    cancel = CancelRun(RunId("r"))
    assert one.ask(UUID, cancel, "what", 3, "key") == (
        Submit(cancel, Asked(UUID, "what", 3), "key"),
    )
    assert one.boxes.asked(UUID)
