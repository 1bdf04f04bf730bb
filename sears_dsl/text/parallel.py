"""Tagging in several processes.

In: groups of texts. Out: their `Tokens`, in order, as one process would give them.
Always holds: a worker is a plain Python process that reads groups from its input and writes
arrays to its output, so it never imports the caller's main module (a script needs no
``if __name__ == "__main__"``); it ends when its input ends, so also when the caller is killed, at
the latest after the group that it is at; and a worker that dies is an error, not a wait.
Costs a start of a second or two, a copy of the model for each worker, and a copy of the texts
and arrays through a pipe.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TypeAlias

from sears_dsl.errors import TaggerError
from sears_dsl.text.tokens import Tokens

__all__ = ["Workers"]

_Worker: TypeAlias = "subprocess.Popen[bytes]"

# One thread of linear algebra for each process: they share the cores among themselves.
_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)


class Workers:
    """Processes that tag with one spaCy model; they end with this object or this process.

    Args:
        model: an installed package or a folder.
        jobs: how many processes.
    """

    def __init__(self, model: str, *, jobs: int) -> None:
        environment = {**os.environ, **_ONE_THREAD}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()", model]
        self._workers: list[_Worker] = []
        self._end = weakref.finalize(self, _end, self._workers, os.getpid())
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for _ in range(jobs):
            worker = subprocess.Popen(  # noqa: S603 - this very interpreter
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
            self._workers.append(worker)
            self._idle.put(worker)

    def tag(self, groups: Sequence[Sequence[str]]) -> list[Tokens]:
        """The tokens of each group of texts.

        Raises:
            TaggerError: a worker failed or died. All of them are ended then.
        """
        with ThreadPoolExecutor(len(self._workers)) as threads:
            futures = [threads.submit(self._ask, group) for group in groups]
            try:
                return [future.result() for future in futures]
            except BaseException:
                # An interrupt too: threads that wait for an answer get an end of file instead.
                for future in futures:
                    future.cancel()
                self.close()
                raise

    def close(self) -> None:
        """End the processes; what they are doing is dropped."""
        self._end()

    def _ask(self, texts: Sequence[str]) -> Tokens:
        worker = self._idle.get()
        try:
            if worker.stdin is None or worker.stdout is None:
                raise EOFError
            pickle.dump(list(texts), worker.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            worker.stdin.flush()
            answer = pickle.load(worker.stdout)  # noqa: S301 - written by our own process
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            raise TaggerError(
                "a process that tags ended before its work was done",
                help="most often memory is lacking: give fewer jobs",
            ) from error
        finally:
            self._idle.put(worker)
        if isinstance(answer, Tokens):
            return replace(answer, texts=texts)
        raise TaggerError(f"a process that tags failed: {answer}", help="see whether one job works")


def serve() -> None:
    """Be a worker: tag what comes in until nothing more comes."""
    from sears_dsl.text.spacy_tagger import SpacyTagger  # noqa: PLC0415 - in workers only

    # An interrupt is the caller's business, which then closes the pipes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever prints must not come between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    tagger = SpacyTagger(sys.argv[1])
    with suppress(EOFError, BrokenPipeError):  # the caller is done, or gone
        while True:
            texts = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the caller
            answer: Tokens | str
            try:
                answer = replace(tagger.tag(texts), texts=())
            except Exception as error:  # told to the caller, who raises it
                answer = f"{type(error).__name__}: {error}"
            pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()


def _end(workers: list[_Worker], process: int) -> None:
    """End the workers in the process that started them, and nowhere else."""
    if process != os.getpid():
        return
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                with suppress(OSError):  # texts that were not yet written, to nobody
                    pipe.close()
