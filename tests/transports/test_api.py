from __future__ import annotations

import attrs
import pytest

from fleetgate.transports import api


def test_whose_fault_it_was_is_in_the_type() -> None:
    raised = (
        api.LinkClosed("here"),
        api.LinkBroken("there", 4001),
        api.FrameTooLong("long"),
        api.DialFailed("nobody"),
        api.DialRefused("no", 401, final=True),
        api.ListenFailed("taken"),
    )
    assert all(isinstance(error, api.LinkError) for error in raised)
    assert isinstance(raised[2], api.FrameRefused)
    assert not issubclass(api.AddressError, api.LinkError)
    assert api.LinkBroken("there", 4001).code == 4001
    refused = api.DialRefused("no", 503)
    assert (refused.status, refused.final) == (503, False)


def test_values_cannot_be_changed_and_show_no_headers() -> None:
    opening = api.Opening(headers={"authorization": "Bearer s3cret"})
    options = api.Options(headers={"authorization": "Bearer s3cret"})
    assert "s3cret" not in repr(opening) + repr(options)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        opening.peer = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        api.Opening().headers["a"] = "b"  # type: ignore[index]
