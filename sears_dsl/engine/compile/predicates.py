"""Token tests as small ids, and which token types satisfy which of them.

In: tests of the syntax tree with the scope that gives them meaning (options and sets), and later
the distinct token types of a batch. Out: an id for each distinct predicate, and for a batch a CSR
table from types to ids. Always holds: predicates that mean the same by construction share an id
(``movie`` and ``"movie"i`` under the smart case option); the members of a composite predicate have
smaller ids than it has, so that one pass in order decides them all. Costs one dictionary look-up
for each type and kind of test, what `composites` costs for each group of types that no simple test
tells apart, and one pass over each new text for all regexes together (`Regexes`); nothing for each
token. Threads may share `Predicates` and `Regexes` once everything is added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import number_sequences
from sears_dsl.engine.compile.composites import Composites, composites_of, decide
from sears_dsl.errors import CompileError
from sears_dsl.language import rule as syntax
from sears_dsl.language.rule import Anchor, Group, Options, RuleScope, Test, WholeUnit
from sears_dsl.language.tagsets import COARSE, coarse_of
from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.runtime.kernels import expect
from sears_dsl.tagging.inflection import lemma_among, lemma_numbers
from sears_dsl.tagging.tokens import TokenType, TokenTypes, contraction

Key: TypeAlias = tuple[str, *tuple[Any, ...]]
"""A predicate as a value: its kind, then a word, a tag, a regex or the ids of its members."""


# What simple predicates other than regexes test, each with a tagset where there are several.
_COLUMNS = (
    ("text", ""),
    ("lower", ""),
    ("lemma", ""),
    ("fine", ""),
    ("coarse", "ud2"),
    ("coarse", "sears2018"),
)


class PatternError(Exception):
    """A rule that cannot be compiled: a Diagnostic that does not know its rule yet."""

    def __init__(self, code: str, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice


class Satisfied(NamedTuple):
    """Which predicates each type satisfies; types that no simple test tells apart form a group."""

    group_of: Int32Array  # (types,): the group of each type
    offsets: Int32Array  # (groups + 1,): group g satisfies ids[offsets[g]:offsets[g + 1]]
    ids: Int32Array  # predicate ids


class Predicates:
    """Interns predicates and decides them for token types.

    ``test`` gives, for the number of a predicate, whether a token satisfies it as a function of the
    token: for single questions, not for batches.

    Example:
        >>> table = Predicates()
        >>> noun = table.intern(("coarse", "NOUN", "ud2"))
        >>> types = [TokenType("It", "PRON", "PRP"), TokenType("cat", "NOUN", "NN")]
        >>> table.satisfied(TokenTypes.of(types)).ids
        array([0], dtype=int32)
    """

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.needs_tags: list[bool] = []
        self._ids: dict[Key, int] = {}
        # Per column (kind, tagset): value of the attribute → id.
        self._values: dict[tuple[str, str], dict[str, int]] = {column: {} for column in _COLUMNS}
        self._regexes = Regexes()
        self._regex_of: dict[int, int] = {}
        self._composites: Composites | None = None
        self._symbols: Int32Array | None = None  # those in the composites
        self.test = cache(self._test)

    def __len__(self) -> int:
        return len(self.keys)

    # ------------------------------------------------------------ building

    def intern(self, key: Key) -> int:
        """The id of a predicate; equal keys have equal ids.

        A key is ``(kind, …)`` with kind ``text lower lemma fine`` (a string follows), ``coarse``
        (tag, tagset), ``regex`` (pattern, ignore_case), ``any``, ``or and`` (a tuple of ids) or
        ``not`` (an id).
        """
        known = self._ids.get(key)
        if known is not None:
            return known
        kind = key[0]
        number = len(self.keys)
        needs_tags = kind in ("coarse", "fine", "lemma")
        if kind == "regex":
            self._regex_of[number] = self._regexes.add(key[1], ignore_case=key[2])
        elif kind in ("or", "and"):
            needs_tags = any(self.needs_tags[member] for member in key[1])
        elif kind == "not":
            needs_tags = self.needs_tags[key[1]]
        elif kind != "any":
            column = (kind, key[2] if kind == "coarse" else "")
            self._values[column][key[1]] = number
        self._ids[key] = number
        self.keys.append(key)
        self.needs_tags.append(needs_tags)
        return number

    def any_of(self, members: Iterable[int]) -> int:
        """The predicate that holds where any of the members does; nested ones are flattened."""
        flat: set[int] = set()
        for member in members:
            key = self.keys[member]
            flat.update(key[1] if key[0] == "or" else (member,))
        return flat.pop() if len(flat) == 1 else self.intern(("or", tuple(sorted(flat))))

    def all_of(self, members: Iterable[int]) -> int:
        """The predicate that holds where all of the members do."""
        distinct = sorted(set(members))
        return distinct[0] if len(distinct) == 1 else self.intern(("and", tuple(distinct)))

    def negation(self, member: int) -> int:
        """The predicate that holds where the member does not."""
        key = self.keys[member]
        return int(key[1]) if key[0] == "not" else self.intern(("not", member))

    def of_test(self, test: Test, scope: RuleScope, split: Callable[[str], Sequence[str]]) -> int:
        """The predicate of a test on one token."""
        match test:
            case syntax.Literal():
                parts = [part for word in split(test.text) for part in contraction(word)]
                if len(parts) > 1:
                    raise PatternError(
                        "E701",
                        f"`{test.text}` is {len(parts)} tokens ({' '.join(parts)}), "
                        "but this place tests one",
                        advice=f"write a group: ({' '.join(parts)})",
                    )
                forms = spellings(test, scope.options, split)
                return self.any_of(
                    self.of_word(words[0], test, scope) for words in forms if len(words) == 1
                )
            case syntax.Tag():
                return self.of_tag(test.name, scope.options.tagset)
            case syntax.AttributeTest():
                return self._of_attribute(test, scope)
            case syntax.Conjunction():
                return self.all_of(self._of_attribute(part, scope) for part in test.tests)
            case syntax.Regex():
                return self.intern(("regex", test.pattern, test.ignore_case))
            case syntax.Wildcard():
                return self.intern(("any",))
            case syntax.SetReference():
                try:
                    members = scope.members(test)
                except KeyError as missing:
                    raise CompileError(
                        f"a rule names the set @{test.name}, which its ruleset does not have",
                        help="select rules with the `filter` of a ruleset, which keeps its sets",
                    ) from missing
                return self.any_of(self.of_test(member, scope, split) for member in members)
            case syntax.Negation():
                try:
                    return self.negation(self._of_operand(test.operand, scope, split))
                except PatternError as error:
                    if error.code == "E701":
                        error.advice = "test one of them in a context: `movie -> film / !n't __`"
                    raise

    def of_word(self, word: str, literal: syntax.Literal, scope: RuleScope) -> int:
        """The predicate of one token of a literal, under the case option."""
        ignore = ignores_case(literal, scope.options)
        kind, form = ("lower", word.lower()) if ignore else ("text", word)
        words = _with_apostrophes(form) if _any_apostrophe(literal, scope.options) else (form,)
        return self.any_of(self.intern((kind, each)) for each in words)

    def of_tag(self, name: str, tagset: syntax.TagsetOption) -> int:
        """The predicate of a bare tag; a name that is both coarse and fine means the coarse tag."""
        is_coarse = name in COARSE[tagset]
        return self.intern(("coarse", name, tagset) if is_coarse else ("fine", name))

    def _of_attribute(self, test: syntax.AttributeTest, scope: RuleScope) -> int:
        key: Key
        if test.attribute == "pos":
            key = ("coarse", test.value, scope.options.tagset)
        else:
            folded = test.attribute in ("lower", "lemma")
            value = test.value.lower() if folded else test.value
            key = ("fine" if test.attribute == "tag" else test.attribute, value)
        number = self.intern(key)
        return self.negation(number) if test.negated else number

    def _of_operand(
        self, operand: Test | Group, scope: RuleScope, split: Callable[[str], Sequence[str]]
    ) -> int:
        if not isinstance(operand, Group):
            return self.of_test(operand, scope, split)
        members = []
        for alternative in operand.alternatives:
            tests = [
                each.body for each in alternative if not isinstance(each.body, Anchor | WholeUnit)
            ]
            if len(tests) < len(alternative):
                raise PatternError(
                    "E307", "an anchor cannot be negated", advice="write it outside the negation"
                )
            if len(tests) != 1 or (alternative[0].minimum, alternative[0].maximum) != (1, 1):
                raise PatternError(
                    "E306",
                    "a negated group may only hold single tests",
                    advice="write alternatives of one token each, as in !(NOUN|PRON)",
                )
            members.append(self._of_operand(tests[0], scope, split))
        return self.any_of(members)

    # ------------------------------------------------------------ deciding

    def satisfied(self, types: TokenTypes, *, symbols: Int32Array | None = None) -> Satisfied:
        """Decide the predicates for token types.

        The table has ``symbols``, int32 (predicates,), in the place of ids, and leaves out the
        predicates whose symbol is -1; with None it has the ids of all predicates.
        """
        if symbols is None:
            symbols = np.arange(len(self.keys), dtype=np.int32)
        columns = [
            self._column(name, numbers, types) for name, numbers in self._values.items() if numbers
        ]
        matched = self._regexes.match_table(types.words)[types.word_of]
        bits = np.packbits(matched, axis=1)
        padded = np.zeros((len(types), 4 * ((matched.shape[1] + 31) // 32)), np.uint8)
        padded[:, : bits.shape[1]] = bits
        values = np.column_stack([*columns, padded.view(np.int32)])
        offsets = np.arange(len(types) + 1, dtype=np.int64) * values.shape[1]
        group_of, examples = number_sequences(values.ravel(), offsets)
        regexes = np.fromiter(self._regex_of, np.int32, len(self._regex_of))
        matching = np.where(matched[examples], regexes, np.int32(-1))
        # (groups, any): the simple predicates that hold, -1 where none does.
        simple = np.column_stack([*(column[examples] for column in columns), matching])
        return Satisfied(group_of, *self._decided(simple.astype(np.int32), symbols))

    def find_simple(self, tokens: Sequence[TokenType]) -> list[tuple[int, ...]]:
        """The simple predicates that hold of each token, which decide the others; -1 for none."""
        texts, lowers, lemmas, fines, coarse_tags, sears_tags = self._values.values()
        regexes = list(self._regex_of)
        simple_ids = []
        for text, coarse, fine in tokens:
            lemma = lemma_among(text, fine, lemmas.keys()) if lemmas else None
            sears_tag = coarse_of(coarse, fine, "sears2018") if sears_tags else ""
            ids = (
                texts.get(text, -1),
                lowers.get(text.lower(), -1),
                -1 if lemma is None else lemmas[lemma],
                fines.get(fine, -1),
                coarse_tags.get(coarse, -1),
                sears_tags.get(sears_tag, -1),
            )
            matching = self._regexes.matching(text) if regexes else ()
            simple_ids.append((*ids, *map(regexes.__getitem__, matching)))
        return simple_ids

    def decided(
        self, simple_ids: Sequence[tuple[int, ...]], symbols: Int32Array
    ) -> tuple[Int32Array, Int32Array]:
        """All predicates that hold where these simple ones do: `Satisfied.offsets` and ``ids``."""
        width = max(map(len, simple_ids), default=0)
        padded = [(*ids, *repeat(-1, width - len(ids))) for ids in simple_ids]
        return self._decided(np.array(padded, np.int32).reshape(len(padded), width), symbols)

    def _decided(self, simple: Int32Array, symbols: Int32Array) -> tuple[Int32Array, Int32Array]:
        if self._composites is None or self._symbols is not symbols:
            self._composites, self._symbols = composites_of(self.keys, symbols), symbols
        expect(len(simple) * len(self._composites.holds) // 20)
        decided: tuple[Int32Array, Int32Array] = decide(simple, self._composites)
        return decided

    def _test(self, number: int) -> Callable[[TokenType], bool]:
        """See `Predicates`."""
        match self.keys[number]:
            case ("text", wanted):
                return lambda token: bool(token[0] == wanted)
            case ("lower", wanted):
                return lambda token: bool(token[0].lower() == wanted)
            case ("coarse", wanted, tagset):
                return lambda token: bool(coarse_of(token[1], token[2], tagset) == wanted)
            case ("fine", wanted):
                return lambda token: bool(token[2] == wanted)
            case ("lemma", wanted):
                return lambda token: lemma_among(token[0], token[2], {wanted}) is not None
            case ("regex", *_):
                regex = self._regex_of[number]
                return lambda token: regex in self._regexes.matching(token[0])
            case ("not", member):
                test = self.test(member)
                return lambda token: not test(token)
            case ("or" | "and" as kind, members):
                tests = list(map(self.test, members))
                over = any if kind == "or" else all
                return lambda token: over(test(token) for test in tests)
        return lambda _: True

    @staticmethod
    def _column(name: tuple[str, str], numbers: Mapping[str, int], types: TokenTypes) -> Int32Array:
        """The one predicate of a kind that holds of each type; -1 where none does."""
        if name[0] == "text" and 4 * len(numbers) < len(types.place_of):
            ids, type_of = np.full(len(types.words), -1, np.int32), types.word_of
            for word in numbers.keys() & types.place_of.keys():
                ids[types.place_of[word]] = numbers[word]
        elif name[0] == "lemma":
            fines = [fine for _, fine in types.pairs]
            return lemma_numbers(types.words, types.word_of, fines, types.pair_of, numbers)
        else:
            values, type_of = _attribute(name, types)
            ids = np.fromiter(map(numbers.get, values, repeat(-1)), np.int32)
        return ids[type_of]


def ignores_case(literal: syntax.Literal, options: Options) -> bool:
    """Whether any casing of the literal is meant; quotes decide before the case option does."""
    if literal.quoted or literal.ignore_case or options.case == "exact":
        return literal.ignore_case
    return options.case == "ignore" or literal.text == literal.text.lower()


def spellings(
    literal: syntax.Literal, options: Options, split: Callable[[str], Sequence[str]]
) -> list[tuple[str, ...]]:
    """The sequences of tokens that a literal stands for; the first is the literal as written.

    A tokenizer may cut a word in one casing or with one apostrophe and leave it whole in another:
    ``don't`` is two tokens and ``DOn't`` is one. Sequences that match the same tokens come once.
    """
    text = literal.text
    ignore = ignores_case(literal, options)
    words = [text]
    # Words of letters alone are cut only as special cases: by the tokenizer, if at all, in lower
    # case, and as contractions in capitals. One that is whole in both needs no other casing. (İ has
    # a mark in lower case.)
    if ignore and not _is_always_whole(text, split):
        casings = (text.lower(), text[:1].upper() + text[1:].lower(), text.upper())
        words.extend(each for each in casings if each.lower() == text.lower())
    any_apostrophe = _any_apostrophe(literal, options)
    if any_apostrophe:
        words = [each for word in words for each in (word, *_with_apostrophes(word))]
    sequences: dict[tuple[str, ...], tuple[str, ...]] = {}
    for word in dict.fromkeys(words):
        parts = tuple(split(word)) or (word,)
        for cut in (parts, tuple(each for part in parts for each in contraction(part))):
            folded = tuple(map(str.lower, cut)) if ignore else cut
            if any_apostrophe:
                folded = tuple(_with_apostrophes(part)[0] for part in folded)
            sequences.setdefault(folded, cut)
    return list(sequences.values())


def _is_always_whole(text: str, split: Callable[[str], Sequence[str]]) -> bool:
    """Whether a word is one token in every casing."""
    lower = text.lower()
    return lower.isalpha() and len(split(lower)) == 1 and len(contraction(text.upper())) == 1


def _any_apostrophe(literal: syntax.Literal, options: Options) -> bool:
    """Whether the apostrophes in a literal match apostrophes of any kind."""
    return not literal.quoted and options.case != "exact"


def _with_apostrophes(word: str) -> Sequence[str]:
    """A word with each kind of apostrophe; a mark without letters is a quotation mark."""
    if not _HAS_APOSTROPHE.search(word) or not any(map(str.isalpha, word)):
        return (word,)
    return [_HAS_APOSTROPHE.sub(mark, word) for mark in _APOSTROPHES]


_APOSTROPHES = "'’ʼ"
_HAS_APOSTROPHE = re.compile(f"[{_APOSTROPHES}]")


def _attribute(name: tuple[str, str], types: TokenTypes) -> tuple[Iterable[Any], Int32Array]:
    """The values that a kind of predicate (not lemmas) tests, and which of them each type has."""
    kind, tagset = name
    if kind == "text":
        return types.words, types.word_of
    if kind == "lower":
        return map(str.lower, types.words), types.word_of
    if kind == "fine":
        return (fine for _, fine in types.pairs), types.pair_of
    if tagset == "ud2":
        return (coarse for coarse, _ in types.pairs), types.pair_of
    return (coarse_of(*pair, "sears2018") for pair in types.pairs), types.pair_of


# ---------------------------------------------------------------- regexes

# Texts that are remembered before all are forgotten.
_MOST_TEXTS = 100_000
# Matches every text: where a set does not find it, the set has run out of memory.
_EVERYTHING = "(?s).*"


class Regexes:
    r"""Regexes, numbered in the order in which they are added.

    Example:
        >>> table = Regexes()
        >>> table.add("colou?r", ignore_case=True), table.add(r"\d+", ignore_case=False)
        (0, 1)
        >>> table.match_table(["Color", "12", "colors"]).tolist()
        [[True, False], [False, True], [False, False]]
    """

    def __init__(self) -> None:
        self._written: list[tuple[str, bool]] = []
        self._compiled: list[Any] = []
        self._together: Any = None
        self._matching: dict[str, Sequence[int]] = {}  # what is remembered of texts

    def __len__(self) -> int:
        return len(self._compiled)

    def add(self, pattern: str, *, ignore_case: bool) -> int:
        """Add a regex and return its number; raise `PatternError` if RE2 does not accept it."""
        import re2  # type: ignore[import-untyped]  # noqa: PLC0415 - most rulesets have no regex

        try:
            compiled = re2.compile(pattern, _options(re2, ignore_case=ignore_case))
        except re2.error as error:
            reason = error.args[0]
            text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            raise PatternError(
                "E309",
                f"RE2 rejects /{pattern}/: {text}",
                advice="patterns use RE2's syntax, which has no look-around and no back-references",
            ) from error
        self._written.append((pattern, ignore_case))
        self._compiled.append(compiled)
        self._together = None
        self._matching = {}
        return len(self._compiled) - 1

    def match_table(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each regex matches all of each text, bool (texts, regexes)."""
        table = np.zeros((len(texts), len(self)), np.bool_)
        matching = list(map(self.matching, texts)) if len(self) else []
        counts = list(map(len, matching))
        columns = np.fromiter(chain.from_iterable(matching), np.int64, sum(counts))
        table[np.repeat(np.arange(len(matching)), counts), columns] = True
        return table

    def matching(self, text: str) -> Sequence[int]:
        """The numbers of the regexes that match all of one text."""
        if not self._compiled:
            return ()
        numbers = self._matching.get(text)
        if numbers is None:
            if len(self._matching) >= _MOST_TEXTS:
                self._matching = {}
            numbers = self._matching[text] = self._find_matching(text)
        return numbers

    def _find_matching(self, text: str) -> Sequence[int]:
        try:
            encoded = text.encode()
        except UnicodeEncodeError:
            return ()  # half of a surrogate pair is not a character
        together = self._set()
        numbers = (together and together.Match(encoded)) or ()
        everything = len(self)
        if everything in numbers:
            return [number for number in numbers if number != everything]
        return [n for n, each in enumerate(self._compiled) if each.fullmatch(text) is not None]

    def _set(self) -> Any:
        """All regexes as one set, compiled once; False where it would be too large."""
        together = self._together
        if together is None:
            import re2  # noqa: PLC0415 - see above

            together = re2.Set.FullMatchSet(_options(re2, ignore_case=False))
            for pattern, ignore_case in self._written:
                together.Add(f"(?i){pattern}" if ignore_case else pattern)
            together.Add(_EVERYTHING)
            try:
                together.Compile()
            except re2.error:
                together = False
            self._together = together
        return together


def _options(re2: Any, *, ignore_case: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    return options
