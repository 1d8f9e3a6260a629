"""What a control plane knows beyond its links, and what it forgets."""

from __future__ import annotations

import pytest

from fleetgate.core.errors import RunNotFound, Unavailable
from fleetgate.gateway.fakes import kodelet_plane
from fleetgate.gateway.fakes.kodelet_plane import Plane, PlaneConnection, run_line, runner_line
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.lease import Lease
from fleetgate.protocols.kodelet.record import RunnerRecord
from fleetgate.protocols.kodelet.settings import ControlPlaneSettings
from fleetgate.protocols.kodelet.state import RunPhase
from fleetgate.protocols.kodelet.wire import RunOpen, UiCall, UiResponse
from fleetgate.protocols.testing import Playbook


def connected(plane: Plane, workspace: str, **params: object) -> tuple[Playbook, PlaneConnection]:
    link = plane.connect(ControlPlaneSettings())
    play = Playbook(link)
    place = {"path": workspace, "name": "w"}
    with play:
        play.opened(t.OPENING).take()
        t.register(play, workspace=place, **params)
    return play, link


def test_every_runner_is_shown_once_with_its_newest_link() -> None:
    plane = Plane()
    _, first = connected(plane, "/a")
    _, other = connected(plane, "/b")
    _, second = connected(plane, "/a", generation=2)
    links = [link for _, link in plane.runners().values()]
    assert links == [second, other]
    assert plane.runner(first.record().id) is second
    with pytest.raises(Unavailable, match="runner not found"):
        plane.runner("nobody")


def test_a_link_without_a_runner_is_not_shown() -> None:
    plane = Plane()
    plane.connect(ControlPlaneSettings())
    assert plane.runners() == {}


def test_I9_links_and_runs_that_are_long_gone_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kodelet_plane, "MOST_RUNS", 2)
    plane = Plane()
    link = plane.connect(ControlPlaneSettings())
    for number in range(3):
        plane.keep(Lease(RunOpen(f"r{number}", "c")), link)
    assert [plane.knows(f"r{number}") for number in range(3)] == [False, True, True]
    with pytest.raises(RunNotFound, match="r0"):
        plane.run("r0")
    for _ in range(kodelet_plane.MOST_LINKS + 1):
        plane.connect(ControlPlaneSettings())
    assert len(plane._links) == kodelet_plane.MOST_LINKS


def test_a_run_as_it_is_shown() -> None:
    lease = Lease(RunOpen("r", "c"), RunPhase.FAILED, "why")
    assert run_line(lease) == {"status": "failed", "error": "why"}


def test_a_runner_that_was_never_registered_has_no_generation() -> None:
    shown = runner_line(RunnerRecord("r", incompatible="no version"))
    assert (shown["status"], shown["generation"], shown["connected"]) == ("incompatible", 0, False)
    assert shown["workspace"] == {"path": "", "name": ""}


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("ui.input", UiResponse("submitted", "answer")),
        ("ui.confirm", UiResponse("submitted", "answer", confirmed=True)),
        ("ui.notify", UiResponse("submitted")),
    ],
)
def test_what_a_person_would_answer(method: str, answer: UiResponse) -> None:
    assert Plane().answer(method, UiCall()) == answer
    assert Plane(attended=False).answer(method, UiCall()).status == "unavailable"
