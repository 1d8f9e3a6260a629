"""The daemon's side of a conversation: cases B, E and F, and every request."""

from typing import Any

import attrs
import pytest

from fleetgate.core import commands as c
from fleetgate.core import errors
from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, AccountList, Answer, ProviderList, RunList
from fleetgate.core.errors import Refusal
from fleetgate.core.events import Outcome, Reason, RunState
from fleetgate.core.ids import RunId, Seq
from fleetgate.core.run import Run
from fleetgate.core.worker import AccountReport, ProviderReport
from fleetgate.protocols.agency import answers, wire
from fleetgate.protocols.agency import wire_events as w
from fleetgate.protocols.agency.northbound import AgencyNorthbound
from fleetgate.protocols.agency.settings import AgencyNorthboundSettings
from fleetgate.protocols.agency.testing import (
    REQUEST,
    agree,
    hello,
    make_run,
    no,
    play_daemon,
    say,
    welcome,
    yes,
)
from fleetgate.protocols.agency.translate import to_snapshot, to_spec
from fleetgate.protocols.api import (
    Close,
    Follow,
    Opening,
    Pause,
    Report,
    Resume,
    Submit,
    Unfollow,
    Wake,
)
from fleetgate.protocols.testing import SECOND, Playbook, Sent, number, slot

Code = wire.ErrorCode
ID = RunId("gui/run-1")
LISTED = c.ListRuns("gui", latest=answers.MOST_LISTED)
START = wire.StartRun("run-1", REQUEST, "k")
MISSING = errors.RunNotFound("no run has that id")


def asks(play: Playbook, id: int, message: wire.ClientMessage, *commands: c.Command) -> Any:
    """The client asks; the core is asked `commands[0]`. Answers the slot to reply to."""
    key = slot()
    play.receive(say(id, message)).expect(Pause(), Submit(commands[0], reply_to=key))
    return key


def answered(play: Playbook, key: Any, answer: Answer, *sent: Any) -> None:
    """The core answers, and with that the client is answered, and read again."""
    play.reply(key, answer).expect(*map(Sent, sent), Resume())


def event(sequence: int, event: w.RunEvent, run: str = "run-1") -> w.EventFrame:
    return w.EventFrame(run, sequence, event)


# --- B. hello


@pytest.mark.parametrize(("theirs", "agreed"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (9, 3)])
def test_the_lower_minor_is_spoken(theirs: int, agreed: int) -> None:
    with play_daemon(strict_parity=True) as play:
        play.opened().expect()
        play.receive(hello(theirs)).expect(
            Sent(
                attrs.evolve(
                    welcome(3),
                    response=attrs.evolve(
                        welcome(3).response, version=wire.ProtocolVersion(0, agreed)
                    ),
                )
            )
        )


@pytest.mark.parametrize(
    ("theirs", "count", "last"),
    [(1, 5, "provider_detection"), (2, 6, "lifecycle_control"), (3, 6, "lifecycle_control")],
)
def test_case_b13_a_client_hears_of_no_capability_that_it_cannot_know(
    theirs: int, count: int, last: str
) -> None:
    """Case 13; our own order holds."""
    with agree(play_daemon(version_minor=4), theirs):
        said = welcome(theirs).response
        assert isinstance(said, wire.HelloAnswer)
        assert len(said.capabilities) == count
        assert said.capabilities[-1] == last
        assert "session_interruption" not in said.capabilities


def test_a_client_of_minor_4_hears_of_seven() -> None:
    with agree(play_daemon(version_minor=4), 4):
        said = welcome(4).response
        assert isinstance(said, wire.HelloAnswer)
        assert said.capabilities.index("session_interruption") == 4


def test_case_b9_another_major_is_refused_and_the_link_ends() -> None:
    with play_daemon() as play:
        play.opened().take()
        text = "the protocol major version is incompatible"
        play.receive(hello(major=1)).expect(
            Sent(no(1, Code.INCOMPATIBLE_VERSION, text)), Close(1000, text)
        )


@pytest.mark.parametrize("message", [wire.ListRuns(), START, wire.DetachRun("x")])
def test_the_first_frame_must_be_hello(message: wire.ClientMessage) -> None:
    with play_daemon() as play:
        play.opened().take()
        text = "the first frame must be hello"
        play.receive(say(7, message)).expect(
            Sent(no(7, Code.PROTOCOL_VIOLATION, text)), Close(1000, text)
        )


@pytest.mark.parametrize("frame", [b"\0{nope", b'\0{"requestId":1,"type":"hello"}'])
def test_case_b11_a_malformed_hello_is_dropped_without_a_word(frame: bytes) -> None:
    with play_daemon() as play:
        play.opened().take()
        play.receive(frame).fails(Close(None, slot()), match="invalid JSON frame")


def test_a_second_hello_is_an_error_and_the_link_lives() -> None:
    with agree(play_daemon()) as play:
        text = "hello may only be sent once"
        play.receive(hello(id=5)).expect(Sent(no(5, Code.PROTOCOL_VIOLATION, text)))
        play.receive(say(6, wire.DetachRun("x"))).expect(Sent(yes(6)))


def test_request_ids_are_echoed_and_never_checked() -> None:
    with agree(play_daemon()) as play:
        for id in (0, 7, 7, 3, 2**64 - 1):
            play.receive(say(id, wire.DetachRun("x"))).expect(Sent(yes(id)))


