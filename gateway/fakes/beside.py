"""Waiting for a fake that is in another thread, beside a loop that must go on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import trio

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def aside(call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Wait for a method in a test that runs on trio or asyncio, while its loop goes on:
    `await aside(daemon.expect, "frame", name="hello")`.

    Cancelled, the call goes on in its thread to its own end, which nobody hears of.
    """
    ask = partial(call, *args, **kwargs)
    if _in_asyncio():
        import asyncio  # only where it runs already

        return await asyncio.to_thread(ask)
    return await trio.to_thread.run_sync(ask, abandon_on_cancel=True)


def check_no_loop(name: str) -> None:
    """Raises: `RuntimeError`, where a loop runs that would be held up."""
    if _in_asyncio() or _in_trio():
        raise RuntimeError(
            f"waiting for {name} here would hold up the loop that runs, and with it what the fake "
            "may be waiting for; write `await aside(fake.method, …)`"
        )


def _in_asyncio() -> bool:
    # This first: where trio-asyncio was imported, asyncio's own loop runs inside trio's.
    asyncio = sys.modules.get("asyncio")
    try:
        return asyncio is not None and asyncio.current_task() is not None
    except RuntimeError:
        return False


def _in_trio() -> bool:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True
