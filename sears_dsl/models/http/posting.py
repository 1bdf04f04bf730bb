"""Posts JSON to one address, again where a failure may pass.

Always holds: only the named address is asked. What may pass (no connection, a time-out, 408, 429,
500, 502 to 504) is tried again after a pause that doubles and has the same length in every run.
Headers that cannot be sent are refused before anything is asked.
400, 413 and 422 refuse what was asked. Anything else but JSON is an error with the beginning of
what came. An answer is limited in size, and in the time until it is whole. Neither messages nor
what is returned repeat a secret that was sent. Any number of threads may ask, over connections that
are kept open.
"""

from __future__ import annotations

import json
import re
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any, TypedDict

import httpx

from sears_dsl.errors import HALF_CHARACTER, ModelError, UsageError
from sears_dsl.models.predictor import Row, RowsRefused, excerpt, quoted, row_key

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
# What is shorter is hidden only where it is a whole word: a key "pos" is no part of "positive".
LONG_SECRET = 8
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_HEADER_VALUE = re.compile(r"[\t -~]*")
# They are those of the body, which is written here.
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding"})
_BROKEN_OFF = "look into its log for why; the address needs the right beginning, http or https"


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

    The words in ``secrets`` are never shown. ``takes`` and ``allowed`` are advice for errors:
    whether the address takes what is sent, and how to show that one may ask.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        secrets: Iterable[str],
        takes: str,
        allowed: str,
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
        whole = _is_whole(retries) and _is_whole(connections)
        seconds = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if not (whole and seconds and 0 < timeout < _ENDLESS and retries >= 0 and connections > 0):
            raise UsageError(
                "an endpoint needs a finite time-out above 0, 0 or more retries and 1 or more "
                f"connections, both whole numbers, not timeout={timeout!r}, retries={retries!r}, "
                f"connections={connections!r}",
                help="the defaults are 30 seconds, 3 retries and 4 connections",
            )
        self._secret = _any_of(secrets)
        self._takes, self._allowed = takes, allowed
        self._timeout = timeout
        self._retries = retries
        self.connections = connections
        self._pause = pause
        self._again: Counter[str] = Counter()
        self._counting = Lock()
        sent = httpx.Headers({"Content-Type": "application/json"})
        sent.update(_sendable(headers))
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

    def ask(self, body: Any, rows: Sequence[Row]) -> Any:
        """Post a body about rows; the document that comes back. A refusal is `RowsRefused`."""
        attempt = 0
        while True:
            try:
                return self._post(body, rows)
            except _TransientError as failure:
                if attempt == self._retries:
                    tries = "once" if attempt == 0 else f"{attempt + 1} times"
                    raise ModelError(
                        f"{self.place} {failure} (asked {tries})", help=failure.help
                    ) from failure.__cause__
                with self._counting:
                    self._again[failure.reason] += 1
                self._pause(max(failure.pause, _delay(row_key(rows[0]), attempt)))
            attempt += 1

    def _post(self, body: Any, rows: Sequence[Row]) -> Any:
        try:
            answer, text = self._answer(body)
        except httpx.TimeoutException as error:
            unit = "second" if self._timeout == 1 else "seconds"
            raise _TransientError(f"did not answer within {self._timeout:g} {unit}") from error
        except httpx.DecodingError as error:
            raise ModelError(
                f"{self.place} sent an answer that cannot be decompressed: "
                f"{self._hidden(str(error))}",
                help="its header Content-Encoding does not say how the answer is compressed",
            ) from error
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            why = f": {self._hidden(str(error))}"
            raise _TransientError("gave no whole answer", why, advice=_BROKEN_OFF) from error
        except httpx.HTTPError as error:
            why = f": {self._hidden(str(error))}"
            raise _TransientError("could not be reached", why) from error
        start = quoted(self._hidden(text), most=_SHOWN)
        status = f"answered {answer.status_code} {self._hidden(answer.reason_phrase)}"
        if answer.status_code in _TRY_AGAIN:
            # A date, or no header, counts as no wish.
            wish = answer.headers.get("Retry-After", "")
            pause = min(float(wish), _LONGEST_PAUSE) if wish.strip().isdecimal() else 0.0
            advice = _SLOWER if answer.status_code == _TOO_MANY else _UNREACHED
            raise _TransientError(status, f": {start}", pause, advice)
        if answer.status_code in _REFUSALS:
            more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
            raise RowsRefused(
                f"{self.place} {status}: {start}\n  asked about {excerpt(rows[0])}{more}",
                help=f"{self._takes}; if it refuses only some texts, --on-error skip leaves them "
                "out",
            )
        if not answer.is_success:
            advice = self._allowed if answer.status_code in _NOT_ALLOWED else self._takes
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
        """The head of an answer and its text."""
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
        return answer, _decoded(bytes(content), answer.encoding or "utf-8")

    def _clean(self, value: Any) -> Any:
        """A value of JSON without secrets, and without halves of characters."""
        if isinstance(value, dict):
            return {self._clean(name): self._clean(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._clean(each) for each in value]
        if isinstance(value, str):
            return self._hidden(value.encode(errors="replace").decode())
        if isinstance(value, int) and abs(value) >= 10 ** (LONG_SECRET - 1):
            shown = self._hidden(str(value))
            return value if shown == str(value) else shown
        return value

    def _hidden(self, text: str) -> str:
        return self._secret.sub("…", text) if self._secret else text


def _any_of(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """What finds secrets in a text, those that are short as whole words; None if there are none."""
    # The longest first, since one may be part of another.
    words = sorted(filter(None, secrets), key=len, reverse=True)
    parts = [
        re.escape(word) if len(word) >= LONG_SECRET
        else rf"(?<![^\W_]){re.escape(word)}(?![^\W_])"
        for word in words
    ]  # fmt: skip
    return re.compile("|".join(parts)) if parts else None


def _sendable(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers without white space around their values; an error where HTTP has no such."""
    sent = {name: value.strip() for name, value in headers.items()}
    for name, value in sent.items():
        advice = "the names of headers are ASCII letters, digits and hyphens"
        if name.lower() in _OWN_HEADERS:
            problem, advice = "sears sends one itself", "leave it out"
        elif not _HEADER_NAME.fullmatch(name):
            problem = "this is no name of a header"
        elif not _HEADER_VALUE.fullmatch(value):
            # Without the value, which may be a key.
            problem = "its value has a line break or a character that is not ASCII"
            advice = "check the text, or the environment variable or file that it comes from"
        else:
            continue
        raise UsageError(f"the header {name!r} cannot be sent: {problem}", help=advice)
    return sent


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _decoded(content: bytes, encoding: str) -> str:
    """The text of an answer, without a byte order mark."""
    try:
        text = content.decode(encoding, "replace")
    except (LookupError, UnicodeError):
        # A codec of Python that is no encoding of text, such as hex. JSON is in UTF-8.
        text = content.decode(errors="replace")
    return text.removeprefix("\ufeff")


def _encoded(body: Any) -> bytes:
    """A body as JSON; where it has halves of characters, which UTF-8 has not, with escapes."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return (json.dumps(body) if HALF_CHARACTER.search(text) else text).encode()


def _delay(key: str, attempt: int) -> float:
    """Seconds to wait: doubling, spread by a quarter up and down so that not all come at once.

    Each ``key`` has pauses of its own, the same in every run.
    """
    seed = blake2b(f"{key} {attempt}".encode(), digest_size=4).digest()
    spread = int.from_bytes(seed) / 2**32
    pause: float = _FIRST_PAUSE * 2**attempt
    return min(_LONGEST_PAUSE, pause) * (0.75 + 0.5 * spread)