def test_a_client_that_says_nothing_is_given_up() -> None:
    with play_daemon(hello_timeout=5.0) as play:
        play.opened().expect(Wake(play.now + 5 * SECOND))
        play.tick().expect(Close(None, "no hello within 5 s"))


def test_a_client_that_has_said_hello_may_be_silent_for_ever() -> None:
    with play_daemon() as play:
        play.opened().expect(Wake(play.now + 30 * SECOND))
        play.receive(hello()).expect(Sent(welcome()))
        play.tick().expect()


def test_the_genuine_daemon_waits_for_hello_for_ever() -> None:
    with play_daemon(strict_parity=True) as play:
        play.opened().expect()


def test_a_close_frame_ends_the_link_in_order() -> None:
    with agree(play_daemon()) as play:
        play.receive(b"\x04").expect(Close(1000, "the client closed the connection"))


@pytest.mark.parametrize("frame", [b"\x02", b"\x03", b"\x01\xff", b"\x09", b"\x04x", b"\x00\xff"])
def test_what_a_daemon_does_not_take_drops_the_link(frame: bytes) -> None:
    with agree(play_daemon()) as play:
        play.receive(frame).fails(Close(None, slot()))


# --- E. starting


def test_case_e35_start_then_attach() -> None:
    with agree(play_daemon()) as play:
        command = c.StartRun(ID, to_spec(REQUEST), c.Origin("gui", "run-1"))
        key = asks(play, 2, START, command)
        answered(play, key, Accepted(None, make_run()), yes(2))
        key = asks(play, 3, wire.AttachRun("run-1", 0), c.DescribeRun(ID))
        snapshot = wire.RunSnapshot("run-1", wire.RunState.STARTING, "claude", "", 0, 0, ("/w",))
        play.reply(key, Accepted(make_run(), make_run())).expect(
            Sent(wire.Response(3, wire.RunAnswer(snapshot))), Follow(ID, Seq(0)), Resume()
        )
        play.deliver(number(ID, e.TextProduced("a"), e.MessageEnded())).expect(
            Sent(event(1, w.Text("a"))), Sent(event(2, w.MessageBoundary()))
        )


def test_nothing_of_a_run_comes_before_it_is_attached_to() -> None:
    with agree(play_daemon()) as play:
        play.deliver(number(ID, e.TextProduced("a"))).expect()


def test_an_id_is_used_once_even_with_an_equal_request() -> None:
    with agree(play_daemon()) as play:
        key = asks(play, 2, START, c.StartRun(ID, to_spec(REQUEST), c.Origin("gui", "run-1")))
        exists = no(2, Code.CONFLICT, "run already exists")
        answered(play, key, Accepted(make_run(), make_run()), exists)


def test_a_start_that_is_still_open_is_asked_again_and_then_its_own() -> None:
    """Found by `just chaos-seeds --pair agency-agency --seed 168`: its commit was late, and the
    client was told that a run had failed which went on."""
    with agree(play_daemon()) as play:
        start = c.StartRun(ID, to_spec(REQUEST), c.Origin("gui", "run-1"))
        key = asks(play, 2, START, start)
        (submit,) = play.reply(key, errors.Unavailable("late", open=True)).take()
        assert submit.command == start
        assert submit.again
        known = Accepted(make_run(), make_run())
        answered(play, submit.reply_to, known, yes(2))


STARTS: list[tuple[Refusal, wire.ErrorCode, str]] = [
    (errors.Conflict("other"), Code.CONFLICT, "run already exists"),
    (errors.Stopping("gui is stopping"), Code.CONFLICT, "AgencyProxy is stopping"),
    (errors.NoRoute("no route"), Code.INTERNAL, "agent run could not start: no route"),
    (errors.Unavailable("full"), Code.INTERNAL, "agent run could not start: full"),
    (errors.UnsupportedInput("adapt"), Code.INTERNAL, "agent run could not start: adapt"),
    (errors.ResourceExhausted("too many"), Code.INTERNAL, "agent run could not start: too many"),
]


@pytest.mark.parametrize(("refusal", "code", "text"), STARTS)
def test_a_start_that_the_core_refuses(refusal: Refusal, code: wire.ErrorCode, text: str) -> None:
    with agree(play_daemon()) as play:
        key = asks(play, 2, START, c.StartRun(ID, to_spec(REQUEST), c.Origin("gui", "run-1")))
        answered(play, key, refusal, no(2, code, text))


FLAWS: list[tuple[dict[str, Any], wire.ErrorCode, str]] = [
    ({"provider": "eliza"}, Code.PROTOCOL_VIOLATION, "unsupported provider: eliza"),
    ({"provider": "grok"}, Code.PROTOCOL_VIOLATION, "unsupported provider: grok"),
    ({"permission": "root"}, Code.PROTOCOL_VIOLATION, "unsupported permission: root"),
    (
        {"is_command": True, "prompt": "/clear"},
        Code.INTERNAL,
        "agent run could not start: unsupported command: /clear",
    ),
    (
        {"provider": "eliza", "permission": "root"},
        Code.PROTOCOL_VIOLATION,
        "unsupported provider: eliza",
    ),
]


