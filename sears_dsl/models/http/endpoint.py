"""A model behind an HTTP endpoint: how rows become JSON, and how labels are found in what comes.

Always holds: only the named address is asked, through `Posting`, and the result is labels or an
error. Templates are data, and nothing in them is evaluated. Only a string that is a placeholder as
a whole is replaced (``$$`` at its start stands for one ``$``). Any number of threads may ask.

    $texts          the texts of all rows, where they have one column
    $rows           all rows, as objects
    {"$each": …}    a list with the template … filled in for each row
    $text           the text of one row, where it has one column
    $row            one row, as an object
    $column.NAME    one row's text in this column
    $picture.NAME   the picture whose path stands there, its file in base64

A template with one of the last four outside of ``$each`` is sent once for each row.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Unpack

from sears_dsl.answers import Comparison, with_each_label
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.http.posting import LONG_SECRET, Posting, Waits
from sears_dsl.models.predictor import (
    Answer,
    AnsweringPredictor,
    Row,
    answers_of,
    checked_confidence,
)
from sears_dsl.pictures import encoded_picture
from sears_dsl.runtime.files import read_document

_MANY = ("$texts", "$rows")
_ONE = ("$text", "$row")
_EACH = "$each"
_COLUMN = "$column."
_PICTURE = "$picture."
_LABELS = "/predictions"
_SHOWN = 200
ENVIRONMENT = "$env."
# Words before a key that are none.
_SCHEMES = frozenset({"apikey", "basic", "bearer", "digest", "token"})
# Part of the names of headers whose value is a secret: Authorization, X-Api-Key, Cookie, … A longer
# word, as in X-Tokenizer, is none: its value may be a label.
_SECRET = re.compile(
    r"(?<![^-_])(?:auth(?:orization)?|cookie|credentials?|pass(?:word)?|secret|session"
    r"|sign(?:ature)?|(?:access|api|auth|secret|session)?(?:key|token))(?![^-_])",
    re.IGNORECASE,
)
_PLACEHOLDERS = "$texts, $rows, {$each: …}, $text, $row, $column.NAME or $picture.NAME"


@dataclass(frozen=True, slots=True)
class RequestMap:
    """What is sent: a body and headers."""

    # JSON with placeholders; None is {"inputs": "$texts"}, $rows where rows have several columns.
    body: Any = None
    # A value $env.NAME is read from the environment, so that no secret stands in a file.
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.body is None:
            return
        require_json(self.body, whose="the body of the request")
        placeholders = _placeholders(self.body)
        many = any(name in (*_MANY, _EACH) for name in placeholders)
        if not placeholders or (many and self.row_by_row):
            mixture = "mixes placeholders for one row with those for all rows"
            raise UsageError(
                f"the body of the request {mixture if placeholders else 'has no placeholder'}",
                help=f"it needs {_PLACEHOLDERS}",
            )

    @property
    def row_by_row(self) -> bool:
        """Whether each row has a request of its own."""
        return any(name in _ONE or _of_column(name) for name in _placeholders(self.body))

    @classmethod
    def read(cls, source: str) -> RequestMap:
        """Read a .toml or .json file, or JSON, with the keys ``body`` and ``headers``."""
        content = read_map(source, "request map", ("body", "headers"))
        headers = content.get("headers", {})
        if not isinstance(headers, dict) or not all(
            isinstance(value, str) for value in headers.values()
        ):
            raise UsageError(
                "the headers of a request map have to be strings",
                help='for example {"Authorization": "$env.TOKEN"}',
            )
        return cls(content.get("body"), headers)

    def render(self, rows: Sequence[Row]) -> Any:
        """The body of a request about some rows; about one where ``row_by_row``."""
        if self.body is None:
            several = any(len(row) != 1 for row in rows)
            return _filled({"inputs": "$rows" if several else "$texts"}, rows)
        return _filled(self.body, rows)

    @property
    def allowed(self) -> str:
        """Advice where the endpoint says that whoever asks is not allowed to."""
        if self.headers:
            return (
                f"check that the headers of the request map ({', '.join(self.headers)}) are right "
                "and give access to this model"
            )
        return (
            'send a key in a header: --request-map \'{"headers": {"Authorization": '
            '"$env.TOKEN"}}\', with its whole value (Bearer …) in the environment variable TOKEN'
        )

    @property
    def secrets(self) -> list[str]:
        """The words of headers that stand in the environment, and long ones where names say so."""
        return [
            word
            for name, value in self.sent_headers().items()
            for word in value.split()
            if (
                word.lower() not in _SCHEMES
                if self.headers[name].startswith(ENVIRONMENT)
                else _SECRET.search(name) and len(word) >= LONG_SECRET
            )
        ]

    def sent_headers(self) -> dict[str, str]:
        """The headers, with the values that stand in the environment."""
        return {
            name: from_environment(value, whose=f"the header {name}")
            for name, value in self.headers.items()
        }


@dataclass(frozen=True, slots=True)
class ResponseMap:
    """Where the labels are: JSON pointers (RFC 6901), ``*`` for every element of a list."""

    labels: str = _LABELS  # leads to one label for each row
    # Label in the response → label in the data; empty where they are the same.
    names: Mapping[str, str] = field(default_factory=dict)
    confidences: str = ""  # how sure the model is of each, from 0.0 to 1.0; empty: it does not say

    def __post_init__(self) -> None:
        for pointer in (self.labels, self.confidences):
            if pointer and not pointer.startswith("/"):
                raise UsageError(
                    f"{pointer!r} is not a JSON pointer",
                    help="begin it with a slash, as in /predictions/*/label; an empty one is the "
                    "whole body",
                )

    @classmethod
    def read(cls, source: str) -> ResponseMap:
        """Read a JSON pointer, a .toml or .json file, or JSON with the fields' names as keys."""
        if not source or (source.startswith("/") and not is_map_file(source)):
            return cls(source)
        keys = ("labels", "names", "confidences")
        content = read_map(source, "response map", keys, also=", or a pointer such as /labels/*")
        labels, names = content.get("labels", _LABELS), content.get("names", {})
        confidences = content.get("confidences", "")
        texts = [labels, confidences, *names.values()] if isinstance(names, dict) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise UsageError(
                "the pointers and names of a response map have to be strings",
                help='for example {"labels": "/predictions", "names": {"1": "positive"}}',
            )
        return cls(labels, names, confidences)

    def named(self, label: str, *, comparison: Comparison = "exact") -> str:
        """A label of the response as the data calls it; of a set or of entities, each of them."""
        if not self.names:
            return label
        if comparison in ("set", "entities"):
            return with_each_label(label, self.named, comparison)
        if label not in self.names:
            raise ModelError(
                f"the response has the label {label!r}, which the response map does not name",
                help=f"it names {', '.join(self.names)}: add this one",
            )
        return self.names[label]


