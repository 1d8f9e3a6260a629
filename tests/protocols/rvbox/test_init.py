from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from fleetgate.core import events as e
from fleetgate.core.answers import Accepted, RunList
from fleetgate.core.commands import ListRuns, Order, RunSpec, SendInput, ShellCommand, StartRun
from fleetgate.core.errors import Unavailable
from fleetgate.core.events import RunState
from fleetgate.core.ids import OrderNumber, RunId, Seq
from fleetgate.protocols.api import Close, RemoteProtocolError, Send, Step, Steps, Submit
from fleetgate.protocols.rvbox import ADAPTER, codec, limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.settings import ClientSettings
from fleetgate.protocols.rvbox.testing import (
    SESSION,
    UUID,
    Talk,
    greeted_client,
    greeted_server,
    happened,
    make_command,
    make_dispatch,
    make_hello,
    make_run,
    payloads,
    talk_to_client,
    talk_to_server,
)
from fleetgate.protocols.testing import START, check_adapter


def frames(id: str, generation: int, *payloads: w.Payload) -> list[bytes]:
    return [codec.encode(w.Envelope(id, generation, payload)) for payload in payloads]


def test_the_adapter_keeps_to_the_seam_whatever_bytes_come() -> None:
    session = "00" * 16  # what a link's entropy of zeros makes
    check_adapter(
        ADAPTER,
        north=frames(
            session,
            7,
            w.ServerWelcome(w.ProtocolVersion(1, 0)),
            w.ReconcileRequest((w.ReconcileTarget(UUID, 3, 1, bytes(32)),)),
            w.ReconcileResult((UUID,), (UUID,)),
            make_dispatch(),
            w.StdinWrite(UUID, 1, b"x"),
            w.SignalCommand(UUID, 1, 3),
            w.ScriptChunk(UUID, 0, b"x", bytes(32)),
            w.EventAck(UUID, 1),
        ),
        south=[
            *frames("", 0, make_hello()),
            *frames(
                session,
                1,
                w.ReconcileSnapshot((w.ReconcileCommandState(UUID, 3, 1, 1, False, bytes(32)),)),
                w.ClientCapacity(0, 0, 2, 3),
                w.CommandAccepted(UUID, 1, True),
                w.CommandEvent(UUID, 1, 1, event=w.OutputChunk(1, b"x")),
                w.AgentError(w.ControlError(8, f"{UUID}: no")),
            ),
        ],
    )


def bear(talk: Talk, messages: list[w.Payload], answer: Callable[[Submit], Steps]) -> None:
    """Put messages to a connection in an open session. It answers with steps, or raises
    `RemoteProtocolError` with some; a close is the last of them, and then it is over."""
    for message in messages:
        frame = codec.encode(w.Envelope(SESSION, 7, message))
        todo: list[Step] = []
        try:
            todo += talk.connection.receive(frame, START)
        except RemoteProtocolError as error:
            todo += error.steps
        while todo:
            step = todo.pop(0)
            if isinstance(step, Send):
                assert len(step.frame) <= limits.FRAME
            if isinstance(step, Submit):
                todo += answer(step)
            if isinstance(step, Close):
                assert not todo
                return
        talk.connection.tick(START)


@given(st.lists(payloads(), max_size=12), st.booleans())
def test_a_server_with_a_command_bears_any_messages(
    messages: list[w.Payload], accepted: bool
) -> None:
    run = make_run(spec=RunSpec(ShellCommand(line="cat"), interactive=True))
    start = Order(run.id, OrderNumber(0), StartRun(run.id, run.spec, run.origin))
    with talk_to_server() as talk:
        greeted_server(talk).perform(start).take()
        if accepted:
            talk.put(w.CommandAccepted(UUID, 1, True)).take()
        talk.perform(Order(run.id, OrderNumber(1), SendInput(run.id, b"x"), 1)).take()
        bear(talk, messages, lambda _: ())


@given(st.lists(payloads(), max_size=12), st.sampled_from(["answer", "refuse", "wait"]))
def test_a_client_with_commands_bears_any_messages(messages: list[w.Payload], core: str) -> None:
    running = make_command(state=RunState.RUNNING, last_seq=Seq(3))

    def answer(step: Submit) -> Steps:
        if core == "wait":
            return ()
        listing = isinstance(step.command, ListRuns)
        known = RunList((running,)) if listing else Accepted(None, running)
        given = known if core == "answer" else Unavailable("no")
        return talk.connection.reply(step.reply_to, given, START)

    with talk_to_client(ClientSettings(answer_approvals=True)) as talk:
        greeted_client(talk, [running])
        asked = e.ApprovalRequested("a", "May I?")
        talk.deliver(happened(asked, run=RunId(f"hosts/{UUID}"))).take()
        bear(talk, messages, answer)
