"""What holds for every test: properties have no stopwatch, the whole suite uses every core."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is no fault of the code under test, so nothing here measures time.
settings.register_profile("fresh", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", parent=settings.get_profile("fresh"), max_examples=5_000)
settings.register_profile("brisk", parent=settings.get_profile("fresh"), max_examples=500)
# Where every change is judged the same examples are drawn each time: what fails there fails because
# of the change, and fails again. The others draw anew, and look for what nobody has seen yet.
settings.register_profile("house", parent=settings.get_profile("fresh"), derandomize=True)
settings.load_profile("house")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """None, so every core, for the whole suite; 0, so in this process, for chosen files,
    where a debugger and `-s` must work."""
    return 0 if config.args_source is pytest.Config.ArgsSource.ARGS else None


def pytest_configure() -> None:
    """A shell starts what it runs in the background with SIGINT ignored, `nohup` with SIGHUP
    ignored, and that is inherited by every process that a test starts: there the signal would
    do nothing."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
