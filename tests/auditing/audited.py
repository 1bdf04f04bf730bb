"""A model whose flips are known by construction, and data to audit it on."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from sears_dsl.auditing.audit import AuditChoices, Circumstances, audit
from sears_dsl.auditing.document import AuditDocument
from sears_dsl.auditing.gates import Gates
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.rule_effects import Effects, rule_effects
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.predictor import Answer, Row
from sears_dsl.tagging.pinned import PinnedTagger

__all__ = ["Known", "audited", "effects_of", "rows_of", "sample_audit"]

RULES = parse("rule film: movie -> film\nrule show: play -> show\n", path="known.sear")


def rows_of(kinds: str, *, word: str = "movie") -> LabelledRows:
    """A row a letter: f flips, k is kept, g is wrong and becomes right, w stays wrong; all "yes".

    Example:
        >>> rows_of("kf").texts
        ['row 0 k movie', 'row 1 f movie']
    """
    rows = tuple({"text": f"row {place} {kind} {word}"} for place, kind in enumerate(kinds))
    return LabelledRows(rows, "text", (("yes",),) * len(rows), "known.csv")


class Known:
    """Reads its answer in the row itself; a row with ``movie`` or ``play`` is unchanged."""

    identity = "known"

    def __init__(self, *, sure: tuple[float, float] | None = None) -> None:
        self.sure = sure
        self.asked = 0

    def predict(self, rows: Sequence[Row]) -> list[str]:
        return [answer.label for answer in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        self.asked += len(rows)
        return [self._answer(row["text"]) for row in rows]

    def _answer(self, text: str) -> Answer:
        *_, kind, word = text.split()
        untouched = word in ("movie", "play")
        good = kind in ("kf" if untouched else "kg")
        confidence = None if self.sure is None else self.sure[0 if untouched else 1]
        return Answer("yes" if good else "no", confidence)


def effects_of(
    data: LabelledRows, *, rules: Ruleset = RULES, sure: tuple[float, float] | None = None
) -> Effects:
    return rule_effects(compile_rules([rules], tagger=PinnedTagger()), data, Known(sure=sure))


def audited(
    data: LabelledRows,
    *,
    rules: Ruleset = RULES,
    gates: Gates = Gates(),  # noqa: B008 - a frozen value
    sure: tuple[float, float] | None = None,
    columns: dict[str, list[object]] | None = None,
) -> AuditDocument:
    who = Circumstances(rulesets=(rules,), model="known", tagger="pinned",
                        choices=AuditChoices(label="label"))  # fmt: skip
    effects = effects_of(data, rules=rules, sure=sure)
    return audit(effects, circumstances=who, gates=gates, columns=columns)


_OPENINGS = ("A", "This", "Another", "Such a", "One more", "The most")
_WORDS = {
    "good": ("charming", "clever", "moving", "fresh", "lovely", "gripping", "bright"),
    "bad": ("dull", "clumsy", "stale", "flat", "tired", "hollow", "noisy"),
}
_THINGS = ("movie", "film", "story", "picture", "script", "comedy")
_SAMPLE = parse(
    """\
ruleset reviews 1.2.0

rule movie-film: movie -> film
  severity: high
  tags: words
  why: "Reviewers use both words alike."

rule film-movie: film -> movie
  tags: words

rule story: story -> tale

rule it-is: it is -> it's
  tags: contractions

rule comma: , -> ;
  severity: low

rule very: very -> really

rule comedy: comedy -> romp

rule not: is -> is not
  expect: flip
""",
    path="reviews.sear",
)


class Critic:
    """Reads the mood from a word, and fails on some words next to it; the same in every run."""

    identity = "demo:critic"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        return [answer.label for answer in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        return [self._answer(row["text"]) for row in rows]

    def _answer(self, text: str) -> Answer:
        noise = crc32(text.encode()) % 1000 / 1000
        good = any(word in text for word in _WORDS["good"]) != (" not " in text and noise < 0.55)
        odds = 0.06 + 0.16 * (" film" in text) + 0.2 * ("tale" in text) + 0.04 * ("really" in text)
        if noise > 1 - odds:
            good = not good
        return Answer("positive" if good else "negative", round(0.62 + 0.37 * noise, 3))


def sample_audit() -> AuditDocument:
    """An audit for display: six hundred reviews, some rules, all kinds of outcomes."""
    draw = np.random.default_rng(5)
    texts, labels = [], []
    for _ in range(600):
        mood = str(draw.choice(["good", "bad"]))
        opening, word = str(draw.choice(_OPENINGS)), str(draw.choice(_WORDS[mood]))
        thing = str(draw.choice(_THINGS, p=(0.3, 0.25, 0.2, 0.15, 0.08, 0.02)))
        very = "very " if draw.random() < 0.2 else ""
        texts.append(f"{opening} {very}{word} {thing}, and it is {draw.integers(80, 180)} minutes.")
        labels.append(("positive" if mood == "good" else "negative",))
    source = [str(each) for each in draw.choice(["festival", "press", "audience"], 600)]
    data = LabelledRows(
        tuple({"text": text} for text in texts), "text", tuple(labels), "reviews.csv"
    )
    effects = rule_effects(compile_rules([_SAMPLE], tagger=PinnedTagger()), data, Critic())
    who = Circumstances(rulesets=(_SAMPLE,), model="demo:critic", tagger="pinned",
                        choices=AuditChoices(label="label"))  # fmt: skip
    gates = Gates(flip_rate=0.15, miss_rate=0.5, support=30)
    return audit(effects, circumstances=who, gates=gates, columns={"source": source})
