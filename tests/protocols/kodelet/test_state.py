"""The tables: complete, and without overlap."""

from fleetgate.protocols.kodelet import state


def test_interactive_and_persistent_are_the_eleven_methods() -> None:
    assert len(state.INTERACTIVE) + len(state.PERSISTENT) == 11
    assert not state.PERSISTENT & set(state.INTERACTIVE)
    assert {"runner.register", *state.INTERACTIVE, *state.PERSISTENT} == state.RUNNER_REQUESTS


def test_who_says_what() -> None:
    theirs = state.RUNNER_REQUESTS | state.RUNNER_NOTIFICATIONS
    ours = state.CONTROL | state.CONTROL_PLANE_NOTIFICATIONS
    assert not theirs & ours
    assert len(theirs) == 17


def test_a_run_may_be_missing_only_while_it_opens() -> None:
    assert set(state.OPENING) == {state.RunPhase.OPENING}
    assert set(state.HEARTBEAT_STATES) == {"idle", "running", "stopping", "error"}
