"""A model behind an HTTP endpoint that takes and gives JSON.

In: rows, as the request map lays them out. Out: the labels that the response map finds. Always
holds: only the named address is asked; what may pass (no connection, a time-out, 408, 429, 5xx)
is tried again after a pause that doubles and whose length is the same in every run; 400, 413 and
422 refuse the rows; any other answer is an error with the beginning of what came. Costs the
endpoint's time; any number of threads may ask, over connections that are kept.
"""

from __future__ import annotations

import json
import time
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any

import httpx

from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.endpoint_mapping import RequestMap, ResponseMap
from sears_dsl.models.labels import answers_of, excerpt
from sears_dsl.models.predictor import Answer, Row, RowsRefused, row_key

_ROWS_A_REQUEST = 64
_TRY_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_REFUSALS = frozenset({400, 413, 422})
_FIRST_PAUSE = 0.5  # seconds
_LONGEST_PAUSE = 30.0
_SHOWN = 200


class _MayPassError(Exception):
    """A failure after which it is worth asking again.

    Attributes:
        reason: what it was, without particulars, for counting.
        pause: seconds that the endpoint wants to be left alone.
    """

    def __init__(self, reason: str, details: str = "", pause: float = 0.0) -> None:
        super().__init__(reason + details)
        self.reason = reason
        self.pause = pause


