r"""A language model behind an OpenAI-compatible endpoint, one prompt a row, by a settings file.

    address = "http://localhost:8000/v1"      # /chat/completions is put behind it
    model = "small"
    prompt = "Is this review positive or negative? One word.\n\n$text"
    labels = ["positive", "negative"]         # or {Yes = "1", No = "0"}: word = label in the data
    key = "$env.SMALL_KEY"                    # keys stand in the environment, nowhere else

Always holds: the temperature is 0 unless the settings say otherwise. A prompt is filled in one
pass, so that a text with a placeholder in it stays a text. An answer that names no label, or
several, refuses its row and is never guessed at; so does one that denies the label or makes it part
of a longer word. Tokens are counted as the endpoint reports them, or not at all. An answer in the
cache is not asked for again. `forecast` says before what the tokens will cost, and `remarks`
afterwards what they cost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import Any, Unpack, cast

from sears_dsl.errors import ModelError, UsageError, counted
from sears_dsl.models.cached import PredictionStore
from sears_dsl.models.http.endpoint import (
    ENVIRONMENT,
    from_environment,
    is_map_file,
    read_map,
    require_json,
)
from sears_dsl.models.http.posting import Posting, Waits
from sears_dsl.models.predictor import Row, RowsRefused, excerpt, quoted

_TEXTS = ("address", "model", "prompt", "system", "key", "cache")
_WAITS = ("timeout", "retries", "connections")
_KEYS = ("address", "model", "prompt", "labels", *_TEXTS[3:], "parameters", "price", *_WAITS)
_PLACEHOLDER = re.compile(r"\$(\$|text\b|row\b|column\.([\w-]+))")
_MILLION = 1_000_000

MOST_TOKENS = 64
"""Room for a label with a sentence around it."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, sent (``input``) and coming back (``output``)."""

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
    system: str = ""  # what is said before the prompt; empty for nothing
    # Word in the answer → label in the data; empty takes the answer as it is.
    labels: Mapping[str, str] = field(default_factory=dict)
    key: str = ""  # $env.NAME, a variable of the environment that holds the key; empty for none
    # What else is sent, with temperature 0 where they do not say.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    price: Prices | None = None  # of a million tokens; None where nobody said
    cache: str = ""  # a file that keeps answers from run to run; empty for none
    room: int = MOST_TOKENS  # tokens that an answer may have where the parameters do not say
    waits: Waits = field(default_factory=Waits)  # how long, how often, how many at once

    def __post_init__(self) -> None:
        if not (self.address and self.model):
            problem = "a language model needs an address and a name"
            advice = 'for example address = "http://localhost:8000/v1" and model = "small"'
        elif not any(each[1] != "$" for each in _PLACEHOLDER.finditer(self.prompt)):
            problem = "the prompt has no placeholder for the row"
            advice = "write $text, $column.NAME or $row in it"
        elif self.key and not self.key.startswith(ENVIRONMENT):
            problem = "the settings of the language model hold the key itself"
            advice = 'put it into an environment variable: key = "$env.NAME"'
        elif "@" in self.address.partition("://")[2].partition("/")[0]:
            problem = "the address of a language model has a password in it"
            advice = 'put the key into an environment variable: key = "$env.NAME"'
        elif alike := _alike(self.labels):
            problem = f"the labels {alike[0]!r} and {alike[1]!r} of a language model are one word"
            advice = "case does not count in answers: write words that differ in their letters"
        else:
            require_json(self.parameters, whose="the parameters of the language model")
            return
        raise UsageError(problem, help=advice)

    @classmethod
    def read(
        cls,
        source: str,
        *,
        prompt: str | None = None,
        labels: Mapping[str, str] | None = None,
        room: int | None = None,
    ) -> PromptSettings:
        """Read a .toml or .json file, beside which a ``cache`` lies, or JSON.

        The other arguments count where the settings do not say.
        """
        content = read_map(source, "settings of a language model", _KEYS)
        content.setdefault("prompt", prompt)
        texts = {name: content.get(name, "") for name in _TEXTS}
        wrong = [name for name, value in texts.items() if not isinstance(value, str)]
        if wrong:
            raise UsageError(
                f"the settings of the language model have no text in {', '.join(wrong)}",
                help="address, model and prompt are needed; the prompt of a model under test asks "
                "about a row, as in 'Positive or negative? $text'",
            )
        if texts["cache"]:
            if Path(texts["cache"]).name != texts["cache"]:
                raise UsageError(
                    f"the cache {texts['cache']!r} is not a file name",
                    help="it lies beside the settings; give its name without a folder",
                )
            beside = Path(source).parent if is_map_file(source) else Path()
            texts["cache"] = str(beside / texts["cache"])
        parameters = content.get("parameters", {})
        if not isinstance(parameters, dict) or {"model", "messages", "stream"} & set(parameters):
            raise UsageError(
                "parameters has to be a table of what is sent beside model and messages",
                help="for example parameters = { max_tokens = 8 }",
            )
        return cls(
            **texts,
            waits=cast("Waits", {name: content[name] for name in _WAITS if name in content}),
            labels=_labels(content.get("labels", labels or {})),
            parameters=parameters,
            price=_prices(content.get("price")),
            room=room or MOST_TOKENS,
        )

    @property
    def url(self) -> str:
        """Where prompts are posted."""
        bare, mark, query = self.address.partition("?")
        whole = bare.rstrip("/")
        return (whole if whole.endswith(_PATH) else whole + _PATH) + mark + query

    @property
    def allowed(self) -> str:
        """Advice where the endpoint says that whoever asks is not allowed to."""
        if self.key:
            variable = self.key.removeprefix(ENVIRONMENT)
            return f"check that the key in {variable} is right and gives access to this model"
        return (
            "put the key into an environment variable, and name it in the settings: key = "
            '"$env.NAME"'
        )

    @property
    def headers(self) -> dict[str, str]:
        """The headers to send: the key from the environment, if there is one."""
        key = self.key and from_environment(self.key, whose="the key of the language model")
        return {"Authorization": f"Bearer {key}"} if key else {}

    @property
    def most_tokens(self) -> int:
        """The most tokens that an answer may have."""
        limits = [self.parameters.get(name) for name in ("max_tokens", "max_completion_tokens")]
        return next((each for each in limits if isinstance(each, int)), self.room)

    def body(self, row: Row) -> dict[str, Any]:
        """The request about a row."""
        messages = [{"role": "user", "content": self.prompt_for(row)}]
        if self.system:
            messages.insert(0, {"role": "system", "content": self.system})
        sent = {"model": self.model, "messages": messages, "temperature": 0, **self.parameters}
        if "max_completion_tokens" not in sent:
            sent.setdefault("max_tokens", self.room)
        return sent

    def prompt_for(self, row: Row) -> str:
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
                    f"the prompt asks for {match[0]}, but the rows have {', '.join(row)}",
                    help="write $column.NAME with one of these",
                )
            return row[name]

        return _PLACEHOLDER.sub(part, self.prompt)

    def label(self, answer: str) -> str | None:
        """The label that an answer names; None where it names none, or several."""
        if not self.labels:
            return answer.strip() or None
        labels_by_word = {_folded(word): label for word, label in self.labels.items()}
        # Marks around an answer do not count, except those that labels begin or end with: "(A)".
        own = {mark for word in labels_by_word for mark in (word[0], word[-1])}
        whole = _folded(answer).strip("".join(_MARKS - own))
        if whole in labels_by_word:
            return labels_by_word[whole]
        # Of "not toxic" and "toxic" the longer one is meant where both could be.
        words = "|".join(re.escape(word) for word in sorted(labels_by_word, key=len, reverse=True))
        mention = re.compile(rf"(?<!\w)(?:{words})(?!\w)")
        mentions = set(mention.findall(whole))
        unclear = len(mentions) != 1 or _UNCLEAR.search(mention.sub(_marked, whole))
        return None if unclear else labels_by_word[mentions.pop()]


