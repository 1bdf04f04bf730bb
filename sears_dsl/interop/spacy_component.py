"""Rules in a spaCy pipeline: their matches as spans, their rewrites as an extension of the Doc.

    nlp = spacy.load("en_core_web_sm")
    nlp.add_pipe("sears", config={"rules": ["contractions/expand"]})
    doc = nlp("It isn't fun.")
    doc.spans["sears"]      # one span per match, labelled with the id of its rule
    doc._.sears             # one `Rewrite` per rule that changes the text

In: a Doc. Out: the same Doc. Always holds: the words and tags are those of the pipeline, and words
of rules are cut as it cuts them; if it has set no tags and the rules read some, or if it is for
another language than they are, that is an error, never a guess; the Doc's text stays as it is. A
component of another name keeps its results under that name, so that several do not mix. The package
offers the component as an entry point, so that nothing has to be imported. Costs one compilation of
the rules, and one run of the engine per Doc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from spacy.language import Language
from spacy.tokens import Doc, Span

from sears_dsl.catalogue import load_rulesets
from sears_dsl.engine.matches import Edit, Rewrite, Scope
from sears_dsl.errors import UsageError
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.tagging.tokens import Token, Tokens, cut_contractions

NAME = "sears"
# The language of pipelines for texts in any language.
_ANY_LANGUAGE = "xx"
# Where a Doc has its tags, and the components of spaCy that set them.
_ATTRIBUTES = {
    "coarse": ("POS", "a morphologizer, or a tagger and its attribute_ruler"),
    "fine": ("TAG", "a tagger"),
}


class PipelineTagger:
    """Cuts the words of rules as a pipeline cuts its texts; implements `Tagger`.

    Its texts have no tags: those are set by the components of the pipeline.
    """

    version = ""

    def __init__(self, cut: Callable[[str], Doc], *, name: str, language: str) -> None:
        self._cut = cut
        self.name = name
        self.language = language

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text, without tags."""
        return tokens_of(list(map(self._cut, texts)))

    tag = tokenize

    def split(self, words: str) -> tuple[str, ...]:
        """The tokens of a word of a rule."""
        tokens = self.tokenize([words])
        return tuple(
            words[begin:end] for begin, end in zip(tokens.starts, tokens.ends, strict=True)
        )

    def sentences(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Each text as a single sentence: rules see a whole Doc."""
        return [[(0, len(text))] for text in texts]


def tokens_of(docs: Sequence[Doc]) -> Tokens:
    """The words of Docs, with the tags that were set."""
    words = [
        [
            Token(each.text, each.pos_ or "X", each.tag_ or "XX", each.idx, each.idx + len(each))
            for each in doc
            if not each.is_space
        ]
        for doc in docs
    ]
    return cut_contractions(Tokens.from_rows([doc.text for doc in docs], words))


class RuleComponent:
    """The component, which `make` makes from rule files, folders or names of rulesets."""

    def __init__(self, nlp: Language, name: str, rules: list[str], *, scope: Scope) -> None:
        rulesets = load_rulesets(rules)
        language = nlp.lang or _ANY_LANGUAGE
        if language == _ANY_LANGUAGE:
            language = rulesets[0].options.language
        tagger = PipelineTagger(nlp.tokenizer, name=f"pipeline:{nlp.lang}", language=language)
        self._matcher = compile_with_sources(rulesets, tagger=tagger)
        self._scope = scope
        self._name = name
        self._place = _register(name)

    def __call__(self, doc: Doc) -> Doc:
        """Set the spans that the rules match in a Doc, and its rewrites."""
        for kind in sorted(self._matcher.tags_read):
            attribute, setting = _ATTRIBUTES[kind]
            if doc.has_annotation(attribute):
                continue
            raise UsageError(
                f"the rules need {kind} tags ({attribute}), but no earlier component of the "
                "pipeline sets any",
                help=f"add the component after {setting}, as in nlp.add_pipe('sears', last=True)",
            )
        tokens = tokens_of([doc])
        matches = self._matcher.find(tokens, scope=self._scope)
        starts, ends = tokens.starts, tokens.ends
        ids = self._matcher.rule_ids
        spans = []
        for rule, _, first, last in matches.tuples():
            # An insertion stands before a token: the span is that token.
            inside = max(first, last - 1)
            if inside < len(starts):
                begin, end = int(starts[first]), int(ends[inside])
                span = doc.char_span(begin, end, ids[rule], alignment_mode="expand")
                spans.append(cast(Span, span))  # there is one where there is a token
        doc.spans[self._name] = spans
        doc.user_data[self._place] = tuple(self._matcher.rewrites(tokens, matches))
        return doc


def _rewrites_of(doc: Doc, *, place: Any) -> tuple[Rewrite, ...]:
    """The rewrites of a Doc; they are bare lists if it came from a process or a file."""
    return tuple(
        Rewrite(rule, row, original, text, tuple(Edit(*each) for each in edits))
        for rule, row, original, text, edits in doc.user_data.get(place, ())
    )


def _register(name: str) -> Any:
    """Make the extension of a component known, and return the place where spaCy keeps its value.

    To set the value there lets `doc._.sears = …` set it, too.
    """
    place = ("._.", name, None, None)
    if not Doc.has_extension(name):
        Doc.set_extension(name, getter=partial(_rewrites_of, place=place))
    elif getattr(getattr(Doc.get_extension(name)[2], "func", None), "__module__", "") != __name__:
        raise UsageError(
            f"a Doc has an extension named {name} already, which is not of sears",
            help='give the component another name: nlp.add_pipe("sears", name=…)',
        )
    return place


@Language.factory(NAME, default_config={"rules": [], "scope": "all"})
def make(nlp: Language, name: str, rules: list[str], scope: Scope) -> Any:
    """Make the component for ``nlp.add_pipe("sears", config={"rules": […]})``."""
    if not rules:
        raise UsageError(
            "the component has no rules",
            help='nlp.add_pipe("sears", config={"rules": ["contractions/expand"]})',
        )
    return RuleComponent(nlp, name, list(rules), scope=scope)