@pytest.mark.parametrize(("changes", "code", "text"), FLAWS)
def test_a_start_that_is_wrong_is_refused_unless_its_id_is_taken(
    changes: dict[str, Any], code: wire.ErrorCode, text: str
) -> None:
    message = wire.StartRun("run-1", attrs.evolve(REQUEST, **changes), "k")
    with agree(play_daemon()) as play:
        key = asks(play, 2, message, c.DescribeRun(ID))
        answered(play, key, MISSING, no(2, code, text))
        key = asks(play, 3, message, c.DescribeRun(ID))
        exists = no(3, Code.CONFLICT, "run already exists")
        answered(play, key, Accepted(make_run(), make_run()), exists)


def test_grok_counts_from_minor_4_on() -> None:
    with agree(play_daemon(version_minor=4)) as play:
        message = wire.StartRun("run-1", attrs.evolve(REQUEST, provider="grok"), "k")
        command = c.StartRun(ID, to_spec(message.request), c.Origin("gui", "run-1"))
        answered(play, asks(play, 2, message, command), Accepted(None, make_run()), yes(2))


def test_the_compact_command_may_start() -> None:
    with agree(play_daemon()) as play:
        request = attrs.evolve(REQUEST, is_command=True, prompt="/compact")
        message = wire.StartRun("run-1", request, "k")
        command = c.StartRun(ID, to_spec(request), c.Origin("gui", "run-1"))
        answered(play, asks(play, 2, message, command), Accepted(None, make_run()), yes(2))


def test_a_run_id_that_is_too_long_is_refused() -> None:
    with agree(play_daemon(run_id_limit=4)) as play:
        message = wire.StartRun("rün-1", REQUEST, "k")
        key = asks(play, 2, message, c.DescribeRun(RunId("gui/rün-1")))
        text = "agent run could not start: a run id may have 4 bytes"
        answered(play, key, MISSING, no(2, Code.INTERNAL, text))


def test_a_draining_gateway_starts_nothing() -> None:
    with agree(play_daemon()) as play:
        play.drain().expect()
        stopping = no(2, Code.CONFLICT, "AgencyProxy is stopping")
        play.receive(say(2, START)).expect(Sent(stopping))
        key = asks(play, 3, wire.ListRuns(), LISTED)
        answered(play, key, RunList(()), wire.Response(3, wire.Runs(())))


# --- E. unknown runs


def test_case_e37_unknown_runs() -> None:
    run = RunId("gui/x")
    decide = wire.DecideApproval("x", "a", wire.ApprovalDecision.DENY, "k")
    requests: list[tuple[wire.ClientMessage, c.Command]] = [
        (wire.AttachRun("x", 0), c.DescribeRun(run)),
        (wire.InjectMessage("x", "b", "k"), c.SendInput(run, b"b", newline=True)),
        (wire.CancelRun("x", "k"), c.CancelRun(run)),
        (decide, c.ResolveApproval(run, "a", e.Decision.DENY)),
        (wire.AckEvents("x", 1), c.AcknowledgeRun(run, 1)),
    ]
    with agree(play_daemon()) as play:
        for id, (message, command) in enumerate(requests, 2):
            missing = no(id, Code.NOT_FOUND, "run does not exist")
            answered(play, asks(play, id, message, command), MISSING, missing)
        play.receive(say(9, wire.DetachRun("x"))).expect(Sent(yes(9)))


# --- E. attaching


def attach(play: Playbook, run: Run, after: int = 0, id: int = 3) -> None:
    key = asks(play, id, wire.AttachRun("run-1", after), c.DescribeRun(ID))
    answer = wire.Response(id, wire.RunAnswer(to_snapshot(run)))
    play.reply(key, Accepted(run, run)).expect(Sent(answer), Follow(ID, slot()), Resume())


@pytest.mark.parametrize(
    ("after", "expired"), [(0, True), (953, True), (954, False), (3002, False), (5000, False)]
)
def test_case_e43_replay_is_bounded(after: int, expired: bool) -> None:
    run = make_run(last_seq=Seq(3002))
    with agree(play_daemon(lookback=0)) as play:
        key = asks(play, 3, wire.AttachRun("run-1", after), c.DescribeRun(ID))
        if expired:
            text = f"requested replay sequence {after} is older than retained sequence 954"
            answered(play, key, Accepted(run, run), no(3, Code.CONFLICT, text))
        else:
            answer = wire.Response(3, wire.RunAnswer(to_snapshot(run)))
            play.reply(key, Accepted(run, run)).expect(
                Sent(answer), Follow(ID, Seq(after)), Resume()
            )


def test_events_up_to_the_attachment_s_start_are_not_sent() -> None:
    with agree(play_daemon()) as play:
        attach(play, make_run(last_seq=Seq(2)), after=4)
        events = number(ID, *[e.TextProduced(str(at)) for at in range(1, 7)])
        play.deliver(events).expect(Sent(event(5, w.Text("5"))), Sent(event(6, w.Text("6"))))


def test_an_attachment_behind_the_last_number_there_is() -> None:
    with agree(play_daemon()) as play:
        key = asks(play, 3, wire.AttachRun("run-1", 2**64 - 1), c.DescribeRun(ID))
        steps = play.reply(key, Accepted(make_run(), make_run())).take()
        assert Follow(ID, Seq(2**32 - 1)) in steps


def test_an_acknowledgement_raises_the_floor() -> None:
    run = make_run(last_seq=Seq(7), acknowledged=Seq(3))
    with agree(play_daemon()) as play:
        key = asks(play, 3, wire.AttachRun("run-1", 0), c.DescribeRun(ID))
        text = "requested replay sequence 0 is older than retained sequence 3"
        answered(play, key, Accepted(run, run), no(3, Code.CONFLICT, text))


