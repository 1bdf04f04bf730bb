r"""What a language model is asked, and how its words are read: a settings file.

    address = "http://localhost:8000/v1"      # /chat/completions is put behind it
    model = "small"
    prompt = "Is this review positive or negative? One word.\n\n$text"
    labels = ["positive", "negative"]         # or {Yes = "1", No = "0"}: word = label in the data
    key = "$env.SMALL_KEY"                    # keys stand in the environment, nowhere else

Always holds: a prompt is filled in one pass, so that a text with a placeholder in it stays a text;
an answer is a label only where it names one of them and no other. Costs the size of the texts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.http.endpoint import read_map
from sears_dsl.models.predictor import Row

_KEYS = (
    "address", "model", "prompt", "system", "labels", "key", "parameters", "price", "cache",
    "timeout", "retries", "connections",
)  # fmt: skip
_ENVIRONMENT = "$env."
_PLACEHOLDER = re.compile(r"\$(\$|text\b|row\b|column\.([\w-]+))")
_MILLION = 1_000_000

MOST_TOKENS = 64
"""Room for a label with a sentence around it."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, sent (``input``) and coming back (``output``).

    Example:
        >>> Prices(0.5, 1.5).describe_cost(2_000_000, 100_000)
        '1.15 USD'
    """

    input: float
    output: float
    currency: str = "USD"

    def describe_cost(self, sent: float, received: float) -> str:
        """What so many tokens cost, in words."""
        cost = (sent * self.input + received * self.output) / _MILLION
        return f"{cost:,.2f} {self.currency}" if cost >= 1 else f"{cost:.2g} {self.currency}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """A language model behind an OpenAI-compatible endpoint, and what it is asked.

    In the prompt ``$text`` is a row's text, ``$column.NAME`` the text of a column, ``$row`` all of
    it as JSON, ``$$`` a dollar.
    """

    address: str  # where it is; /chat/completions is put behind it where that is missing
    model: str  # its name there
    prompt: str
    system: str = ""  # said before it; empty for nothing
    # Word in the answer → label in the data; empty takes the answer as it is.
    labels: Mapping[str, str] = field(default_factory=dict)
    key: str = ""  # $env.NAME, a variable of the environment that holds the key; empty for none
    # What else is sent, with temperature 0 where they do not say.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    price: Prices | None = None  # of a million tokens; None where nobody said
    cache: str = ""  # a file that keeps answers from run to run; empty for none
    room: int = MOST_TOKENS  # tokens that an answer may have where the parameters do not say
    timeout: float = 30.0
    retries: int = 3
    connections: int = 4  # questions that may be on their way at the same time

    def __post_init__(self) -> None:
        if not (self.address and self.model):
            raise UsageError(
                "a language model needs an address and a name",
                help='for example address = "http://localhost:8000/v1" and model = "small"',
            )
        if not any(each[1] != "$" for each in _PLACEHOLDER.finditer(self.prompt)):
            raise UsageError(
                "the prompt has no place for the row", help="write $text, $column.NAME or $row"
            )
        if self.key and not self.key.startswith(_ENVIRONMENT):
            raise UsageError(
                "the key of a language model stands in the settings themselves",
                help='put it into a variable of the environment: key = "$env.NAME"',
            )
        if "@" in self.address.partition("://")[2].partition("/")[0]:
            raise UsageError(
                "the address of a language model has a password in it",
                help='put the key into a variable of the environment: key = "$env.NAME"',
            )

    @classmethod
    def read(
        cls,
        source: str,
        *,
        prompt: str | None = None,
        labels: Mapping[str, str] | None = None,
        room: int = MOST_TOKENS,
    ) -> PromptSettings:
        """From the name of a .toml or .json file, beside which a ``cache`` lies, or JSON.

        The other arguments count where the settings do not say.
        """
        content = read_map(source, "settings of a language model", _KEYS)
        content.setdefault("prompt", prompt)
        texts = {name: content.get(name, "") for name in _TEXTS}
        wrong = [name for name, value in texts.items() if not isinstance(value, str)]
        if wrong:
            raise UsageError(
                f"the settings of a language model have no text as {', '.join(wrong)}",
                help="address, model and prompt are needed: the prompt of a model under test is "
                "what it is asked about a row, as in 'Positive or negative? $text'",
            )
        if texts["cache"]:
            if Path(texts["cache"]).name != texts["cache"]:
                raise UsageError(
                    f"the cache {texts['cache']!r} is not a name of a file",
                    help="it lies beside the settings: give its name alone",
                )
            beside = Path(source).parent if source.endswith((".toml", ".json")) else Path()
            texts["cache"] = str(beside / texts["cache"])
        parameters = content.get("parameters", {})
        if not isinstance(parameters, dict) or {"model", "messages", "stream"} & set(parameters):
            raise UsageError(
                "parameters are what is sent beside model and messages",
                help="for example parameters = { max_tokens = 8 }",
            )
        return cls(
            **texts,
            **_waits(content),
            labels=_labels(content.get("labels", labels or {})),
            parameters=parameters,
            price=_prices(content.get("price")),
            room=room,
        )

    @property
    def url(self) -> str:
        """Where prompts are posted."""
        bare, mark, query = self.address.partition("?")
        whole = bare.rstrip("/")
        return (whole if whole.endswith(_PATH) else whole + _PATH) + mark + query

    @property
    def allowed(self) -> str:
        """What to look at where the endpoint says that whoever asks may not."""
        if self.key:
            variable = self.key.removeprefix(_ENVIRONMENT)
            return f"is the key in {variable} right, and may it ask for this model?"
        return (
            "a key stands in a variable of the environment, which the settings name: key = "
            '"$env.NAME"'
        )

    @property
    def headers(self) -> dict[str, str]:
        """With the key from the environment."""
        if not self.key:
            return {}
        variable = self.key.removeprefix(_ENVIRONMENT)
        if not os.environ.get(variable):
            raise UsageError(
                f"the key of the language model is in the environment variable {variable}, "
                "which is not set",
                help=f"export {variable}=… before running sears",
            )
        return {"Authorization": f"Bearer {os.environ[variable]}"}

    @property
    def most_tokens(self) -> int:
        """So many an answer has at most."""
        limits = [self.parameters.get(name) for name in ("max_tokens", "max_completion_tokens")]
        return next((each for each in limits if isinstance(each, int)), self.room)

    def body(self, row: Row) -> dict[str, Any]:
        """The request about a row."""
        messages = [{"role": "user", "content": self.filled(row)}]
        if self.system:
            messages.insert(0, {"role": "system", "content": self.system})
        sent = {"model": self.model, "messages": messages, "temperature": 0, **self.parameters}
        if "max_completion_tokens" not in sent:
            sent.setdefault("max_tokens", self.room)
        return sent

    def filled(self, row: Row) -> str:
        """The prompt about a row."""

        def part(match: re.Match[str]) -> str:
            if match[1] == "$":
                return "$"
            if match[1] == "row":
                return json.dumps(dict(row), ensure_ascii=False)
            if match[2] is None and len(row) == 1:
                return next(iter(row.values()))
            name = match[2] or "text"
            if name not in row:
                raise ModelError(
                    f"the prompt asks for {match[0]} and the rows have {', '.join(row)}",
                    help="write $column.NAME with one of these",
                )
            return row[name]

        return _PLACEHOLDER.sub(part, self.prompt)

    def label(self, answer: str) -> str | None:
        """The label that an answer names; None where it names none, or several."""
        if not self.labels:
            return answer.strip() or None
        labels_by_word = {word.casefold(): label for word, label in self.labels.items()}
        whole = answer.casefold().strip(" \t\r\n*_`'\"“”‘’.,:;!()[]{}<>")
        if whole in labels_by_word:
            return labels_by_word[whole]
        # Of "very negative" and "negative" the longer one is meant where both could be.
        words = "|".join(re.escape(word) for word in sorted(labels_by_word, key=len, reverse=True))
        mentions = {each[0] for each in re.finditer(rf"(?<!\w)(?:{words})(?!\w)", whole)}
        refused = re.search(r"\b(?:not|neither|nor|never)\b|n't\b", whole)
        return labels_by_word[mentions.pop()] if len(mentions) == 1 and not refused else None


_TEXTS = ("address", "model", "prompt", "system", "key", "cache")
_PATH = "/chat/completions"


_NUMBERS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "timeout": ("seconds above 0", 60),
        "retries": ("a whole number from 0 on", 5),
        "connections": ("a whole number from 1 on", 2),
    }
)
"""What each number of the settings is, and an example."""


def _waits(content: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of `_NUMBERS`, of those that are there."""
    waits = {name: content[name] for name in _NUMBERS if name in content}
    for name, value in waits.items():
        fits = _is_number(value) and (
            value > 0 if name == "timeout" else not value % 1 and value >= (name == "connections")
        )
        if not fits:
            words, example = _NUMBERS[name]
            raise UsageError(
                f"{name} of a language model is {value!r:.80}, not {words}",
                help=f"for example {name} = {example}",
            )
    return {name: value if name == "timeout" else int(value) for name, value in waits.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _labels(value: object) -> dict[str, str]:
    """Words of answers and labels of the data."""
    pairs = dict(zip(value, value, strict=True)) if isinstance(value, list) else value
    if not isinstance(pairs, dict) or not all(
        isinstance(text, str) and text.strip() for pair in pairs.items() for text in pair
    ):
        raise UsageError(
            "the labels of a language model are not texts",
            help='write labels = ["positive", "negative"] or labels = {Yes = "1", No = "0"}',
        )
    return pairs


def _prices(value: object) -> Prices | None:
    if value is None:
        return None
    keys = {"input", "output"}
    numbers = isinstance(value, dict) and all(
        _is_number(value.get(name)) and value[name] >= 0 for name in keys
    )
    if not (isinstance(value, dict) and numbers and set(value) <= {*keys, "currency"}):
        raise UsageError(
            f"{value!r:.80} is not a price",
            help='of a million tokens: price = { input = 0.15, output = 0.6, currency = "USD" }',
        )
    return Prices(value["input"], value["output"], str(value.get("currency", "USD")))
