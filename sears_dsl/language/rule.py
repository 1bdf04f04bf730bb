"""The syntax tree of the rule language, on one page.

Everything is a frozen dataclass that compares by value, so a tree can be a dictionary key and
`parse(print(tree)) == tree` can be asserted. Places in the file (`span`) take no part in
comparisons. The tree says what was written; what it means on text is the engine's business.

    Ruleset file   = header, options, imports, sets, rules: `Statement`s, each in its `Entry`,
                     which keeps blank lines and comments for a formatter to put back
    Rule           = antecedent -> consequent / left __ right, plus Metadata
    Template       = text with Slots and SlotCopies, plus Metadata with a label
    antecedent     = Elements: a Test, an Anchor or a Group, with quantifier, name and glue
    consequent     = Pieces: Text, Reference, TagCopy, Inflected, Drawn
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal as OneOf
from typing import Protocol, TypeAlias, get_args

from sears_dsl.errors import Diagnostic, Span

AttributeName: TypeAlias = OneOf["text", "lower", "lemma", "pos", "tag"]
CaseOption: TypeAlias = OneOf["smart", "exact", "ignore"]
TagsetOption: TypeAlias = OneOf["ud2", "sears2018"]
RepairOption: TypeAlias = OneOf["off", "on"]
UnitOption: TypeAlias = OneOf["text", "sentence"]

OPTION_VALUES: dict[str, tuple[str, ...]] = {
    "case": get_args(CaseOption),
    "tagset": get_args(TagsetOption),
    "repair": get_args(RepairOption),
    "unit": get_args(UnitOption),
}
"""The values of each option that has a fixed list of them."""

INFLECTIONS = ("VB", "VBD", "VBG", "VBN", "VBZ", "NN", "NNS", "JJR", "JJS")
"""Functions that inflect one token."""

CASINGS = ("lower", "upper", "cap", "uncap")
"""Functions that change how words are cased."""

NAMED_FUNCTIONS = (*CASINGS, *INFLECTIONS)
"""Functions that the tree holds by their names alone: casing and inflection."""

TYPING_KINDS = ("swap", "drop", "double", "key")
"""Slips of the keyboard; ``typo`` draws one of them."""

NOISE_KINDS = ("homoglyph", *TYPING_KINDS, "typo", "neighbor", "paraphrase")
"""Functions that write noise; see `Noise`."""

FUNCTIONS = (*NAMED_FUNCTIONS, *NOISE_KINDS)
"""Every function that may follow a reference."""


@dataclass(frozen=True, slots=True)
class Literal:
    """``movie``, ``?``, ``"NOUN"``, ``"who"i``: the token's text is this.

    Unquoted, the ruleset's case option decides how casing counts; quoted, it is exact, or
    ignored with the suffix ``i``. A word that the tokenizer splits stands for its parts in a row.
    """

    text: str
    quoted: bool = False
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Tag:
    """``NOUN`` or ``VBZ``: the token's coarse (UPOS) or fine (Penn) tag is this."""

    name: str


@dataclass(frozen=True, slots=True)
class AttributeTest:
    """``lemma=be`` or, inside brackets, ``tag!=NNS``: a named attribute is (not) this."""

    attribute: AttributeName
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Conjunction:
    """``[lemma=movie & tag=NNS]``: all of the attribute tests hold."""

    tests: tuple[AttributeTest, ...]


@dataclass(frozen=True, slots=True)
class Regex:
    """``/colou?r/`` or ``/re/i``: the whole text of the token matches (RE2 syntax)."""

    pattern: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Wildcard:
    """``_``: any token."""


@dataclass(frozen=True, slots=True)
class SetReference:
    """``@WH`` or ``@c.WH``: the token is a member of the set (of the import named ``module``)."""

    name: str
    module: str | None = None

    @classmethod
    def called(cls, full_name: str) -> SetReference:
        """The reference that rules write with this name, ``WH`` or ``c.WH``, behind an @."""
        module, _, name = full_name.rpartition(".")
        return cls(name, module or None)

    @property
    def full_name(self) -> str:
        """Its name as rules write it, behind that of its import."""
        return f"{self.module}.{self.name}" if self.module else self.name


@dataclass(frozen=True, slots=True)
class Negation:
    """``!x``: a token that does not match x. It needs a token to be there.

    The operand is a Test, or a Group whose alternatives are all single plain tests.
    """

    operand: Test | Group