def test_in_strict_parity_it_does_not_and_the_attachment_starts_behind_it() -> None:
    run = make_run(last_seq=Seq(7), acknowledged=Seq(3))
    with play_daemon(strict_parity=True, lookback=0) as play:
        play.opened(Opening(link="gui")).expect()
        play.receive(hello()).take()
        key = asks(play, 3, wire.AttachRun("run-1", 0), c.DescribeRun(ID))
        play.reply(key, Accepted(run, run)).expect(
            Sent(wire.Response(3, wire.RunAnswer(to_snapshot(run)))), Follow(ID, Seq(3)), Resume()
        )


def test_a_snapshot_that_no_frame_holds_is_an_error_and_attaches_nothing() -> None:
    run = large_runs(1, RunState.RUNNING)[0]
    metadata = {"m": "\0" * 300_000}
    run = attrs.evolve(run, id=ID, spec=attrs.evolve(run.spec, metadata=metadata))
    with agree(play_daemon()) as play:
        key = asks(play, 3, wire.AttachRun("run-1", 0), c.DescribeRun(ID))
        error = slot()
        play.reply(key, Accepted(run, run)).expect(
            Sent(wire.Response(3, error)), Report("answer_too_large", "RunAnswer"), Resume()
        )
        assert error.value.code is Code.INTERNAL
        play.deliver(number(ID, e.TextProduced("x"))).expect()


def test_a_second_attachment_takes_the_first_one_s_place() -> None:
    with agree(play_daemon(lookback=0)) as play:
        attach(play, make_run(last_seq=Seq(2)))
        play.deliver(number(ID, e.TextProduced("1"), e.TextProduced("2"))).take()
        attach(play, make_run(last_seq=Seq(2)), after=1, id=4)
        play.deliver(number(ID, e.TextProduced("2"), first=2)).expect(Sent(event(2, w.Text("2"))))


def test_a_character_survives_a_new_attachment_in_its_middle() -> None:
    """Fault 2: the bytes of one character in two chunks, a re-attachment between them."""
    whole = "é".encode()
    halves = (
        e.OutputProduced(e.Stream.STDOUT, b"a" + whole[:1]),
        e.OutputProduced(e.Stream.STDOUT, whole[1:] + b"b", offset=2),
    )
    with agree(play_daemon()) as play:
        attach(play, make_run(last_seq=Seq(1)))
        play.deliver(number(ID, halves[0])).expect(Sent(event(1, w.Text("a"))))
        key = asks(play, 4, wire.AttachRun("run-1", 1), c.DescribeRun(ID))
        run = make_run(last_seq=Seq(1))
        assert Follow(ID, Seq(0)) in play.reply(key, Accepted(run, run)).take()
        play.deliver(number(ID, *halves)).expect(Sent(event(2, w.Text("éb"))))


def test_case_e45_detach() -> None:
    with agree(play_daemon()) as play:
        attach(play, make_run())
        play.receive(say(4, wire.DetachRun("run-1"))).expect(Unfollow(ID), Sent(yes(4)))
        play.deliver(number(ID, e.TextProduced("late"))).expect()
        play.receive(say(5, wire.DetachRun("run-1"))).expect(Sent(yes(5)))


@pytest.mark.parametrize("strict", [False, True])
def test_i3_an_acknowledgement_is_answered_once_it_is_durable(strict: bool) -> None:
    everything = c.AcknowledgeRun(ID, 2**64 - 1)
    with agree(play_daemon(strict_parity=strict)) as play:
        key = asks(play, 5, wire.AckEvents("run-1", 2**64 - 1), everything)
        answered(play, key, Accepted(make_run(), make_run()), yes(5))
        key = asks(play, 6, wire.AckEvents("run-1", 2**64 - 1), everything)
        failed = no(6, Code.INTERNAL, "agent control failed: the disk is full")
        answered(play, key, errors.Unavailable("the disk is full"), failed)


def test_an_event_that_no_frame_holds_is_cut_and_the_link_lives() -> None:
    """Improvement 4: the genuine daemon dies of it at every attachment, for ever."""
    native = {"agency": {"finished": {"text": "x" * 900_000, "stderr": "y" * 900_000}}}
    outcome = Outcome(RunState.FAILED, Reason.EXITED, native=native)
    with agree(play_daemon()) as play:
        attach(play, make_run())
        steps = play.deliver(number(ID, e.RunFinished(outcome))).take()
        cut = slot()
        play.deliver(number(ID, e.RunFinished(outcome))).expect(
            Report("event_truncated", steps[0].detail, ID),  # type: ignore[union-attr]
            Sent(event(1, w.Finished(cut))),
        )
        assert set(cut.value) == {"text", "stderr"}
        assert cut.value["text"].endswith("…(truncated)")
        assert cut.value["stderr"].startswith("yyy")


def test_in_strict_parity_it_ends_the_link() -> None:
    outcome = Outcome(RunState.SUCCEEDED, Reason.EXITED, text="x" * 2_000_000)
    with agree(play_daemon(strict_parity=True)) as play:
        attach(play, make_run())
        play.deliver(number(ID, e.RunFinished(outcome))).expect(Close(None, slot()))


# --- E. control


def test_case_e47_keys_are_ignored_so_every_message_arrives() -> None:
    with agree(play_daemon()) as play:
        for id in (2, 3):
            message = wire.InjectMessage("run-1", "again", "run-1:inject")
            key = asks(play, id, message, c.SendInput(ID, b"again", newline=True))
            answered(play, key, Accepted(make_run(), make_run()), yes(id))


