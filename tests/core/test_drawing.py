"""A deeper profile reaches the tests that name a number of their own, too."""

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import settings

from fleetgate.core.drawing import examples


@contextmanager
def in_force(profile: str) -> Iterator[None]:
    before = settings.get_current_profile_name()
    settings.load_profile(profile)
    yield
    settings.load_profile(before)


def test_the_deep_profile_deepens_tests_with_a_number_of_their_own() -> None:
    with in_force("house"):
        assert [examples(10), examples(300)] == [10, 300]
    with in_force("deep"):
        assert [examples(10), examples(300)] == [500, 5_000]
        assert settings().max_examples == 5_000
        assert settings().deadline is None