def _folded(text: str) -> str:
    """A text as words of answers are compared: bare, without case, with straight apostrophes."""
    return text.strip().casefold().replace("’", "'").replace("ʼ", "'")


_MARKS = frozenset(" \t\r\n*_`'\"“”‘.,:;!()[]{}<>")

# What stands for a label in an answer: for a word, and for one that ends in a digit.
_WORD, _NUMBER = "\0", "\x01"


def _marked(mention: re.Match[str]) -> str:
    return _NUMBER if mention[0][-1].isdigit() else _WORD


_NEGATION = (
    r"(?:\b(?:no|not|cannot|neither|nor|none|never|nothing|without|hardly|barely|scarcely)|n't)\b"
    r"(?! (?:a |any )?doubt)"
)
# What an answer that mentions a label must not have around it: a negation in the same clause, or
# more of the same word or number, as in "non-negative" and "4.5". Before the label a comma ends no
# clause, as in "No, positive is wrong"; behind it one does, as in "Positive, not a dull moment".
_UNCLEAR = re.compile(
    rf"{_NEGATION}[^.;:!?\n]*[\0\x01]|[\0\x01][^.,;:!\n]*{_NEGATION}"
    r"|\w[-‐‑−][\0\x01]|[\0\x01][-‐‑]\w|[-‐‑−]\x01|\d[.,/]\x01|\x01[.,/]\d"
)