def control(
    play: Playbook, id: int, message: Any, command: c.Command, refusal: Refusal, run: Run
) -> None:
    """A command is refused, and the run asked for to word the answer."""
    key, again = asks(play, id, message, command), slot()
    play.reply(key, refusal).expect(Submit(c.DescribeRun(ID), reply_to=again))
    play.reply(again, Accepted(run, run))


INJECT = wire.InjectMessage("run-1", "b", "k")
DECIDE = wire.DecideApproval("run-1", "ap-1", wire.ApprovalDecision.ALLOW_ONCE, "k")
INPUT = c.SendInput(ID, b"b", newline=True)
RESOLVE = c.ResolveApproval(ID, "ap-1", e.Decision.ALLOW_ONCE)


def test_case_e39_late_control() -> None:
    ended = make_run(state=RunState.SUCCEEDED)
    text = "agent control failed: the run of `claude` was cancelled"
    with agree(play_daemon()) as play:
        for id, message, command in ((2, INJECT, INPUT), (3, DECIDE, RESOLVE)):
            control(play, id, message, command, errors.RunEnded("over"), ended)
            play.expect(Sent(no(id, Code.INTERNAL, text)), Resume())
        key = asks(play, 4, wire.CancelRun("run-1", "k"), c.CancelRun(ID))
        answered(play, key, Accepted(ended, attrs.evolve(ended, canceling=True)), yes(4))
        key = asks(play, 5, wire.CancelRun("run-1", "k"), c.CancelRun(ID))
        again = attrs.evolve(ended, canceling=True)
        exists = no(5, Code.CONFLICT, "run already exists")
        answered(play, key, Accepted(again, again), exists)


def test_the_run_s_binary_is_what_late_control_names() -> None:
    spec = to_spec(attrs.evolve(REQUEST, binary="/opt/fake"))
    ended = make_run(spec=spec, state=RunState.FAILED)
    with agree(play_daemon()) as play:
        control(play, 2, INJECT, INPUT, errors.RunEnded("over"), ended)
        text = "agent control failed: the run of `/opt/fake` was cancelled"
        play.expect(Sent(no(2, Code.INTERNAL, text)), Resume())


def test_a_run_that_does_not_listen() -> None:
    with agree(play_daemon()) as play:
        control(play, 2, INJECT, INPUT, errors.InvalidArgument("not interactive"), make_run())
        text = (
            "agent control failed: claude-code does not support sending a follow-up on a run that "
            "is not interactive"
        )
        play.expect(Sent(no(2, Code.INTERNAL, text)), Resume())


def test_a_run_that_asks_for_no_approvals() -> None:
    spec = to_spec(attrs.evolve(REQUEST, provider="codex"))
    for strict in (False, True):
        with agree(play_daemon(strict_parity=strict)) as play:
            control(play, 2, DECIDE, RESOLVE, errors.ApprovalNotFound("none"), make_run(spec=spec))
            text = (
                "agent control failed: codex does not support answering an approval on a run that "
                "did not request them"
            )
            play.expect(Sent(no(2, Code.INTERNAL, text)), Resume())


ASKING = make_run(spec=to_spec(attrs.evolve(REQUEST, approvals=True)), approvals=("ap-2",))


def test_an_approval_that_nobody_asked_for_is_refused() -> None:
    with agree(play_daemon()) as play:
        control(play, 2, DECIDE, RESOLVE, errors.ApprovalNotFound("no"), ASKING)
        text = "agent control failed: the run does not wait for this approval"
        play.expect(Sent(no(2, Code.INTERNAL, text)), Resume())


def test_in_strict_parity_any_approval_id_is_accepted() -> None:
    with agree(play_daemon(strict_parity=True)) as play:
        control(play, 2, DECIDE, RESOLVE, errors.ApprovalNotFound("no"), ASKING)
        play.expect(Sent(yes(2)), Resume())


def test_an_approval_is_decided() -> None:
    with agree(play_daemon()) as play:
        for id, ours, theirs in (
            (2, wire.ApprovalDecision.ALLOW_ONCE, e.Decision.ALLOW_ONCE),
            (3, wire.ApprovalDecision.ALLOW_SIMILAR, e.Decision.ALLOW_SIMILAR),
            (4, wire.ApprovalDecision.DENY, e.Decision.DENY),
        ):
            message = wire.DecideApproval("run-1", "ap-1", ours, "k")
            key = asks(play, id, message, c.ResolveApproval(ID, "ap-1", theirs))
            answered(play, key, Accepted(ASKING, ASKING), yes(id))


def test_a_run_that_vanishes_between_refusal_and_question() -> None:
    with agree(play_daemon()) as play:
        key, again = asks(play, 2, INJECT, INPUT), slot()
        play.reply(key, errors.RunEnded("over")).expect(Submit(c.DescribeRun(ID), reply_to=again))
        answered(play, again, MISSING, no(2, Code.NOT_FOUND, "run does not exist"))


CANCELED = e.RunFinished(Outcome(RunState.CANCELED, Reason.CANCELED, "on request"))