def resolve_pointer(document: Any, pointer: str) -> Any:
    """What a JSON pointer leads to: a list where it has a ``*``."""

    def at(value: Any, steps: Sequence[str]) -> Any:
        if not steps:
            return value
        first, *rest = steps
        if isinstance(value, list) and first == "*":
            return [at(element, rest) for element in value]
        if isinstance(value, dict) and first in value:
            return at(value[first], rest)
        if isinstance(value, list) and first.isdecimal() and int(first) < len(value):
            return at(value[int(first)], rest)
        shown = json.dumps(document, ensure_ascii=False)
        raise ModelError(
            f"the response has nothing at {pointer or 'its root'}: there is no {first!r} in "
            f"{shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}",
            help="say where the labels are with --response-map, as in /predictions/*/label, or "
            "/*/0/label if each row has a list of them, best first",
        )

    parts = pointer.split("/")[1:]
    return at(document, [part.replace("~1", "/").replace("~0", "~") for part in parts])


def _placeholders(template: Any) -> list[str]:
    """The placeholders of a template, checked; ``$each`` counts as one, whatever is in it."""
    if isinstance(template, dict) and _EACH in template:
        if len(template) > 1:
            raise UsageError(
                f"the body of the request has something beside {_EACH}: "
                f"{', '.join(map(repr, template.keys() - {_EACH}))}",
                help=f'what each row gets stands in it: {{"{_EACH}": {{…}}}}',
            )
        if not _placeholders(template[_EACH]):
            raise UsageError(
                f"{_EACH} has no placeholder in it, so all rows would be the same",
                help=f'write $text, $row or $column.NAME in it: {{"{_EACH}": "$text"}}',
            )
        return [_EACH]
    inside = list(template.values()) if isinstance(template, dict) else template
    if isinstance(inside, list):
        return [name for element in inside for name in _placeholders(element)]
    if not isinstance(inside, str) or not inside.startswith("$") or inside.startswith("$$"):
        return []
    if inside in (_COLUMN, _PICTURE) or not (inside in (*_MANY, *_ONE) or _of_column(inside)):
        raise UsageError(
            f"the body of the request has {inside!r}, which is not a placeholder",
            help=f"write {_PLACEHOLDERS}; for a dollar at the start of a text, write $$",
        )
    return [inside]


