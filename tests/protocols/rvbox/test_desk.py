from fleetgate.core.events import Outcome, Reason, RunFinished, RunState
from fleetgate.protocols.api import Record, ReportCapacity
from fleetgate.protocols.rvbox import limits
from fleetgate.protocols.rvbox import wire as w
from fleetgate.protocols.rvbox.assigned import make_command
from fleetgate.protocols.rvbox.desk import Desk
from fleetgate.protocols.rvbox.settings import ServerSettings
from fleetgate.protocols.rvbox.testing import OTHER, UUID, make_run


def desk() -> Desk:
    made = Desk(ServerSettings())
    made.capacity.reported(w.ClientCapacity(1, 2, 4, 8))
    return made


def test_room_is_what_the_figures_leave_less_what_they_do_not_count() -> None:
    one = desk()
    assert one.report_capacity() == ReportCapacity(9)
    command = make_command(make_run())
    one.books.add(command)
    one.books.asked(command, 0)
    assert one.report_capacity() == ReportCapacity(8)
    one.books.taken(command)
    one.capacity.taken()
    assert one.report_capacity() == ReportCapacity(8)
    one.capacity.reported(w.ClientCapacity(1, 3, 4, 8))
    assert one.report_capacity() == ReportCapacity(8)


def test_room_is_never_below_none_and_never_above_what_a_client_may_retain() -> None:
    one = desk()
    one.capacity.reported(w.ClientCapacity(9, 9, 1, 1))
    assert one.report_capacity() == ReportCapacity(0)
    one.capacity.reported(w.ClientCapacity(0, 0, 1 << 31, 1 << 31))
    one.books.add(make_command(make_run()))
    assert one.report_capacity() == ReportCapacity(limits.RETAINED - 1)


def test_a_client_without_room_has_none_until_it_reports_some() -> None:
    one = desk()
    for run in (UUID, OTHER):
        command = make_command(make_run(run))
        one.books.add(command)
        one.books.refused_full(command)
    one.capacity.exhausted()
    assert one.report_capacity() == ReportCapacity(0)
    assert one.capacity.open_for(one.books) == 0
    one.capacity.reported(w.ClientCapacity(0, 0, 1, 2))
    assert one.capacity.open_for(one.books) == 3
    assert one.report_capacity() == ReportCapacity(1)


def test_a_command_that_ends_here_is_recorded_without_a_number_of_the_client() -> None:
    one = desk()
    command = make_command(make_run())
    one.books.add(command)
    one.acks.again(command)
    lost = RunFinished(Outcome(RunState.LOST, Reason.LOST))
    assert one.end(command, lost) == Record(command.run, (lost,), None)
    assert not one.acks.waiting
