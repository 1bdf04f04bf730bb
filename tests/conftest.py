"""Options of the test run."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator

# Tests run in several processes; threads of linear algebra in each would wait for each other.
# This has to stand before anything imports torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Packages are compiled when they are first imported; where a shell has Python keep nothing of that,
# each of some hundred processes would compile torch and all else anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
from hypothesis import HealthCheck, settings

from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, expect

sys.dont_write_bytecode = False

# Nobody pulls the plug: tests need not wait for the disk with every file (processes of theirs do).
os.fsync = lambda _: None

# What most users run on more than a few rows; processes that tests start decide for themselves.
expect(ENOUGH_TO_COMPILE + 1)

# What a shell runs in the background ignores Ctrl-C, and what `nohup` runs a closed terminal;
# processes that tests start would ignore it as well.
for _name, _usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


# A busy machine is no defect of what is tested. In CI a law draws the same examples for
# the same commit: what fails there fails at home too, with CI=1; elsewhere each run draws others.
settings.register_profile(
    "sears",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("sears")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the expected outputs anew instead of comparing with them",
    )


def pytest_configure() -> None:
    """Importing test modules makes no garbage; searching for it would take seconds."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Most objects of tests are no garbage either, and need no search every 700 objects.

    The modules are not frozen, since each run on a file would then count a million objects. Python
    itself searches all of them only after a quarter as many new ones, which is hardly ever.
    """
    gc.collect()
    gc.set_threshold(20_000)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Pytest would search the rest five more times."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, so that no process waits for another one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether to rewrite the expected outputs."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="module")
def few_texts() -> Iterator[None]:
    """Searches judge rules on a tenth of the shipped sentences, and all with a word of theirs."""
    from sears_dsl.discovery.filtering import text_filter

    every = text_filter.english_sample()
    some = tuple(
        text
        for place, text in enumerate(every)
        if place % 10 == 0 or not {"movie", "very"}.isdisjoint(text.split())
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_filter, "english_sample", lambda: some)
        yield