def _filled(template: Any, rows: Sequence[Row]) -> Any:
    if isinstance(template, list):
        return [_filled(element, rows) for element in template]
    if isinstance(template, dict):
        if template.keys() == {_EACH}:
            return [_filled(template[_EACH], [row]) for row in rows]
        return {name: _filled(element, rows) for name, element in template.items()}
    if not isinstance(template, str) or not template.startswith("$"):
        return template
    if template.startswith("$$"):
        return template[1:]
    if template == "$texts":
        return [_only_text(row) for row in rows]
    if template == "$rows":
        return [dict(row) for row in rows]
    if template == "$text":
        return _only_text(rows[0])
    return dict(rows[0]) if template == "$row" else _column(rows[0], template)


def _only_text(row: Row) -> str:
    if len(row) != 1:
        raise ModelError(
            f"the request sends one text per row, but rows have the columns {', '.join(row)}",
            help="write $rows, $row or $column.NAME in the request map",
        )
    return next(iter(row.values()))


def _column(row: Row, placeholder: str) -> str:
    name = placeholder.removeprefix(_COLUMN).removeprefix(_PICTURE)
    if name not in row:
        raise ModelError(
            f"the request sends {placeholder}, but the rows have {', '.join(row)}",
            help="name a column of the rows in the request map",
        )
    return encoded_picture(row[name]) if placeholder.startswith(_PICTURE) else row[name]


def _of_column(placeholder: str) -> bool:
    return placeholder.startswith((_COLUMN, _PICTURE))


def is_map_file(source: str) -> bool:
    """Whether a map is the name of a file, and not the map itself."""
    return source.endswith((".toml", ".json"))


def from_environment(value: str, *, whose: str) -> str:
    """A text as it stands, or for ``$env.NAME`` what that variable of the environment holds.

    White space around it is not part of it: a secret in a file often ends with a line break.
    """
    variable = value.removeprefix(ENVIRONMENT)
    if variable == value:
        return value
    held = os.environ.get(variable, "").strip()
    if not held:
        raise UsageError(
            f"{whose} needs the environment variable {variable}, which is "
            + ("empty" if variable in os.environ else "not set"),
            help=f"export {variable}=… before running sears",
        )
    return held


