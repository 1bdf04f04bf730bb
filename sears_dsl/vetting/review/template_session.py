"""Templates as a reviewer reads them: each with a sample of its sentences.

In: a ruleset with templates; questions and decisions, as the page sends them. Out: JSON-able views.
The sample is drawn as `sears generate --limit` draws, so a longer sample begins with the shorter
one. No model is asked, so that its answers sway nobody. The first view of a template costs writing
its sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from sears_dsl.errors import UsageError, counted
from sears_dsl.generating.parts import Numbers
from sears_dsl.generating.sentences import Sentences
from sears_dsl.generating.table import select_sentences
from sears_dsl.language.printer import print_template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.vetting.decisions import TEMPLATE_REASONS, RejectedSentence
from sears_dsl.vetting.journal import Journal
from sears_dsl.vetting.review.sessions import ReviewSession, View, meaningless, rejection, text_of


class TemplateSession(ReviewSession):
    """The work of one reviewer on templates."""

    def __init__(self, ruleset: Ruleset, journal: Journal) -> None:
        super().__init__(journal)
        self.ruleset = ruleset
        self._sentences = {
            name: Sentences(template, ruleset) for name, template in ruleset.named_templates
        }
        self._sample = lru_cache(None)(self._drawn)

    @property
    def left(self) -> int:
        """How many templates were neither accepted nor rejected."""
        return sum(self._verdict(name) in ("", "skip") for name in self._sentences)

    @property
    def progress(self) -> str:
        """How far the reviewer is, in a few words."""
        verdicts = [self._verdict(name) for name in self._sentences]
        return (
            f"{counted(verdicts.count('accept'), 'template')} accepted, "
            f"{verdicts.count('reject')} rejected, {self.left} left, "
            f"{counted(len(self.state.rejected), 'sentence')} rejected"
        )

    def overview(self) -> View:
        """Where the reviewer stands."""
        state = self.state
        items = [
            {
                "id": name,
                "text": print_template(sentences.template),
                "label": sentences.label,
                "verdict": self._verdict(name),
                "rejected": sum(each.template == name for each in state.rejected),
            }
            for name, sentences in self._sentences.items()
        ]
        waiting = [each["id"] for each in items if not each["verdict"]]
        waiting += [each["id"] for each in items if each["verdict"] == "skip"]
        last = state.last.get("read")
        return self.about(self.ruleset, templates=len(items)) | {
            "reasons": dict(TEMPLATE_REASONS),
            "read": {
                "items": items,
                "next": waiting[0] if waiting else None,
                "left": self.left,
                "rejected": len(state.rejected),
                "undo": None if last is None else self._undo(last.content),
                "undo_template": None if last is None else last.content.get("template"),
            },
        }

    def template(self, name: str, *, first: int, most: int) -> View:
        """A template with a part of its sample."""
        sentences = self._known(name)
        sample = self._sample(name)
        verdict = self.state.templates.get(name)
        return {
            "id": name,
            "text": print_template(sentences.template),
            "label": sentences.label,
            "tags": list(sentences.template.metadata.tags),
            "why": sentences.template.metadata.why or "",
            "total": len(sample),
            "verdict": None if verdict is None else asdict(verdict),
            "sentences": [
                {
                    "text": text,
                    "rejected": RejectedSentence(name, text, sentences.label)
                    in self.state.rejected,
                }
                for text in sentences.texts(sample[first : first + most]).tolist()
            ],
        }

    def entry(self, kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """The journal's record of a decision."""
        name = text_of(content, "template")
        sentences = self._known(name)
        if kind == "sentence":
            text, rejected = text_of(content, "text"), content.get("rejected")
            if text not in sentences or not isinstance(rejected, bool):
                raise meaningless("text", text)
            return {"template": name, "text": text, "label": sentences.label, "rejected": rejected}
        if kind != "template":
            raise meaningless("kind", kind)
        verdict = text_of(content, "verdict")
        if verdict not in ("accept", "reject", "skip"):
            raise meaningless("verdict", verdict)
        entry = {"template": name, "text": print_template(sentences.template), "verdict": verdict}
        return entry | (rejection(content, TEMPLATE_REASONS) if verdict == "reject" else {})

    def _verdict(self, name: str) -> str:
        verdict = self.state.templates.get(name)
        return "" if verdict is None else verdict.verdict

    def _undo(self, content: Mapping[str, Any]) -> str:
        """A text for the reviewer that says what undo would take back."""
        verdict = content.get("verdict") or ("reject" if content.get("rejected") else "take back")
        return f"{verdict} {content.get('text', '')}"

    def _known(self, name: str) -> Sentences:
        if name not in self._sentences:
            raise UsageError(f"there is no template {name!r}", help="reload the page")
        return self._sentences[name]

    def _drawn(self, name: str) -> Numbers:
        """A template's distinct sentences in the order in which `sears generate --limit` draws.

        The seed is always 0, so every reviewer sees the same sample.
        """
        sentences = self._sentences[name]
        distinct = sentences.distinct
        return select_sentences([sentences], [distinct], limit=len(distinct))[1]