Test: TypeAlias = (
    Literal | Tag | AttributeTest | Conjunction | Regex | Wildcard | SetReference | Negation
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """``<s>`` or ``</s>``: no token, the start or the end of the unit."""

    side: OneOf["start", "end"]


@dataclass(frozen=True, slots=True)
class WholeUnit:
    """``<unit>``: all tokens of the unit; it is the whole antecedent."""


@dataclass(frozen=True, slots=True)
class Group:
    """``(DET? NOUN|PRON)``: alternatives, each a sequence of elements, tried in written order."""

    alternatives: tuple[tuple[Element, ...], ...]


Body: TypeAlias = Test | Anchor | WholeUnit | Group


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an antecedent or of a context, counted as written for ``$n``."""

    body: Body
    minimum: int = 1  # fewest repetitions; ``x?`` is 0 to 1, ``x{2,3}`` is 2 to 3
    maximum: int = 1  # most repetitions, at most 8; greedy
    name: str | None = None  # ``a`` in ``a:NOUN``, or None
    # Written without a space after the element before it (``WP's``). In an antecedent this is
    # notation only; the tokens may stand apart in the text
    glued: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Text:
    """``film``, ``"of course"``: this text. ``glued``: no space before it."""

    text: str
    quoted: bool = False
    glued: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Noise:
    """``.homoglyph``, ``.swap(2)``, ``.typo(10%)``: a function that writes noise."""

    kind: str  # one of `NOISE_KINDS`
    places: int = 1  # how many places of each instance it changes
    # Instead, the share of a unit's characters that it changes, in millionths; None: not a share
    share: int | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """``$1``, ``$name``, ``$0``, ``$1.VBD.cap``: what an element matched, after the functions."""

    target: int | str
    functions: tuple[str | Noise, ...] = ()
    glued: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TagCopy:
    """``NOUN``: the next matched token that the antecedent named by this tag."""

    tag: str
    glued: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Inflected:
    """``film.as($1)``: the word in the inflection that the referenced token has."""

    word: str
    target: int | str
    quoted: bool = False
    glued: bool = False
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Drawn:
    """``@NAME`` in a consequent: a literal member of the set, drawn."""

    reference: SetReference
    glued: bool = False
    span: Span | None = field(default=None, compare=False)


# The first piece of a consequent is glued when it is written with ~ (to the left neighbour).
Piece: TypeAlias = Text | Reference | TagCopy | Inflected | Drawn


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a model should do on the rewritten row: ``same`` (default), ``flip``, ``label x``."""

    kind: OneOf["same", "flip", "label"] = "same"
    label: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.label}".strip()


LABEL_STAYS = Expectation()


@dataclass(frozen=True, slots=True)
class RuleTest:
    """``test "in" => "out"`` or ``=> none``: ``expected`` is None when the rule must be silent."""

    text: str
    expected: str | None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is written under a rule or a template.

    ``expect`` is None if the file does not say. ``label`` is the label of a template's sentences.
    ``rate`` is the share of its instances that a rule rewrites, in millionths; if it is None, the
    scope of `apply` says which. ``seed`` is added to that of the run.
    """

    expect: Expectation | None = None
    label: str | None = None
    rate: int | None = None
    seed: int | None = None
    severity: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    why: str | None = None
    tests: tuple[RuleTest, ...] = ()


NO_METADATA = Metadata()

KEYS = ("expect", "label", "rate", "seed", "severity", "tags", "author", "why", "test")
"""The keys of metadata, in the order in which they are printed."""

KEYS_OF_RULES, KEYS_OF_TEMPLATES = ("expect", "rate", "seed"), ("label",)
"""The keys that only rules have, and those that only templates have."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One search-and-replace rule.

    An empty antecedent is ``<>``: an insertion. An empty consequent is ``<>``: a deletion.
    ``name`` is the id that the file declares; without one the id is a hash of the canonical
    text (`printer.rule_id`). Mined rules share their antecedent tuples, so that the engine
    matches each distinct one once.
    """

    antecedent: tuple[Element, ...]
    consequent: tuple[Piece, ...]
    left: tuple[Element, ...] = ()
    right: tuple[Element, ...] = ()
    name: str | None = None
    metadata: Metadata = NO_METADATA
    span: Span | None = field(default=None, compare=False)

    @property
    def elements(self) -> tuple[Element, ...]:
        """The elements as written, those of the contexts too; what is in a group is none."""
        return (*self.left, *self.antecedent, *self.right)

    @property
    def expectation(self) -> Expectation:
        """What a model should do on the rewritten row; by default its answer stays."""
        return self.metadata.expect or LABEL_STAYS

    @property
    def keeps_label(self) -> bool:
        """Whether the rewritten row should keep its label."""
        return self.expectation.kind == "same"

    @property
    def effect(self) -> Metadata:
        """The metadata that says what the rule does; `NO_METADATA` if its text says it all."""
        expect = None if self.keeps_label else self.metadata.expect
        return Metadata(expect=expect, rate=self.metadata.rate, seed=self.metadata.seed)


@dataclass(frozen=True, slots=True)
class Slot:
    """``{NAME}``, ``{who:NAME.cap}``, ``{w.DEGREE?}``: one member of a set, every one in turn."""

    reference: SetReference
    name: str | None = None  # by which a `SlotCopy` finds it, if it has one
    optional: bool = False  # whether it may be empty, which is its first choice
    functions: tuple[str | Noise, ...] = ()  # of casing, inflection and characters, left to right
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SlotCopy:
    """``{$who}``, ``{$who.upper}``: what the slot of that name holds in this sentence."""

    name: str
    functions: tuple[str | Noise, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Template:
    """``template ID: "This {CATEGORY} movie is {DEGREE?} {GOOD}."``: a sentence for each choice."""

    parts: tuple[str | Slot | SlotCopy, ...]  # text and slots, in order; no text follows a text
    # The id that the file declares; else it is a hash of the canonical text
    name: str | None = None
    metadata: Metadata = NO_METADATA  # with its label; a template has no ``expect``
    span: Span | None = field(default=None, compare=False)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots, from left to right, without copies."""
        return tuple(part for part in self.parts if isinstance(part, Slot))


