"""The director of all pairs: what goes wrong is told in words, and nothing is left behind."""

from __future__ import annotations

import socket

import pytest

from fleetgate.gateway.demo.children import Cradle
from fleetgate.gateway.demo.director import DemoFailed
from fleetgate.gateway.demo.every.director import EveryDirector
from fleetgate.gateway.demo.every.show import EveryJsonShow
from fleetgate.gateway.demo.every.stage import set_every_stage


@pytest.mark.slow
async def test_a_process_that_ends_by_itself_ends_the_show() -> None:
    stage = set_every_stage()
    stage.config.write_text("nothing = 1\n")
    home = Cradle(stage.root, keep=False)

    async def play() -> None:
        async with home:
            await EveryDirector(stage, EveryJsonShow(), home).play()

    try:
        with pytest.raises(ExceptionGroup) as raised:
            await play()
    finally:
        stage.remove()
    assert raised.group_contains(DemoFailed, match="the gateway ended by itself")
    assert all(child.process.returncode is not None for child in home.children)


@pytest.mark.slow
async def test_why_an_entry_cannot_listen_is_among_the_last_words() -> None:
    """The gateway has sixteen more lines to say behind it."""
    stage = set_every_stage()
    host, _, port = stage.places["iop"].partition(":")
    home = Cradle(stage.root, keep=False)

    async def play() -> None:
        async with home:
            await EveryDirector(stage, EveryJsonShow(), home).play()

    with socket.socket() as in_the_way:
        in_the_way.bind((host, int(port)))
        in_the_way.listen()
        try:
            with pytest.raises(ExceptionGroup) as raised:
                await play()
        finally:
            stage.remove()
    assert raised.group_contains(DemoFailed, match=f"cannot listen at grpc://{host}:{port}")