def test_case_e41_cancel_is_accepted_before_the_end_is_told() -> None:
    live = make_run(state=RunState.RUNNING, last_seq=Seq(1))
    with agree(play_daemon()) as play:
        attach(play, live)
        play.deliver(number(ID, e.TextProduced("1"))).take()
        key = asks(play, 4, wire.CancelRun("run-1", "k"), c.CancelRun(ID))
        play.deliver(number(ID, e.TextProduced("2"), CANCELED, first=2)).expect(
            Sent(event(2, w.Text("2")))
        )
        play.reply(key, Accepted(live, live)).expect(
            Sent(yes(4)), Resume(), Sent(event(3, w.Failed("the run was canceled")))
        )
        key = asks(play, 5, wire.CancelRun("run-1", "k"), c.CancelRun(ID))
        again = attrs.evolve(live, canceling=True)
        answered(play, key, Accepted(again, again), no(5, Code.CONFLICT, "run already exists"))


def test_the_end_of_another_run_does_not_wait_for_a_cancel() -> None:
    with agree(play_daemon()) as play:
        attach(play, make_run())
        asks(play, 4, wire.CancelRun("run-2", "k"), c.CancelRun(RunId("gui/run-2")))
        play.deliver(number(ID, CANCELED)).expect(Sent(event(1, w.Failed("the run was canceled"))))


def test_a_refused_cancel_gives_the_end_that_waited() -> None:
    with agree(play_daemon()) as play:
        attach(play, make_run())
        key = asks(play, 4, wire.CancelRun("run-1", "k"), c.CancelRun(ID))
        play.deliver(number(ID, CANCELED)).expect()
        play.reply(key, errors.Unavailable("the journal is full")).expect(
            Sent(no(4, Code.INTERNAL, "agent control failed: the journal is full")),
            Resume(),
            Sent(event(1, w.Failed("the run was canceled"))),
        )


# --- 0.4


INTERRUPT = wire.InterruptSession("codex", "thread-8", "k")


def test_a_session_is_interrupted_by_canceling_its_open_runs() -> None:
    spec = to_spec(attrs.evolve(REQUEST, provider="codex"))
    runs = (
        make_run("a", spec=spec, native_session="thread-8"),
        make_run("b", spec=spec, native_session="thread-9"),
        make_run("c", native_session="thread-8"),
        make_run("d", spec=attrs.evolve(spec, resume="thread-8")),
    )
    with agree(play_daemon(version_minor=4), 4) as play:
        key = asks(play, 8, INTERRUPT, c.ListRuns("gui", open_only=True))
        first, second = slot(), slot()
        play.reply(key, RunList(runs)).expect(Submit(c.CancelRun(RunId("gui/a")), reply_to=first))
        play.reply(first, errors.RunNotFound("gone")).expect(
            Submit(c.CancelRun(RunId("gui/d")), reply_to=second)
        )
        done = wire.Response(8, wire.SessionInterrupted(True))
        answered(play, second, Accepted(runs[3], runs[3]), done)


def test_a_session_that_nobody_runs_is_not_interrupted() -> None:
    with agree(play_daemon(version_minor=4), 4) as play:
        key = asks(play, 8, INTERRUPT, c.ListRuns("gui", open_only=True))
        answered(play, key, RunList(()), wire.Response(8, wire.SessionInterrupted(False)))
        key = asks(play, 9, INTERRUPT, c.ListRuns("gui", open_only=True))
        failed = no(9, Code.INTERNAL, "agent control failed: broken")
        answered(play, key, errors.Unavailable("broken"), failed)


def test_an_interrupt_that_cannot_be_made_durable_is_no_success() -> None:
    spec = to_spec(attrs.evolve(REQUEST, provider="codex"))
    run = make_run("a", spec=spec, native_session="thread-8")
    with agree(play_daemon(version_minor=4), 4) as play:
        key = asks(play, 8, INTERRUPT, c.ListRuns("gui", open_only=True))
        asked = slot()
        play.reply(key, RunList((run,))).expect(Submit(c.CancelRun(run.id), reply_to=asked))
        failed = no(8, Code.INTERNAL, "agent control failed: broken")
        answered(play, asked, errors.Unavailable("broken"), failed)


def test_interrupts_that_name_nothing() -> None:
    with agree(play_daemon(version_minor=4), 4) as play:
        text = "unsupported provider: the session id is empty"
        play.receive(say(8, wire.InterruptSession("codex", " \t", "k"))).expect(
            Sent(no(8, Code.PROTOCOL_VIOLATION, text))
        )
        play.receive(say(9, wire.InterruptSession("eliza", "s", "k"))).expect(
            Sent(no(9, Code.PROTOCOL_VIOLATION, "unsupported provider: eliza"))
        )


def test_below_minor_4_an_interrupt_is_no_message() -> None:
    with agree(play_daemon()) as play:
        play.receive(say(8, INTERRUPT)).fails(Close(None, slot()), match="type is unknown")


# --- the daemon as a whole


def test_runs_are_listed() -> None:
    runs = (
        make_run("a", state=RunState.WAITING, last_seq=Seq(7), acknowledged=Seq(3)),
        make_run("b", state=RunState.LOST),
    )
    with agree(play_daemon()) as play:
        key = asks(play, 2, wire.ListRuns(), LISTED)
        listed = wire.Runs(tuple(map(to_snapshot, runs)))
        answered(play, key, RunList(runs), wire.Response(2, listed))


def large_runs(count: int, state: RunState) -> list[Run]:
    spec = attrs.evolve(to_spec(REQUEST), metadata={"m": "x" * 200_000})
    return [
        make_run(f"{state.value}-{at}", spec=spec, state=state, ended=100 - at)
        for at in range(count)
    ]