@dataclass(frozen=True, slots=True)
class SetDefinition:
    """``set WH = What | Which | "who"i``: members are tests on one token."""

    name: str
    members: tuple[Test, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a ruleset, with their defaults.

    ``unit`` and ``vectors`` are what the rules ask of a run; None: nothing.
    """

    case: CaseOption = "smart"
    language: str = "en"
    tagset: TagsetOption = "ud2"
    repair: RepairOption = "off"
    unit: UnitOption | None = None
    vectors: str | None = None

    def vectors_in(self, folder: Path) -> Path | None:
        """The whole path of the file of word vectors that rules of a folder name, if there is one.

        What is no file there, such as the name of vectors that are installed, is the same from
        everywhere.

        Example:
            >>> Options(vectors="glove-6b-50d").vectors_in(Path("rules"))
        """
        file = None if self.vectors is None else folder / self.vectors
        return file.resolve() if file is not None and file.is_file() else None


OPTION_NAMES = tuple(each.name for each in fields(Options))


class RuleScope(Protocol):
    """What a rule can see of the ruleset around it. A `Ruleset` is one."""

    @property
    def options(self) -> Options:
        """The options that the rule is read under."""

    def members(self, reference: SetReference) -> tuple[Test, ...]:
        """The members of a set; KeyError where there is no such set or import."""

    def set_names(self) -> tuple[str, ...]:
        """The names that a reference may use, such as ``WH`` and ``c.WH``."""


class RuleSource(RuleScope, Protocol):
    """Rules with the scope that they are read in. A `Ruleset` is one."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in their order."""

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """Their ids, in the same order."""

    @property
    def name(self) -> str | None:
        """What the ruleset calls itself."""

    @property
    def path(self) -> str:
        """The file that it was read from, or what stands for one."""

    @property
    def folder(self) -> Path:
        """Where the paths that it names start from."""


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    """A metadata line as it lies in the file: the lines before it and the comment behind it.

    ``leading`` holds ``""`` for a blank line, else a comment; ``"  # ..."`` if it was indented.
    """

    key: str
    leading: tuple[str, ...] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement as it lies in the file; see `MetadataEntry`."""

    node: Statement
    leading: tuple[str, ...] = ()
    comment: str = ""
    metadata: tuple[MetadataEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The statements of a file, and what is wrong with its syntax."""

    entries: tuple[Entry, ...]
    trailing: tuple[str, ...] = ()  # comments and blank lines after the last one
    # What is wrong with the syntax, in the order of the lines
    findings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionLine:
    """``sear 1``."""

    version: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """``ruleset name 1.0``."""

    name: str
    version: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ImportLine:
    """``import "file.sear" as name``."""

    path: str
    name: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OptionLine:
    """``option name = value``."""

    name: str
    value: str
    span: Span | None = field(default=None, compare=False)
    value_span: Span | None = field(default=None, compare=False)


Statement: TypeAlias = (
    VersionLine | HeaderLine | ImportLine | OptionLine | SetDefinition | Rule | Template
)
