"""A model behind an HTTP endpoint that takes and gives JSON.

Always holds: only the named address is asked, as `Posting` asks it; what comes back is labels or an
error. Costs the endpoint's time; any number of threads may ask, over connections that are kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Unpack

from sears_dsl.answers import Comparison
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.http.endpoint_mapping import RequestMap, ResponseMap
from sears_dsl.models.http.posting import Posting, Waits
from sears_dsl.models.labels import answers_of, excerpt
from sears_dsl.models.predictor import Answer, AnsweringPredictor, Row, row_key

_ROWS_A_REQUEST = 64
_SHOWN = 200


class HttpPredictor(AnsweringPredictor):
    """An endpoint as a predictor; close it, or let it go.

    Args:
        request: how rows become JSON; None posts ``{"inputs": [text, …]}``.
        response: where the labels are; None takes them from ``{"predictions": [label, …]}``.

    Raises:
        UsageError: no such address or options, or a header's variable is not set.
    """

    def __init__(
        self,
        url: str,
        *,
        request: RequestMap | None = None,
        response: ResponseMap | None = None,
        comparison: Comparison = "exact",
        **waits: Unpack[Waits],
    ) -> None:
        self._comparison = comparison
        self._request = request or RequestMap()
        self._response = response or ResponseMap()
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
        self._posting = Posting(url, headers=self._request.sent_headers(), **waits)

    @property
    def identity(self) -> str:
        """The address without what may be secret, and a hash of it whole and of both maps."""
        settings = [
            str(self._posting.url), self._request.body, self._response.labels,
            dict(self._response.names),
        ]  # fmt: skip
        if self._response.confidences:
            settings.append(self._response.confidences)
        content = json.dumps(settings, sort_keys=True).encode()
        return f"{self._posting.place} ({blake2b(content, digest_size=6).hexdigest()})"

    @property
    def batch_size(self) -> int:
        """64 rows a request, or one where each row has its own."""
        return 1 if self._request.row_by_row else _ROWS_A_REQUEST

    @property
    def connections(self) -> int:
        """As given: so many threads may ask at the same time."""
        return self._posting.connections

    @property
    def remarks(self) -> list[str]:
        """How often it had to be asked again, and why."""
        return self._posting.remarks

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The labels of the endpoint, with confidences where the map says where they are."""
        if not rows:
            return []
        predictions = self._ask_all(rows)
        answers = answers_of(self._posting.place, rows, predictions, comparison=self._comparison)
        return [Answer(self._response.named(label), sure) for label, sure in answers]

    def _ask_all(self, rows: Sequence[Row]) -> Any:
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
                f"{self._posting.place} gave no confidence for each label: "
                f"{self._response.labels} leads to {str(labels)[:_SHOWN]}, "
                f"{self._response.confidences} to {str(sure)[:_SHOWN]}",
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
        self._posting.close()

    def _ask(self, rows: Sequence[Row]) -> Any:
        """The document that the endpoint sends for the rows."""
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        return self._posting.ask(
            self._request.render(rows),
            about=excerpt(rows[0]) + more,
            key=row_key(rows[0]),
            takes="does the endpoint take what the request map (--request-map) sends?",
        )


def _fraction(value: Any) -> Any:
    """JSON writes a confidence of 1.0 as 1 where it likes."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
