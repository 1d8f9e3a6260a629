"""The runs that are open with us."""

from fleetgate.protocols.kodelet.open_runs import OpenRuns
from fleetgate.protocols.kodelet.operation import OpenRun
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.kodelet.wire import RunOpen

SETTINGS = RunnerSettings()


def test_what_is_reported() -> None:
    runs = OpenRuns()
    assert runs.reported() == ("idle", ())
    one, two = OpenRun(RunOpen("b", "c1")), OpenRun(RunOpen("a", "c2"))
    runs.add(one)
    runs.add(two)
    assert runs.reported() == ("running", ("a", "b"))
    one.stopping = two.closing = True
    assert runs.reported() == ("stopping", ("a", "b"))
    runs.remove(one)
    runs.remove(one)
    assert len(runs) == 1


def test_a_run_is_stopped_once_its_calls_have_ended() -> None:
    runs = OpenRuns()
    run = OpenRun(RunOpen("a", "c"))
    runs.add(run)
    assert runs.stopped() == []
    run.closing = True
    run.operations.add("x")
    assert runs.stopped() == []
    run.operations.discard("x")
    assert runs.stopped() == [run]


def test_i9_open_runs_are_bounded() -> None:
    runs = OpenRuns()
    runs.add(OpenRun(RunOpen("a", "c")))
    wrong = runs.wrong_with(RunOpen("b", "d"), RunnerSettings(open_runs=1))
    assert wrong is not None
    assert wrong.code == -32000


def test_names_that_are_taken_and_free_again() -> None:
    runs = OpenRuns()
    run = OpenRun(RunOpen("a", "c"))
    runs.add(run)
    for asked, code in ((RunOpen("a", "x"), -32001), (RunOpen("b", "c"), -32003)):
        wrong = runs.wrong_with(asked, SETTINGS)
        assert wrong is not None
        assert wrong.code == code
    runs.remove(run)
    assert runs.wrong_with(RunOpen("a", "c"), SETTINGS) is None
