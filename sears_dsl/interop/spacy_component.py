"""Rules in a spaCy pipeline: their matches as spans, their rewrites as an extension of the Doc.

    nlp = spacy.load("en_core_web_sm")
    nlp.add_pipe("sears", config={"rules": ["contractions/expand"]})
    doc = nlp("It isn't fun.")
    doc.spans["sears"]      # one span per match, labelled with the id of its rule
    doc._.sears             # one `Rewrite` per rule that changes the text

In: a Doc. Out: the same Doc. Always holds: the words and tags are those of the pipeline; if it has
set no tags and the rules read some, that is an error, never a guess; the Doc's text stays as it
is. The package offers the component as an entry point, so that nothing has to be imported. Costs
one compilation of the rules, and one run of the engine per Doc.
"""

from __future__ import annotations

from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span

from sears_dsl.catalogue import load_rulesets
from sears_dsl.engine.matches import Edit, Rewrite, Scope
from sears_dsl.errors import UsageError
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.tagging.tokens import Token, Tokens, cut_contractions

NAME = "sears"
# Where spaCy keeps the value of an extension, so that `doc._.sears = …` sets it.
_PLACE: Any = ("._.", NAME, None, None)


class RuleComponent:
    """The component, which `make` makes from rule files, folders or names of rulesets."""

    def __init__(self, rules: list[str], *, scope: Scope) -> None:
        self._matcher = compile_with_sources(load_rulesets(rules))
        self._scope = scope
        if not Doc.has_extension(NAME):
            Doc.set_extension(NAME, getter=_rewrites)

    def __call__(self, doc: Doc) -> Doc:
        """Set the spans that the rules match in a Doc, and its rewrites."""
        tagged = doc.has_annotation("TAG")
        if self._matcher.needs_tags and not tagged:
            raise UsageError(
                "the rules need tags, but no earlier component of the pipeline sets any",
                help="add the component after a tagger, as in nlp.add_pipe('sears', last=True)",
            )
        words = [
            Token(each.text, each.pos_ or "X", each.tag_ or "XX", each.idx, each.idx + len(each))
            for each in doc
            if not each.is_space
        ]
        tokens = cut_contractions(Tokens.from_rows([doc.text], [words]))
        matches = self._matcher.find(tokens, scope=self._scope)
        starts, ends = tokens.starts, tokens.ends
        ids = self._matcher.rule_ids
        spans = []
        for rule, _, first, last in matches.tuples():
            # An insertion stands before a token: the span is that token.
            inside = max(first, last - 1)
            if inside < len(starts):
                begin, end = int(starts[first]), int(ends[inside])
                spans.append(_span(doc, begin, end, ids[rule]))
        doc.spans[NAME] = spans
        doc.user_data[_PLACE] = tuple(self._matcher.rewrites(tokens, matches))
        return doc


def _rewrites(doc: Doc) -> tuple[Rewrite, ...]:
    """Return the rewrites of a Doc; they are bare lists if it came from a process or a file."""
    return tuple(
        Rewrite(rule, row, original, text, tuple(Edit(*each) for each in edits))
        for rule, row, original, text, edits in doc.user_data.get(_PLACE, ())
    )


def _span(doc: Doc, begin: int, end: int, label: str) -> Span:
    """Return the span of spaCy tokens that hold these characters."""
    span = doc.char_span(begin, end, label=label, alignment_mode="expand")
    if span is None:
        raise UsageError(f"no tokens at {begin}:{end}", help="this is a bug: please report it")
    return span


@Language.factory(NAME, default_config={"rules": [], "scope": "all"})
def make(nlp: Language, name: str, rules: list[str], scope: Scope) -> Any:
    """Make the component for ``nlp.add_pipe("sears", config={"rules": […]})``."""
    if not rules:
        raise UsageError(
            "the component has no rules",
            help='nlp.add_pipe("sears", config={"rules": ["contractions/expand"]})',
        )
    return RuleComponent(list(rules), scope=scope)
