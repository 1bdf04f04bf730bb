"""From matches to rewritten rows: how instances lie on their tokens, and what they become.

In: compiled rules, tokens and the `Matches` found in them. Out: `Binding`s and `Rewrite`s. Always
holds: a rewrite differs from its original and touches no protected span. What a rule alone decides
(its variants, its renderer) is worked out when it first matches, so that rules that never match
cost nothing here. Costs some Python work per instance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sears_dsl.engine.matches import Binding, Edit, Matches, Rewrite
from sears_dsl.engine.patterns import Split, Variant, bind, expand
from sears_dsl.engine.predicates import Predicates
from sears_dsl.engine.rewrite import Renderer
from sears_dsl.engine.search import Protected
from sears_dsl.engine.spans import SpanMap, apply_edits
from sears_dsl.language.rule import Rule, RuleScope
from sears_dsl.text.tokens import Token, Tokens, TokenType

__all__ = ["Rendering"]


class Rendering:
    """Binds and renders the matches of compiled rules.

    Args:
        rules: each rule with its scope, in the order in which they were compiled.
        predicates: the table that they were compiled with.
        split: how the tokenizer splits a word of a rule.

    Attributes:
        unrenderable: position of a rule → instances that it could not rewrite, since a word has
            no inflection there or more than one. It grows with what is rendered.
    """

    def __init__(
        self, rules: Sequence[tuple[Rule, RuleScope]], predicates: Predicates, split: Split
    ) -> None:
        self.rules = rules
        self._predicates = predicates
        self._split = split
        self._variants: dict[int, list[Variant]] = {}
        self._renderers: dict[int, Renderer] = {}

    def binding(self, tokens: Tokens, matches: Matches, index: int) -> Binding:
        """How instance number ``index`` lies on the tokens of its row."""
        number = int(matches.rules[index])
        rule, scope = self.rules[number]
        variants = self._variants.get(number)
        if variants is None:
            variants = expand(rule, scope, self._predicates, self._split)
            self._variants[number] = variants
        first = int(tokens.row_offsets[matches.rows[index]])

        def token_type(position: int) -> TokenType:
            found: TokenType = tokens.types[int(tokens.type_ids[first + position])]
            return found

        variant = variants[matches.variants[index]]
        return bind(variant, int(matches.starts[index]), self._predicates, token_type)

    def rewrites(
        self,
        tokens: Tokens,
        matches: Matches,
        *,
        protected: Protected | None,
        unrenderable: Counter[int],
        next_rule: Sequence[int] | None = None,
    ) -> Iterator[Rewrite]:
        """One rewrite for each row and rule that changes it, in the order of the matches.

        Args:
            tokens: the rows in which the matches were found.
            matches: sorted by row and rule.
            protected: for each row the spans that no edit may touch.
            unrenderable: here instances are counted, by rule, whose words have no inflection.
            next_rule: a rule for each row; then a row gives one rewrite at most, that of the
                first rule, from that one on, that changes it.
        """
        rules, rows = matches.rules.tolist(), matches.rows.tolist()
        starts, ends = matches.starts.tolist(), matches.ends.tolist()
        row = done = -1
        words: Sequence[Token] = ()
        for begin, end in _groups(rules, rows):
            rule = rules[begin]
            if next_rule is not None and (rows[begin] == done or rule < next_rule[rows[begin]]):
                continue
            if rows[begin] != row:
                row = rows[begin]
                words = tokens.view(row)
            text = tokens.texts[row]
            renderer = self._renderer(rule)
            if renderer.needs_binding:
                bindings = [self.binding(tokens, matches, index) for index in range(begin, end)]
            else:
                bindings = [Binding(starts[k], ends[k], (), {}, {}) for k in range(begin, end)]
            edits, missing = renderer.render_all(text, words, bindings)
            forms = sum(each.is_inflection for each in missing)
            if forms:
                unrenderable[rule] += forms
            if protected is not None and protected[row]:
                edits = [edit for edit in edits if not _touches(edit, protected[row])]
            if edits:
                done = row
                yield Rewrite(rule, row, text, apply_edits(text, edits), tuple(edits))

    def _renderer(self, rule: int) -> Renderer:
        renderer = self._renderers.get(rule)
        if renderer is None:
            renderer = Renderer(*self.rules[rule])
            self._renderers[rule] = renderer
        return renderer


def _groups(rules: Sequence[int], rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where the instances of one rule in one row begin and end."""
    begin = 0
    for index in range(1, len(rules) + 1):
        if index == len(rules) or rules[index] != rules[begin] or rows[index] != rows[begin]:
            yield begin, index
            begin = index


def _touches(edit: Edit, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether an edit takes white space out of a protected span."""
    step = SpanMap([edit])
    return any(start < end and step.touching(start, end) for start, end in spans)