def test_a_list_that_no_frame_holds_leaves_out_what_ended_first() -> None:
    runs = sorted(
        [*large_runs(4, RunState.SUCCEEDED), *large_runs(3, RunState.RUNNING)],
        key=lambda run: run.id,
    )
    with agree(play_daemon()) as play:
        key, listed = asks(play, 2, wire.ListRuns(), LISTED), slot()
        play.reply(key, RunList(tuple(runs))).expect(
            Sent(wire.Response(2, listed)), Resume(), Report("runs_left_out", "2")
        )
        assert [run.run_id for run in listed.value.runs] == [
            "running-0",
            "running-1",
            "running-2",
            "succeeded-0",
            "succeeded-1",
        ]


def test_open_runs_that_no_frame_holds_are_an_error() -> None:
    with agree(play_daemon()) as play:
        key = asks(play, 2, wire.ListRuns(), LISTED)
        error = slot()
        play.reply(key, RunList(tuple(large_runs(7, RunState.RUNNING)))).expect(
            Sent(wire.Response(2, error)), Report("answer_too_large", "Runs"), Resume()
        )
        assert error.value.code is Code.INTERNAL


def test_in_strict_parity_they_end_the_link() -> None:
    with agree(play_daemon(strict_parity=True)) as play:
        key = asks(play, 2, wire.ListRuns(), c.ListRuns("gui"))
        runs = tuple(large_runs(7, RunState.SUCCEEDED))
        play.reply(key, RunList(runs)).expect(Close(None, slot()))


def test_providers_are_what_the_workers_report_of_those_that_a_start_may_name() -> None:
    reports = (
        ProviderReport("hosts", True),
        ProviderReport("codex", True, "1.0", auth_state="logged_in"),
    )
    with agree(play_daemon()) as play:
        key = asks(play, 3, wire.ProbeProviders(), c.ProbeWorkers("gui"))
        said = slot()
        play.reply(key, ProviderList(reports)).expect(Sent(wire.Response(3, said)), Resume())
        assert [(p.provider, p.installed) for p in said.value.providers] == [
            ("claude", False),
            ("codex", True),
            ("copilot", False),
        ]
        assert said.value.providers[1].auth_state == "logged_in"


def test_account_usage_is_what_the_workers_report() -> None:
    reports = (AccountReport("codex", True, {"used": 1}), AccountReport("claude", False))
    with agree(play_daemon(version_minor=4)) as play:
        key = asks(play, 4, wire.ReadAccountUsage(), c.ReadUsage("gui"))
        said = wire.AccountUsage(
            (
                wire.ProviderAccountUsage("claude", False),
                wire.ProviderAccountUsage("codex", True, {"used": 1}),
                wire.ProviderAccountUsage("copilot", False),
                wire.ProviderAccountUsage("grok", False),
            )
        )
        answered(play, key, AccountList(reports), wire.Response(4, said))


@pytest.mark.parametrize(
    ("message", "command"),
    [
        (wire.ListRuns(), LISTED),
        (wire.ProbeProviders(), c.ProbeWorkers("gui")),
        (wire.ReadAccountUsage(), c.ReadUsage("gui")),
    ],
)
def test_questions_that_the_core_refuses(message: wire.ClientMessage, command: c.Command) -> None:
    with agree(play_daemon()) as play:
        key = asks(play, 2, message, command)
        failed = no(2, Code.INTERNAL, "agent control failed: not now")
        answered(play, key, errors.Unavailable("not now"), failed)
        key = asks(play, 3, message, command)
        failed = no(3, Code.INTERNAL, "agent control failed: the gateway has no answer")
        answered(play, key, Accepted(), failed)


# --- F. lifecycle


@pytest.mark.parametrize(
    ("message", "mode"),
    [
        (wire.ShutdownIfIdle(), c.StopMode.IF_IDLE),
        (wire.Shutdown(wire.ShutdownMode.DRAIN), c.StopMode.DRAIN),
        (wire.Shutdown(wire.ShutdownMode.TERMINATE), c.StopMode.TERMINATE),
    ],
)
def test_case_f49_f51_a_shutdown_is_accepted_and_this_link_ends(
    message: wire.ClientMessage, mode: c.StopMode
) -> None:
    with agree(play_daemon()) as play:
        key = asks(play, 10, message, c.StopLink("gui", mode))
        play.reply(key, Accepted()).expect(
            Sent(yes(10)), Close(1000, "the client asked for a shutdown")
        )


def test_case_f49_a_daemon_with_an_active_run_is_not_idle() -> None:
    with agree(play_daemon()) as play:
        key = asks(play, 2, wire.ShutdownIfIdle(), c.StopLink("gui", c.StopMode.IF_IDLE))
        again = slot()
        play.reply(key, errors.Conflict("1 open run")).expect(
            Submit(c.ListRuns("gui", open_only=True), reply_to=again)
        )
        active = no(2, Code.CONFLICT, "AgencyProxy has 1 active run(s)")
        answered(play, again, RunList((make_run(),)), active)
        play.receive(say(3, wire.DetachRun("x"))).expect(Sent(yes(3)))