_PATH = "/chat/completions"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _labels(value: object) -> dict[str, str]:
    """The words of answers, each with its label in the data."""
    pairs = dict(zip(value, value, strict=True)) if isinstance(value, list) else value
    if not isinstance(pairs, dict) or not all(
        isinstance(text, str) and text.strip() for pair in pairs.items() for text in pair
    ):
        raise UsageError(
            "the labels of a language model have to be strings",
            help='write labels = ["positive", "negative"] or labels = {Yes = "1", No = "0"}',
        )
    return pairs


def _alike(labels: Mapping[str, str]) -> tuple[str, str] | None:
    """Two words that answers do not distinguish and that stand for different labels, if any."""
    first: dict[str, str] = {}
    for word, label in labels.items():
        before = first.setdefault(_folded(word), word)
        if labels[before] != label:
            return before, word
    return None


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
            help='for a million tokens: price = { input = 0.15, output = 0.6, currency = "USD" }',
        )
    return Prices(value["input"], value["output"], str(value.get("currency", "USD")))


# Characters that an English token has on average in tokenizers of today; only for forecasts.
_CHARACTERS_A_TOKEN = 4
# Tokens of a message besides those of its text.
_TOKENS_A_MESSAGE = 4
# A larger number of tokens for one question is not believed.
_MOST_COUNTED = 10**8
_SHOWN = 200