class HttpPredictor:
    """An endpoint as a predictor; close it, or let it go.

    Args:
        url: where to post to.
        request: how rows become JSON; None posts ``{"inputs": [text, …]}``.
        response: where the labels are; None takes them from ``{"predictions": [label, …]}``.
        timeout: seconds to wait for a connection, and for each part of an answer.
        retries: how often to try again.
        connections: threads that may ask at the same time.
        pause: waits so many seconds.

    Raises:
        UsageError: no such address or options, or a header's variable is not set.
    """

    def __init__(
        self,
        url: str,
        *,
        request: RequestMap | None = None,
        response: ResponseMap | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        connections: int = 4,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._request = request or RequestMap()
        self._response = response or ResponseMap()
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise UsageError(
                f"{url!r} is no address: {error}", help="write http://host:port/path"
            ) from error
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise UsageError(f"{url!r} is no address", help="write http://host:port/path")
        if timeout <= 0 or retries < 0 or connections < 1:
            raise UsageError(
                "an endpoint needs a time-out above 0, 0 or more retries and 1 or more connections",
                help="the defaults are 30 seconds, 3 retries and 4 connections",
            )
        many = [
            pointer
            for pointer in (self._response.labels, self._response.confidences)
            if "*" in pointer.split("/")
        ]
        if self._request.row_by_row and many:
            raise UsageError(
                f"each row has a request of its own and the response map {many[0]} "
                f"looks for many labels",
                help="point at the one label, as in /label, or send many rows: $texts, $rows",
            )
        self._timeout = timeout
        self._retries = retries
        self._connections = connections
        self._pause = pause
        self._again: Counter[str] = Counter()
        self._counting = Lock()
        self._client = httpx.Client(
            timeout=timeout,
            headers=self._request.sent_headers(),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=connections),
        )
        weakref.finalize(self, self._client.close)

    @property
    def identity(self) -> str:
        """The address without what may be secret, and a hash of it whole and of both maps."""
        asked = [
            str(self._url), self._request.body, self._response.labels, dict(self._response.names)
        ]  # fmt: skip
        if self._response.confidences:
            asked.append(self._response.confidences)
        content = json.dumps(asked, sort_keys=True).encode()
        return f"{self._place} ({blake2b(content, digest_size=6).hexdigest()})"

    @property
    def batch_size(self) -> int:
        """64 rows a request, or one where each row has its own."""
        return 1 if self._request.row_by_row else _ROWS_A_REQUEST

    @property
    def connections(self) -> int:
        """As given: so many threads may ask at the same time."""
        return self._connections

    @property
    def remarks(self) -> list[str]:
        """How often it had to be asked again, and why."""
        with self._counting:
            again = self._again.most_common()
        if not again:
            return []
        times = sum(count for _, count in again)
        why = ", ".join(f"it {reason} ({count:,})" for reason, count in again)
        return [f"requests made again: {times:,}, since {why}"]

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """The labels that the endpoint gives.

        Raises:
            ModelError: it cannot be reached, refuses, or gives something else than labels.
        """
        return [answer.label for answer in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The labels that the endpoint gives, with confidences where the map says where they are.

        Raises:
            ModelError: it cannot be reached, refuses, or gives something else than labels.
        """
        if not rows:
            return []
        answers = answers_of(self._place, rows, self._given(rows))
        return [Answer(self._response.named(label), sure) for label, sure in answers]

    def _given(self, rows: Sequence[Row]) -> Any:
        """Labels, or pairs of a label and a confidence."""
        if not self._request.row_by_row:
            return self._pairs(self._ask(rows))
        return [self._pair(self._ask([row])) for row in rows]

    def _pairs(self, document: Any) -> Any:
        labels = self._response.extract(document)
        if not self._response.confidences:
            return labels
        sure = self._response.extract_confidences(document)
        if not (isinstance(labels, list) and isinstance(sure, list) and len(labels) == len(sure)):
            raise ModelError(
                f"{self._place} gave no confidence for each label: {self._response.labels} leads "
                f"to {str(labels)[:_SHOWN]}, {self._response.confidences} to {str(sure)[:_SHOWN]}",
                help="both pointers of --response-map have to lead to lists of equal length",
            )
        return [(label, _fraction(value)) for label, value in zip(labels, sure, strict=True)]

    def _pair(self, document: Any) -> Any:
        label = self._response.extract(document)
        if not self._response.confidences:
            return label
        return label, _fraction(self._response.extract_confidences(document))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def _place(self) -> str:
        bare = self._url.copy_with(username=None, password=None, query=None, fragment=None)
        return str(bare)

    def _ask(self, rows: Sequence[Row]) -> Any:
        """The document that the endpoint sends for the rows, after some tries."""
        body = self._request.render(rows)
        attempt = 0
        while True:
            try:
                return self._post(body, rows)
            except _MayPassError as failure:
                if attempt == self._retries:
                    tries = "once" if attempt == 0 else f"{attempt + 1} times"
                    raise ModelError(
                        f"{self._place} {failure} (asked {tries})",
                        help="is it running and reachable from here? a slow one needs a longer "
                        "time-out or smaller batches",
                    ) from failure.__cause__
                with self._counting:
                    self._again[failure.reason] += 1
                self._pause(max(failure.pause, self._delay(rows, attempt)))
            attempt += 1

    def _post(self, body: Any, rows: Sequence[Row]) -> Any:
        try:
            answer = self._client.post(self._url, json=body)
        except httpx.TimeoutException as error:
            raise _MayPassError(f"gave no answer within {self._timeout:g} seconds") from error
        except httpx.HTTPError as error:
            raise _MayPassError("could not be asked", f": {error}") from error
        status = f"answered {answer.status_code} {answer.reason_phrase}"
        if answer.status_code in _TRY_AGAIN:
            pause = _seconds(answer.headers.get("Retry-After", ""))
            raise _MayPassError(status, f": {_start(answer)}", pause)
        if answer.status_code in _REFUSALS:
            raise RowsRefused(
                f"{self._place} {status}: {_start(answer)}\n  asked about {excerpt(rows[0])}"
                + (f" and {len(rows) - 1} more" if len(rows) > 1 else ""),
                help="does the endpoint take what the request map (--request-map) sends? Where it "
                "refuses some texts only, --on-error skip leaves them out",
            )
        if not answer.is_success:
            raise ModelError(
                f"{self._place} {status}: {_start(answer)}",
                help="does the endpoint take what the request map (--request-map) sends?",
            )
        try:
            return answer.json()
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"{self._place} answered with something that is no JSON: {_start(answer)}",
                help="is this the address of the model, not of a web page?",
            ) from error

    def _delay(self, rows: Sequence[Row], attempt: int) -> float:
        """Seconds to wait: doubling, spread by half so that many clients do not come at once."""
        seed = blake2b(f"{row_key(rows[0])} {attempt}".encode(), digest_size=4).digest()
        spread = int.from_bytes(seed) / 2**32
        pause: float = _FIRST_PAUSE * 2**attempt
        return min(_LONGEST_PAUSE, pause) * (0.75 + 0.5 * spread)


def _fraction(value: Any) -> Any:
    """JSON writes a confidence of 1.0 as 1 where it likes."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _start(answer: httpx.Response) -> str:
    text = answer.text
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _seconds(header: str) -> float:
    """What Retry-After asks for; a date or nothing counts as no wish."""
    return min(float(header), _LONGEST_PAUSE) if header.strip().isdecimal() else 0.0