def test_the_last_active_run_may_end_before_it_is_counted() -> None:
    with agree(play_daemon()) as play:
        key = asks(play, 2, wire.ShutdownIfIdle(), c.StopLink("gui", c.StopMode.IF_IDLE))
        again = slot()
        play.reply(key, errors.Conflict("1 open run")).expect(
            Submit(c.ListRuns("gui", open_only=True), reply_to=again)
        )
        active = no(2, Code.CONFLICT, "AgencyProxy has 1 active run(s)")
        answered(play, again, RunList(()), active)


def test_case_f49_while_draining_a_daemon_with_active_runs_is_not_idle_and_then_it_is() -> None:
    if_idle = c.StopLink("gui", c.StopMode.IF_IDLE)
    with agree(play_daemon()) as play:
        play.drain().expect()
        key, again = asks(play, 2, wire.ShutdownIfIdle(), if_idle), slot()
        play.reply(key, errors.Conflict("gui has 2 open run(s)")).expect(
            Submit(c.ListRuns("gui", open_only=True), reply_to=again)
        )
        active = no(2, Code.CONFLICT, "AgencyProxy has 2 active run(s)")
        answered(play, again, RunList((make_run(), make_run("run-2"))), active)
        key = asks(play, 3, wire.ShutdownIfIdle(), if_idle)
        play.reply(key, Accepted()).expect(Sent(yes(3)), Close(1000, slot()))


def test_a_shutdown_cannot_be_asked_for_twice() -> None:
    with agree(play_daemon()) as play:
        drain = wire.Shutdown(wire.ShutdownMode.DRAIN)
        key = asks(play, 2, drain, c.StopLink("gui", c.StopMode.DRAIN))
        stopping = no(2, Code.CONFLICT, "AgencyProxy is already stopping")
        answered(play, key, errors.Stopping("stopping"), stopping)
        key = asks(play, 3, drain, c.StopLink("gui", c.StopMode.DRAIN))
        failed = no(3, Code.INTERNAL, "agent control failed: broken")
        answered(play, key, errors.Unavailable("broken"), failed)


# --- a whole connection


def test_the_worked_transcript() -> None:
    """Section 10, connection B, as far as a daemon of ours says the same."""
    spec = to_spec(attrs.evolve(REQUEST, approvals=True, interactive=True, permission="edit"))
    run = make_run(
        spec=spec,
        state=RunState.WAITING,
        last_seq=Seq(7),
        acknowledged=Seq(3),
        native_session="s-1",
        approvals=("req-7",),
    )
    request = e.ApprovalRequested("req-7", "Bash", {"command": "touch x"})
    with agree(play_daemon(lookback=0)) as play:
        key = asks(play, 2, wire.ListRuns(), LISTED)
        snapshot = to_snapshot(run)
        assert snapshot.state is wire.RunState.WAITING_APPROVAL
        assert (snapshot.latest_sequence, snapshot.acknowledged_sequence) == (7, 3)
        answered(play, key, RunList((run,)), wire.Response(2, wire.Runs((snapshot,))))
        attach(play, run, after=6)
        asked = w.ApprovalRequested("req-7", "Bash", {"command": "touch x"})
        play.deliver(number(ID, request, first=7)).expect(Sent(event(7, asked)))
        message = wire.DecideApproval("run-1", "req-7", wire.ApprovalDecision.ALLOW_ONCE, "k")
        key = asks(play, 4, message, c.ResolveApproval(ID, "req-7", e.Decision.ALLOW_ONCE))
        answered(play, key, Accepted(run, run), yes(4))
        play.deliver(
            number(ID, e.ToolReturned("behavior=allow", None, "t1"), e.RateLimited(None), first=8)
        ).expect(
            Sent(event(8, w.ToolResult("behavior=allow", id="t1"))),
            Sent(event(9, w.RateLimit(None))),
        )
        key = asks(
            play,
            5,
            wire.InjectMessage("run-1", "also this", "run-1:inject:1"),
            c.SendInput(ID, b"also this", newline=True),
        )
        answered(play, key, Accepted(run, run), yes(5))
        key = asks(play, 6, wire.CancelRun("run-1", "run-1:cancel"), c.CancelRun(ID))
        answered(play, key, Accepted(run, run), yes(6))
        play.deliver(number(ID, CANCELED, first=10)).expect(
            Sent(event(10, w.Failed("the run was canceled")))
        )
        everything = c.AcknowledgeRun(ID, 2**64 - 1)
        key = asks(play, 8, wire.AckEvents("run-1", 2**64 - 1), everything)
        answered(play, key, Accepted(run, run), yes(8))
        play.receive(say(9, wire.DetachRun("run-1"))).expect(Unfollow(ID), Sent(yes(9)))
        drain = wire.Shutdown(wire.ShutdownMode.DRAIN)
        key = asks(play, 10, drain, c.StopLink("gui", c.StopMode.DRAIN))
        play.reply(key, Accepted()).expect(Sent(yes(10)), Close(1000, slot()))
        play.closed()


def test_i12_two_links_with_one_run_id_are_two_runs() -> None:
    for link in ("gui", "cli"):
        play = Playbook(AgencyNorthbound(AgencyNorthboundSettings()))
        with play:
            play.opened(Opening(link=link)).take()
            play.receive(
                b'\0{"requestId":1,"type":"hello","client_name":"t",'
                b'"version":{"major":0,"minor":3}}'
            ).take()
            steps = play.receive(
                b'\0{"requestId":2,"type":"cancel_run","run_id":"r","idempotency_key":"k"}'
            ).take()
            assert steps[1].command == c.CancelRun(RunId(f"{link}/r"))  # type: ignore[union-attr]
