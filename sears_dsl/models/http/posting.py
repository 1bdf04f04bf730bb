"""Posts JSON to one address, again where a failure may pass.

Always holds: only the named address is asked. What may pass (no connection, a time-out, 408, 429,
500, 502 to 504) is tried again after a pause that doubles and has the same length in every run.
400, 413 and 422 refuse what was asked. Anything else but JSON is an error with the beginning of
what came. An answer is limited in size, and in the time until it is whole. Neither messages nor
what is returned repeat a secret that was sent. Any number of threads may ask, over connections that
are kept open.
"""

from __future__ import annotations

import json
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from threading import Lock
from typing import Any, TypedDict

import httpx

from sears_dsl.errors import HALF_CHARACTER, ModelError, UsageError
from sears_dsl.models.predictor import RowsRefused, quoted

_TRY_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_REFUSALS = frozenset({400, 413, 422})
_TOO_MANY = 429
_UNREACHED = (
    "check that it runs and can be reached; a slow one needs a longer time-out or smaller batches"
)
_SLOWER = (
    "it limits requests: wait a while, then send one at a time (--connections 1) and retry more "
    "often (--retries 8); the settings of a language model take both, too (connections, retries)"
)
_ANOTHER_PLACE = "redirects are not followed: use the address that the model has now"
_NOT_ALLOWED = frozenset({401, 403})
_FIRST_PAUSE = 0.5  # seconds
_LONGEST_PAUSE = 30.0
_ENDLESS = 1e6  # seconds; systems cannot count much longer waits
_SHOWN = 200
# The labels and scores of any batch fit into this; what is longer is not an answer.
_MOST_BYTES = 16 * 2**20
# A shorter word of what is secret is none: "Bearer".
_SHORTEST_SECRET = 8


class _TransientError(Exception):
    """A failure after which it is worth asking again: why, how long to wait, what else helps."""

    def __init__(
        self, reason: str, details: str = "", pause: float = 0.0, advice: str = _UNREACHED
    ) -> None:
        super().__init__(reason + details)
        self.reason = reason
        self.pause = pause
        self.help = advice


class Waits(TypedDict, total=False):
    """Seconds to wait for an answer, retries, threads that may ask at once, and what pauses."""

    timeout: float
    retries: int
    connections: int
    pause: Callable[[float], None]