class LanguageModel:
    """A language model as a predictor, whose connections are closed when it is dropped."""

    batch_size = 1

    def __init__(self, settings: PromptSettings, **waits: Unpack[Waits]) -> None:
        self._settings = settings
        own: Waits = {**settings.waits, **waits}
        headers = settings.headers
        # The words of the key, without "Bearer".
        secrets = [word for value in headers.values() for word in value.split()[1:]]
        self._posting = Posting(
            settings.url,
            headers=headers,
            secrets=secrets,
            takes="check that the endpoint has this model and takes these parameters",
            allowed=settings.allowed,
            **own,
        )
        self.connections = self._posting.connections
        self._cache = PredictionStore(Path(settings.cache)) if settings.cache else None
        self._counting = Lock()
        self._question_count = self._remembered = self._uncounted = self._sent = self._received = 0
        self._answered_by: set[str] = set()

    @property
    def identity(self) -> str:
        """Its name and address without what may be secret, and a hash of how it is asked."""
        settings = self._settings
        fields = [
            settings.url, settings.model, settings.prompt, settings.system, dict(settings.labels),
            dict(settings.parameters),
        ]  # fmt: skip
        digest = blake2b(json.dumps(fields, sort_keys=True).encode(), digest_size=6).hexdigest()
        return f"{self._name} ({digest})"

    @property
    def labels(self) -> frozenset[str]:
        """The labels that it may give; none where its answers are taken as they are."""
        return frozenset(self._settings.labels.values())

    @property
    def remarks(self) -> list[str]:
        """What it cost, whether another model answered, and how often it was asked again."""
        with self._counting:
            sentences = [self._cost()] if self._question_count or self._remembered else []
            others = sorted(
                each for each in self._answered_by if not each.startswith(self._settings.model)
            )
        if others:
            sentences.append(f"{self._name}: the endpoint says that {', '.join(others)} answered")
        return sentences + self._posting.remarks

    def forecast(self, rows: Sequence[Row]) -> str:
        """What it will cost to ask about rows, by the lengths of their prompts."""
        settings = self._settings
        texts = [settings.prompt_for(row) for row in rows]
        messages = 2 if settings.system else 1
        characters = sum(map(len, texts)) + len(settings.system) * len(rows)
        sent = characters // _CHARACTERS_A_TOKEN + messages * _TOKENS_A_MESSAGE * len(rows)
        received = settings.most_tokens * len(rows)
        cost = settings.price and f": about {settings.price.describe_cost(sent, received)} at most"
        return (
            f"{self._name}: {counted(len(rows), 'question')}, about {sent:,} tokens sent and "
            f"at most {received:,} received{cost or '; the settings name no price'}"
        )

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """The labels that its answers name; the answers themselves where there are no labels."""
        return [self._label(row) for row in rows]

    @property
    def _name(self) -> str:
        return f"{self._settings.model} at {self._posting.place}"

    def _label(self, row: Row) -> str:
        body = self._settings.body(row)
        request = json.dumps([self._settings.url, body], sort_keys=True).encode()
        key = blake2b(request, digest_size=16).hexdigest()
        answer = None if self._cache is None else self._cache.get(self._name, [key]).get(key)
        is_known = isinstance(answer, str)
        if isinstance(answer, str):
            with self._counting:
                self._remembered += 1
        else:
            answer = self._ask(body, row)
        label = self._settings.label(answer)
        if label is None:
            raise RowsRefused(
                f"{self._name} answered {quoted(answer, most=_SHOWN)}, which "
                + ("names none or several of the labels" if self._settings.labels else "is empty")
                + f"\n  asked about {excerpt(row)}",
                help="ask for one word in the prompt, and list in the settings which words are "
                "labels; --on-error skip leaves such rows out",
            )
        if self._cache is not None and not is_known:
            self._cache.put(self._name, {key: answer})
        return label

    def _ask(self, body: dict[str, Any], row: Row) -> str:
        document = self._posting.ask(body, [row])
        if isinstance(document, dict) and document.get("error"):
            raise ModelError(
                f"{self._name} answered with an error: "
                f"{quoted(_as_json(document['error']), most=_SHOWN)}",
                help="the message is the endpoint's; fix what it names there, or in the settings",
            )
        self._count(document)
        choices = _at(document, "choices")
        if isinstance(choices, list) and len(choices) > 1:
            raise ModelError(
                f"{self._name} returned {len(choices):,} answers to one question: "
                f"{quoted(_as_json(document), most=_SHOWN)}",
                help="there has to be one: leave n out of the parameters",
            )
        choice = _at(document, "choices", 0)
        answer = _at(choice, "message", "content")
        if isinstance(answer, str):  # without the thoughts that some put before it, ended or not
            answer = answer.rpartition("</think>")[2]
            answer = "" if answer.lstrip().startswith("<think>") else answer
        reason = _at(choice, "finish_reason")
        if reason == "content_filter" or _at(choice, "message", "refusal"):
            raise RowsRefused(
                f"{self._name} refused to answer\n  asked about {excerpt(row)}",
                help="--on-error skip leaves such rows out",
            )
        if reason == "length" and (not isinstance(answer, str) or not answer.strip()):
            raise ModelError(
                f"{self._name} used up its {self._settings.most_tokens} tokens without an answer",
                help="a model that reasons first needs more: parameters = { max_tokens = 2000 }",
            )
        if not isinstance(answer, str):
            raise ModelError(
                f"{self._name} returned no text at /choices/0/message/content: "
                f"{quoted(_as_json(document), most=_SHOWN)}",
                help="check that the address takes chat completions",
            )
        return answer

    def _count(self, document: Any) -> None:
        sent = _at(document, "usage", "prompt_tokens")
        received = _at(document, "usage", "completion_tokens")
        by = _at(document, "model")
        with self._counting:
            self._question_count += 1
            if _is_count(sent) and _is_count(received):
                self._sent += sent
                self._received += received
            else:
                self._uncounted += 1
            if isinstance(by, str) and by:
                self._answered_by.add(by[:_SHOWN])

    def _cost(self) -> str:
        price = self._settings.price
        sentence = f"{self._name} was asked {counted(self._question_count, 'question')}"
        if self._remembered:
            sentence += f" ({self._remembered:,} more were in {self._settings.cache})"
        if self._question_count > self._uncounted:
            sentence += f": {self._sent:,} tokens sent and {self._received:,} received"
            sentence += f", {price.describe_cost(self._sent, self._received)}" if price else ""
        if self._uncounted:
            sentence += f"; the endpoint gave no token counts for {self._uncounted:,} of them"
        return sentence


def _at(document: Any, *way: str | int) -> Any:
    """What stands at the end of a path through JSON; None where the path breaks off."""
    value = document
    for step in way:
        if isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNTED


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
