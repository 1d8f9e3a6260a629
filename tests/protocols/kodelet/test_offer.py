"""What our runner offers."""

import attrs

from fleetgate.protocols.kodelet import manifest as m
from fleetgate.protocols.kodelet import testing as t
from fleetgate.protocols.kodelet.offer import (
    make_manifest,
    make_registration,
    remember,
    remembered_id,
    without_id,
)
from fleetgate.protocols.kodelet.settings import RunnerSettings
from fleetgate.protocols.testing import START

SETTINGS = RunnerSettings(workspace="/srv/demo/", runner_id="old")


def test_a_control_plane_finds_nothing_wrong_with_the_manifest() -> None:
    opened = m.Opened("R", "r1", 3)
    made = make_manifest(SETTINGS, opened, START)
    assert m.check(made, opened, ()) is None
    assert m.check_contexts(made) is None


def test_the_digest_is_that_of_the_idle_manifest() -> None:
    idle, of_run = make_manifest(SETTINGS), make_manifest(SETTINGS, m.Opened("R", "r", 1), START)
    assert idle.digest == of_run.digest


def test_the_registration() -> None:
    made = make_registration(SETTINGS, t.NORTH, "d")
    assert (made.workspace.name, made.host.hostname) == ("demo", "gateway")
    assert made == make_registration(SETTINGS, t.NORTH, "d")
    assert without_id(made).runner_id == ""
    assert make_registration(RunnerSettings(), t.NORTH, "").workspace.name == "root"


def test_an_id_that_is_longer_than_any_name_is_not_remembered() -> None:
    settings = RunnerSettings()
    assert remember(settings, t.NORTH, "x" * 257) == ""
    kept = attrs.evolve(t.NORTH, remembered=remember(settings, t.NORTH, "x y"))
    assert remembered_id(settings, kept) == "x y"
    assert remembered_id(settings, t.NORTH) == ""
    assert remembered_id(settings, attrs.evolve(kept, peer="elsewhere")) == ""
