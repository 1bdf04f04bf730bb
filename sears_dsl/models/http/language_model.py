"""A language model behind an OpenAI-compatible endpoint, one prompt a row.

Always holds: temperature 0 where the settings do not say otherwise; an answer that names no label,
or several, refuses its row and is never guessed at; tokens are those that the endpoint says, and
those of which it does not are not counted; an answer that the cache has is not asked for again.
Costs what tokens cost, which is told before (`forecast`) and after (`remarks`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Unpack

from sears_dsl.errors import ModelError, counted
from sears_dsl.models.cached import PredictionStore
from sears_dsl.models.http.posting import Posting, Waits
from sears_dsl.models.http.prompts import PromptSettings
from sears_dsl.models.predictor import Row, RowsRefused, excerpt, quoted, row_key

# What tokens of English have on average, by the tokenizers that are in use; only for forecasts.
_CHARACTERS_A_TOKEN = 4
# What a message brings beside its text.
_TOKENS_A_MESSAGE = 4
# A question that took more tokens than this is not counted, but a lie.
_MOST_COUNTED = 10**8
_SHOWN = 200


class LanguageModel:
    """A language model as a predictor; close it, or let it go."""

    batch_size = 1

    def __init__(self, settings: PromptSettings, **waits: Unpack[Waits]) -> None:
        self._settings = settings
        own: Waits = {
            "timeout": settings.timeout,
            "retries": settings.retries,
            "connections": settings.connections,
        }
        own.update(waits)
        self._posting = Posting(settings.url, headers=settings.headers, **own)
        self.connections = self._posting.connections
        self._cache = PredictionStore(Path(settings.cache)) if settings.cache else None
        self._counting = Lock()
        self._question_count = self._remembered = self._uncounted = self._sent = self._received = 0
        self._answered_by: set[str] = set()

    @property
    def identity(self) -> str:
        """Its name and address without what may be secret, and a hash of all that it is asked."""
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
        texts = [settings.filled(row) for row in rows]
        messages = 2 if settings.system else 1
        characters = sum(map(len, texts)) + len(settings.system) * len(rows)
        sent = characters // _CHARACTERS_A_TOKEN + messages * _TOKENS_A_MESSAGE * len(rows)
        received = settings.most_tokens * len(rows)
        cost = settings.price and f": about {settings.price.describe_cost(sent, received)} at most"
        return (
            f"{self._name}: {counted(len(rows), 'question')}, about {sent:,} tokens there and "
            f"at most {received:,} back{cost or ', at a price that the settings do not say'}"
        )

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """The labels that its answers name; the answers themselves where there are no labels."""
        return [self._label(row) for row in rows]

    def close(self) -> None:
        """Close the connections and the cache."""
        self._posting.close()
        if self._cache is not None:
            self._cache.close()

    @property
    def _name(self) -> str:
        return f"{self._settings.model} at {self._posting.place}"

    def _label(self, row: Row) -> str:
        body = self._settings.body(row)
        request = json.dumps([self._settings.url, body], sort_keys=True).encode()
        key = blake2b(request, digest_size=16).hexdigest()
        known = {} if self._cache is None else self._cache.get(self._name, [key])
        if key in known:
            with self._counting:
                self._remembered += 1
        answer = known[key] if key in known else self._ask(body, row)
        label = self._settings.label(answer)
        if label is None:
            raise RowsRefused(
                f"{self._name} answered {quoted(answer, most=_SHOWN)}, which "
                + ("names none or several of its labels" if self._settings.labels else "is empty")
                + f"\n  asked about {excerpt(row)}",
                help="say in the prompt that one word is wanted, and in the settings which words "
                "are labels; --on-error skip leaves such rows out",
            )
        if self._cache is not None and not known:
            self._cache.put(self._name, {key: answer})
        return label

    def _ask(self, body: dict[str, Any], row: Row) -> str:
        """What the model says."""
        document = self._posting.ask(
            body,
            about=excerpt(row),
            key=row_key(row),
            takes="does the endpoint have this model, and take these parameters?",
            allowed=self._settings.allowed,
        )
        if isinstance(document, dict) and document.get("error"):
            raise ModelError(
                f"{self._name} answered that it failed: "
                f"{quoted(_as_json(document['error']), most=_SHOWN)}",
                help="that is its own word: what it names has to be mended there, or in the "
                "settings",
            )
        self._count(document)
        choices = _at(document, "choices")
        if isinstance(choices, list) and len(choices) > 1:
            raise ModelError(
                f"{self._name} gave {len(choices):,} answers to one question: "
                f"{quoted(_as_json(document), most=_SHOWN)}",
                help="one is wanted, and none of several is chosen for you: leave n out of the "
                "parameters",
            )
        choice = _at(document, "choices", 0)
        answer = _at(choice, "message", "content")
        reason = _at(choice, "finish_reason")
        if reason == "content_filter" or _at(choice, "message", "refusal"):
            raise RowsRefused(
                f"{self._name} will not answer\n  asked about {excerpt(row)}",
                help="--on-error skip leaves such rows out",
            )
        if reason == "length" and (not isinstance(answer, str) or not answer.strip()):
            raise ModelError(
                f"{self._name} had said nothing when it came to the end of its "
                f"{self._settings.most_tokens} tokens",
                help="one that thinks first needs more: parameters = { max_tokens = 2000 }",
            )
        if not isinstance(answer, str):
            raise ModelError(
                f"{self._name} answered without a text at /choices/0/message/content: "
                f"{quoted(_as_json(document), most=_SHOWN)}",
                help="does the address speak the protocol of chat completions?",
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
            sentence += f": {self._sent:,} tokens there and {self._received:,} back"
            sentence += f", {price.describe_cost(self._sent, self._received)}" if price else ""
        if self._uncounted:
            sentence += (
                f"; of {self._uncounted:,} the endpoint did not say how many tokens they took"
            )
        return sentence


def _at(document: Any, *way: str | int) -> Any:
    """What stands at the end of a way through JSON; None where the way ends before."""
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
