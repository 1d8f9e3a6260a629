"""The daemon as a whole: providers, accounts, and its end. Sections 3.2 and 4.6."""

from __future__ import annotations

from typing import Final

import trio

from fleetgate.gateway.tck.agency.daemon import Client, DaemonAttempt
from fleetgate.gateway.tck.agency.talk import dumped, expect_keys, expect_members, member_list
from fleetgate.gateway.tck.peer import Unmet
from fleetgate.gateway.tck.requirement import Topic

TOPIC: Final = Topic("daemon")

PROVIDER: Final = (
    "provider",
    "installed",
    "version",
    "outdated",
    "authState",
    "detail",
    "authMethod",
    "account",
    "plan",
    "loginHint",
)
ACCOUNT: Final = ("provider", "supported", "usage", "error")

ORDER: Final = ("claude", "codex", "copilot", "grok")
"""In which providers are listed."""

_GREETED: Final = "a connection on which hello was answered"


async def _listed(kit: DaemonAttempt, ask: str, type: str, keys: tuple[str, ...]) -> None:
    client = await kit.greeted()
    answer = await client.answer(await client.ask(ask), f"the answer to {ask}")
    expect_members(answer, f"the answer to {ask}", type=type)
    providers = member_list(answer, "providers", f"the answer to {ask}")
    for each in providers:
        expect_keys(each, keys, "a provider")
    names = [each["provider"] for each in providers]
    if names != [name for name in ORDER if name in names]:
        raise Unmet(f"providers in the order {', '.join(ORDER)}", f"{names} came")


@TOPIC.must(
    "AGENCY-D-080",
    given=_GREETED,
    when="providers are probed",
    expect="providers in the genuine order, each with every key in the declared order",
    source="agency 3.2",
)
async def probed(kit: DaemonAttempt) -> None:
    await _listed(kit, "probe_providers", "providers", PROVIDER)


@TOPIC.must(
    "AGENCY-D-081",
    given=_GREETED,
    when="account usage is read",
    expect="account_usage in the genuine order, each with every key in the declared order",
    source="agency 3.2",
)
async def metered(kit: DaemonAttempt) -> None:
    await _listed(kit, "read_account_usage", "account_usage", ACCOUNT)


@TOPIC.must(
    "AGENCY-D-082",
    given="a run that goes on",
    when="shutdown_if_idle is asked for",
    expect="the error conflict, and the daemon serves on",
    source="agency 4.6; case F49",
)
async def busy(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    run = await kit.holding(client)
    await client.refused(await client.ask("shutdown_if_idle"), "conflict", "shutdown_if_idle")
    await (await kit.dial()).hello()
    await kit.cancel(client, run)


async def _expect_gone(kit: DaemonAttempt) -> None:
    """Nobody must answer any more, soon."""
    with trio.move_on_after(kit.patience.within):
        while True:
            try:
                await (await kit.dial()).hello()
            except Unmet:
                return
            await trio.sleep(0.05)
    raise Unmet("that the daemon is gone", f"it answered for {kit.patience.within:g} s more")


@TOPIC.must(
    "AGENCY-D-090",
    given="an idle daemon",
    when="shutdown_if_idle is asked for",
    expect="accepted, the end of the connection, and nobody at the address any more",
    source="agency 4.6; case F49",
    ends=True,
)
async def idle(kit: DaemonAttempt) -> None:
    client = await kit.greeted()
    await client.accepted(await client.ask("shutdown_if_idle"), "shutdown_if_idle")
    await client.expect_end()
    await _expect_gone(kit)


async def _stopping(kit: DaemonAttempt, client: Client, mode: str) -> None:
    await client.accepted(await client.ask("shutdown", mode=mode), f"shutdown {mode}")
    await client.expect_end()


@TOPIC.must(
    "AGENCY-D-091",
    given="a run that goes on, and a second connection",
    when="the first asks for shutdown drain",
    expect="accepted and the end there; on the second, the error conflict for a start and for "
    "another shutdown, while the run can be canceled",
    source="agency 4.6",
    ends=True,
)
async def drained(kit: DaemonAttempt) -> None:
    client, other = await kit.greeted(), await kit.greeted()
    run = await kit.holding(other)
    await _stopping(kit, client, "drain")
    id = await other.ask("start_run", run_id=kit.name(), request=kit.request(), idempotency_key="k")
    await other.refused(id, "conflict", "a start while it stops")
    id = await other.ask("shutdown", mode="terminate")
    await other.refused(id, "conflict", "a second shutdown")
    await kit.cancel(other, run)
    await _expect_gone(kit)


@TOPIC.must(
    "AGENCY-D-092",
    given="a run that goes on",
    when="a second connection asks for shutdown terminate",
    expect="accepted and the end there; and nobody at the address any more, although nothing was "
    "canceled",
    source="agency 4.6; case F51",
    ends=True,
)
async def terminated(kit: DaemonAttempt) -> None:
    client, other = await kit.greeted(), await kit.greeted()
    await kit.holding(other)
    await _stopping(kit, client, "terminate")
    await _expect_gone(kit)


@TOPIC.should(
    "AGENCY-D-093",
    given="a run that goes on, attached to by a second connection",
    when="the first asks for shutdown terminate",
    expect='failed "the run was canceled" on the second, before its end; the genuine daemon may '
    "lose it in that race",
    source="agency 4.6; case F51",
    ends=True,
)
async def last_words(kit: DaemonAttempt) -> None:
    client, other = await kit.greeted(), await kit.greeted()
    run = await kit.holding(other)
    await _stopping(kit, client, "terminate")
    end = (await other.events(run))[-1]
    if end.get("event") != {"type": "failed", "payload": "the run was canceled"}:
        raise Unmet("failed 'the run was canceled'", f"{dumped(end)[:300]} came")
