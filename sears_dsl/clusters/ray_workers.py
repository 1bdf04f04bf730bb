"""Workers of a Ray cluster, or of Ray on this machine (the only module that imports ray).

In: work, and pieces. Out: results, as they come. Always holds: each worker gets the work once
and keeps what it prepares; if a worker dies, another one does what it was doing; no address means
this machine alone, where nothing listens to others; Ray reports nothing to its makers unless the
user asks for it (RAY_USAGE_STATS_ENABLED=1); a Ray that was started here ends with the block. Costs
some seconds to start; only the pieces and results go through Ray's store.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.extras import need_ray
from sears_dsl.runtime.files import Closing
from sears_dsl.runtime.processes import usable_cores

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_PORT = 6379
# What Ray reads when it is imported and started; what the user has set counts instead.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # notes for developers of Ray, on standard error
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else a warning of what a later Ray does
    "RAY_worker_niceness": "0",  # 15 by default: beside other work workers would hardly run
}
# Ray gives its own processes half a minute to start, and no setting changes that. On a busy machine
# its files are in memory after a first start that failed, so it is tried so many times.
_STARTS = 3
# Seconds to wait until an address accepts a connection, and until it answers as Ray does.
_CONNECTS = 5.0
_ANSWERS = 30.0
# Ray's store on this machine; pieces and results are small.
_STORE = 128 << 20
# Pieces that a worker has at once: the one it is working on, and one so that it need not wait.
_AHEAD = 2
# How many workers may die over a piece; Ray would give it to others for ever.
_MOST_TRIES = 4


class RayWorkers(Closing):
    """The workers of a cluster, of one core each; as many as it has cores if ``count`` is None.

    The address is ``HOST:PORT`` or ``auto`` for a cluster that runs on this machine; None starts
    Ray on this machine alone.
    """

    def __init__(self, *, address: str | None = None, count: int | None = None) -> None:
        named = None if address == "auto" else address
        if named is not None:
            _require_listener(named)
        need_ray()
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        if named is not None:
            _require_head(named)
        with _ray_notes_hidden():
            self._start(address, count)

    def _start(self, address: str | None, count: int | None) -> None:
        self._ray = import_module("ray")
        # The logs of a dead node would go to standard output, between the data.
        private: Any = import_module("ray._private.worker")
        private._worker_logs_enabled = False
        quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        if address is None:
            count = count or usable_cores()
            self._start_here(num_cpus=count, **quiet)
        else:
            try:
                self._ray.init(address=address, **quiet)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise _no_cluster(address, str(error)) from error
        self._count = count or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _start_here(self, **options: Any) -> None:
        for left in reversed(range(_STARTS)):
            try:
                self._ray.init(
                    address="local",
                    object_store_memory=_STORE,
                    include_dashboard=False,
                    _node_ip_address="127.0.0.1",
                    **options,
                )
            # Ray raises a plain Exception if its own processes were too slow to start.
            except Exception as error:
                self._ray.shutdown()
                if left:
                    continue
                raise UsageError(
                    f"Ray did not start on this machine: {error}",
                    help=f"it was tried {_STARTS} times, each up to half a minute; try again when "
                    "less is running, or leave out --engine; nothing was written",
                ) from error
            return

    def close(self) -> None:
        """Leave the cluster; a Ray that was started here ends."""
        self._ray.shutdown()

    def __call__(
        self, work: Callable[[Piece], Result], pieces: Sequence[Piece]
    ) -> Iterator[Result]:
        """What the work gives for each piece, as it comes; nothing if its workers died."""
        if not pieces:
            return
        data = import_module("ray.data")
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.max_errored_blocks = -1  # others go on; the caller sees which result is lacking
        count = min(self._count, len(pieces))
        counting = self._ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(_Tries)
        tries = counting.remote()
        rows = [
            {"number": number, "piece": pickle.dumps(piece)} for number, piece in enumerate(pieces)
        ]
        dataset = data.from_items(rows, override_num_blocks=len(rows)).map(
            _Worker,
            fn_constructor_args=(pickle.dumps(work), tuple(sys.path), tries),
            compute=data.ActorPoolStrategy(
                min_size=1, max_size=count, max_tasks_in_flight_per_actor=_AHEAD
            ),
            num_cpus=1,
        )
        try:
            for row in dataset.iter_rows():
                if row["result"]:
                    yield pickle.loads(row["result"])  # noqa: S301 - of our own workers
        except self._ray.exceptions.RayError as error:
            raise _failed(error) from error


class _Tries:
    """Counts how many workers began each piece; an actor of Ray."""

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, number: int) -> int:
        """How many began it, this one included."""
        self._begun[number] += 1
        return self._begun[number]


class _Worker:
    """What an actor of Ray holds: the work, once, with all that it prepares."""

    def __init__(self, work: bytes, paths: Sequence[str], tries: Any) -> None:
        known = set(sys.path)
        sys.path += [path for path in paths if path not in known and os.path.exists(path)]
        self._work = pickle.loads(work)  # noqa: S301 - of the run that started this worker
        self._tries = tries

    def __call__(self, row: Mapping[str, Any]) -> dict[str, bytes]:
        begun = self._tries.begin.remote(int(row["number"]))
        if import_module("ray").get(begun) > _MOST_TRIES:
            return {"result": b""}
        piece = pickle.loads(row["piece"])  # noqa: S301 - likewise
        return {"result": pickle.dumps(self._work(piece))}


@contextmanager
def _ray_notes_hidden() -> Iterator[None]:
    """Keep the notes that Ray's C++ writes when it starts away from standard error."""
    sys.stderr.flush()
    try:
        shown = os.dup(2)
    except OSError:  # closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(shown, 2)
        os.close(shown)
        os.close(nowhere)


def _require_listener(address: str) -> None:
    """Check that anything listens there before Ray tries, which waits for minutes."""
    if "://" in address:
        raise UsageError(
            f"{address} is an address of Ray's client, which cannot pass data",
            help="name the head node itself, HOST:6379, from a machine in its network",
        )
    host, _, port = address.rpartition(":")
    if not host:
        host, port = address, str(_PORT)
    try:
        with socket.create_connection((host, int(port)), timeout=_CONNECTS):
            pass
    except (OSError, ValueError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from error


def _require_head(address: str) -> None:
    """Ask whoever listens there whether it is the head of a cluster."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    answered = False
    with suppress(subprocess.TimeoutExpired):
        answered = not subprocess.run(  # noqa: S603 - our own Python
            command, capture_output=True, timeout=_ANSWERS, check=False
        ).returncode
    if not answered:
        raise _no_cluster(address, "what listens there is not a head node")


def _no_cluster(address: str, why: str) -> UsageError:
    first = next(iter(why.splitlines()), "")
    return UsageError(
        f"there is no Ray cluster at {address}: {first}",
        help="start one with `ray start --head` and name its HOST:6379, or leave out --address to "
        "use only this machine",
    )


def _failed(error: Exception) -> DataError:
    """The error for what a worker raised that is not about a part."""
    text = str(error)
    if "No module named 'sears_dsl'" in text:
        return DataError(
            "a worker of the cluster cannot import sears_dsl",
            help="install the same version of sears-dsl, with its extras, on every node",
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return DataError(
        f"the workers of the cluster failed: {lines[-1] if lines else type(error)}",
        help="look at Ray's logs, then use --resume; finished files are kept",
    )