class Posting:
    """An address to post to; connections are closed when it is dropped.

    The long words of ``secrets``, values of headers, are never shown.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        secrets: Iterable[str],
        timeout: float = 30.0,
        retries: int = 3,
        connections: int = 4,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            self.url = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise UsageError(
                f"{url!r} is not an address: {error}", help="write http://host:port/path"
            ) from error
        if self.url.scheme not in ("http", "https") or not self.url.host:
            raise UsageError(f"{url!r} is not an address", help="write http://host:port/path")
        if not 0 < timeout < _ENDLESS or retries < 0 or connections < 1:
            raise UsageError(
                "an endpoint needs a finite time-out above 0, 0 or more retries and 1 or more "
                "connections",
                help="the defaults are 30 seconds, 3 retries and 4 connections",
            )
        words = [word for value in secrets for word in value.split()]
        # The longest first, since one may be part of another.
        long = [word for word in words if len(word) >= _SHORTEST_SECRET]
        self._secrets = sorted(long, key=len, reverse=True)
        self._timeout = timeout
        self._retries = retries
        self.connections = connections
        self._pause = pause
        self._again: Counter[str] = Counter()
        self._counting = Lock()
        sent = httpx.Headers({"Content-Type": "application/json"})
        sent.update(headers)
        self._client = httpx.Client(
            timeout=timeout,
            headers=sent,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=connections),
        )
        weakref.finalize(self, self._client.close)

    @property
    def place(self) -> str:
        """The address without what may be secret."""
        return str(self.url.copy_with(username=None, password=None, query=None, fragment=None))

    @property
    def remarks(self) -> list[str]:
        """How often it had to be asked again, and why."""
        with self._counting:
            again = self._again.most_common()
        if not again:
            return []
        times = sum(count for _, count in again)
        why = ", ".join(f"it {reason} ({count:,})" for reason, count in again)
        return [f"requests repeated: {times:,}, because {why}"]

    def ask(self, body: Any, *, about: str, key: str, takes: str, allowed: str) -> Any:
        """Post a body, and return the document that comes back; a refusal is `RowsRefused`.

        ``key`` gives each question pauses of its own. ``takes`` and ``allowed`` are advice for
        errors: whether the address takes what is sent, and how to show that one may ask.
        """
        attempt = 0
        while True:
            try:
                return self._post(body, about=about, takes=takes, allowed=allowed)
            except _TransientError as failure:
                if attempt == self._retries:
                    tries = "once" if attempt == 0 else f"{attempt + 1} times"
                    raise ModelError(
                        f"{self.place} {failure} (asked {tries})", help=failure.help
                    ) from failure.__cause__
                with self._counting:
                    self._again[failure.reason] += 1
                self._pause(max(failure.pause, _delay(key, attempt)))
            attempt += 1

    def _post(self, body: Any, *, about: str, takes: str, allowed: str) -> Any:
        try:
            answer, text = self._answer(body)
        except httpx.TimeoutException as error:
            unit = "second" if self._timeout == 1 else "seconds"
            raise _TransientError(f"did not answer within {self._timeout:g} {unit}") from error
        except httpx.HTTPError as error:
            raise _TransientError("could not be reached", f": {error}") from error
        start = quoted(text, most=_SHOWN)
        status = f"answered {answer.status_code} {answer.reason_phrase}"
        if answer.status_code in _TRY_AGAIN:
            # A date, or no header, counts as no wish.
            wish = answer.headers.get("Retry-After", "")
            pause = min(float(wish), _LONGEST_PAUSE) if wish.strip().isdecimal() else 0.0
            advice = _SLOWER if answer.status_code == _TOO_MANY else _UNREACHED
            raise _TransientError(status, f": {start}", pause, advice)
        if answer.status_code in _REFUSALS:
            raise RowsRefused(
                f"{self.place} {status}: {start}\n  asked about {about}",
                help=f"{takes}; if it refuses only some texts, --on-error skip leaves them out",
            )
        if not answer.is_success:
            advice = allowed if answer.status_code in _NOT_ALLOWED else takes
            raise ModelError(
                f"{self.place} {status}: {start}",
                help=_ANOTHER_PLACE if answer.is_redirect else advice,
            )
        try:
            return self._clean(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"{self.place} did not answer with JSON: {start}",
                help="check that this is the address of the model, not of a web page",
            ) from error

    def _answer(self, body: Any) -> tuple[httpx.Response, str]:
        """The head of an answer and its text, without secrets that it repeats."""
        began = time.monotonic()
        content = bytearray()
        with self._client.stream("POST", self.url, content=_encoded(body)) as answer:
            for part in answer.iter_bytes():
                content += part
                if len(content) > _MOST_BYTES:
                    raise ModelError(
                        f"{self.place} answered with more than {_MOST_BYTES // 2**20} MiB",
                        help="check the address; if it is right, send fewer rows at once with "
                        "--batch-size",
                    )
                if time.monotonic() - began > self._timeout:
                    raise httpx.ReadTimeout("the answer goes on", request=answer.request)
        return answer, self._hidden(content.decode(answer.encoding or "utf-8", "replace"))

    def _clean(self, value: Any) -> Any:
        """A value of JSON without secrets, and without halves of characters.

        Secrets are looked for again, since they may have stood there in escapes.
        """
        if isinstance(value, dict):
            return {self._clean(name): self._clean(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._clean(each) for each in value]
        if isinstance(value, str):
            return self._hidden(value.encode(errors="replace").decode())
        return value

    def _hidden(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


def _encoded(body: Any) -> bytes:
    """A body as JSON; where it has halves of characters, which UTF-8 has not, with escapes."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return (json.dumps(body) if HALF_CHARACTER.search(text) else text).encode()


def _delay(key: str, attempt: int) -> float:
    """Seconds to wait: doubling, spread by a quarter up and down so that not all come at once."""
    seed = blake2b(f"{key} {attempt}".encode(), digest_size=4).digest()
    spread = int.from_bytes(seed) / 2**32
    pause: float = _FIRST_PAUSE * 2**attempt
    return min(_LONGEST_PAUSE, pause) * (0.75 + 0.5 * spread)