def require_json(value: Any, *, whose: str) -> None:
    """Refuse what JSON cannot say: a date, which TOML has, or a number that is not finite."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{whose} cannot be sent as JSON: {error}",
            help="write texts, finite numbers, true, false, lists and tables of these",
        ) from error


def read_map(source: str, noun: str, keys: Sequence[str], *, also: str = "") -> dict[str, Any]:
    """Read a table with some of the keys from a .toml or .json file, or from JSON.

    ``also`` is what else may be written, for advice.
    """
    is_file = is_map_file(source)
    where = f"the {noun} {source}" if is_file else f"the {noun}"
    try:
        text = read_document(Path(source)).decode() if is_file else source
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise UsageError(
            f"{where} cannot be read: {reason}", help="name a file of UTF-8 text that is there"
        ) from error
    try:
        content = tomllib.loads(text) if source.endswith(".toml") else json.loads(text)
    except (ValueError, RecursionError) as error:
        is_name = not is_file and not source.lstrip().startswith(("{", "["))
        why = "it is neither JSON nor the name of a .toml or .json file" if is_name else error
        advice = (
            "put the file right at that place" if is_file
            else f"name a .toml or .json file, or write JSON{also}"
        )  # fmt: skip
        raise UsageError(f"{where} cannot be read: {why}", help=advice) from error
    unknown = sorted(set(content) - set(keys)) if isinstance(content, dict) else ["no object"]
    if unknown:
        raise UsageError(
            f"{where} has {', '.join(map(repr, unknown))}", help=f"it may have {', '.join(keys)}"
        )
    return content


_ROWS_A_REQUEST = 64


class HttpPredictor(AnsweringPredictor):
    """An endpoint as a predictor, whose connections are closed when it is dropped.

    Without maps, it gets ``{"inputs": [text, …]}`` and answers ``{"predictions": [label, …]}``.
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
                f"each row has a request of its own, but the response map {many[0]} "
                f"looks for many labels",
                help="point at one label, as in /label, or send many rows with $texts or $rows",
            )
        self._posting = Posting(
            url,
            headers=self._request.sent_headers(),
            secrets=self._request.secrets,
            takes="check the path, and that the endpoint takes what --request-map sends",
            allowed=self._request.allowed,
            **waits,
        )
        self.connections = self._posting.connections
        # The identity has the address without what may be secret, and a hash of these settings.
        settings = [
            str(self._posting.url), self._request.body, self._response.labels,
            dict(self._response.names),
        ]  # fmt: skip
        if self._response.confidences:
            settings.append(self._response.confidences)
        content = json.dumps(settings, sort_keys=True).encode()
        digest = blake2b(content, digest_size=6).hexdigest()
        self._identity = f"{self._posting.place} ({digest})"

    @property
    def batch_size(self) -> int:
        """64 rows a request, or one where each row has its own."""
        return 1 if self._request.row_by_row else _ROWS_A_REQUEST

    @property
    def remarks(self) -> list[str]:
        """How often it had to be asked again, and why."""
        return self._posting.remarks

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The labels of the endpoint, with confidences where the map says where they are."""
        if not rows:
            return []
        one_by_one = self._request.row_by_row
        documents = [self._ask([row]) for row in rows] if one_by_one else [self._ask(rows)]
        place, labels = self._posting.place, self._at(self._response.labels, documents)
        answers = answers_of(place, rows, labels, comparison=self._comparison)
        named = partial(self._response.named, comparison=self._comparison)
        if not self._response.confidences:
            return [Answer(named(label), sure) for label, sure in answers]
        values = self._at(self._response.confidences, documents)
        if not isinstance(values, list) or len(values) != len(rows):
            raise ModelError(
                f"{place} did not return a confidence for each label: "
                f"{self._response.confidences} leads to {str(values)[:_SHOWN]}",
                help="both pointers of --response-map have to lead to lists of equal length",
            )
        return [
            Answer(named(answer.label), checked_confidence(place, row, value))
            for answer, row, value in zip(answers, rows, values, strict=True)
        ]

    def _at(self, pointer: str, documents: Sequence[Any]) -> Any:
        """What a pointer leads to in one document about all rows, or in one for each row."""
        values = [resolve_pointer(document, pointer) for document in documents]
        return values if self._request.row_by_row else values[0]

    def _ask(self, rows: Sequence[Row]) -> Any:
        """The document that the endpoint sends for the rows."""
        return self._posting.ask(self._request.render(rows), rows)
