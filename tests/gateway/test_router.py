"""Routes at work."""

import attrs
import pytest

from fleetgate.core.commands import Prompt, RunSpec, ShellCommand
from fleetgate.core.errors import NoRoute, UnsupportedInput
from fleetgate.core.routing import Overrides, Route
from fleetgate.core.worker import InputKind
from fleetgate.gateway.router import RouteTable

PROMPTS = frozenset({InputKind.PROMPT})


def test_a_protocol_has_the_last_word_on_how_long_a_run_may_wait() -> None:
    def expire(spec: RunSpec, created: int) -> RunSpec:
        return attrs.evolve(spec, expires=created + 5)

    table = RouteTable(
        [Route("gui", "hosts", {"provider": ("shell",)}), Route("gui", "laptops")],
        {"hosts": PROMPTS, "laptops": PROMPTS},
        {"hosts": expire},
    )
    assert table.route("gui", RunSpec(Prompt("x", provider="shell")), 7)[1].expires == 12
    assert table.route("gui", RunSpec(Prompt("x")), 7)[1].expires is None


def test_a_run_goes_by_the_first_route_that_fits_with_what_it_sets() -> None:
    routes = [
        Route("gui", "hosts", {"provider": ("shell",)}),
        Route("gui", "laptops", set=Overrides(permission="edit")),
    ]
    table = RouteTable(routes, {"laptops": PROMPTS})
    assert table.route("gui", RunSpec(Prompt("x"))) == (
        "laptops",
        RunSpec(Prompt("x"), permission="edit"),
    )
    with pytest.raises(UnsupportedInput, match="hosts"):
        table.route("gui", RunSpec(Prompt("x", provider="shell")))
    with pytest.raises(UnsupportedInput):
        table.route("gui", RunSpec(ShellCommand(line="ls")))
    with pytest.raises(NoRoute):
        table.route("elsewhere", RunSpec(Prompt("x")))


def test_pools_are_named_with_the_providers_that_select_them() -> None:
    routes = [
        Route("gui", "a", {"provider": ("claude", "codex")}),
        Route("*", "a", {"provider": ("claude",)}),
        Route("*", "b"),
        Route("other", "c"),
    ]
    table = RouteTable(routes, {})
    assert table.pools("gui") == {"a": ("claude", "codex"), "b": ()}
    assert table.pools("gui", {"provider": "codex"}) == {"a": ("claude", "codex")}
    assert table.pools("gui", {"provider": "mine"}) == {"b": ()}


def test_whose_approvals_are_denied_and_where_nobody_could_be_told() -> None:
    table = RouteTable([], {}, denying=frozenset({"edge"}), deaf=frozenset({"nodes"}))
    assert table.denies("edge", "laptops")
    assert not table.denies("edge", "nodes")
    assert not table.denies("gui", "laptops")
    assert table.hears_decisions("laptops")
    assert not table.hears_decisions("nodes")
