"""The lemma of a word by its tag, and its inflection under another tag.

Always holds: the answer depends on the arguments alone, never on the sentence or on a model, so
that a pinned test and a tagged text agree. This module is the only user of lemminflect, whose
tables are read at the first word that needs them (some 0.1 s); words in their base form and
contracted words need none. Answers of the tables are cached: a repeated word costs a dictionary
look-up.
"""

from __future__ import annotations

import gzip
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from itertools import repeat
from pathlib import Path

import numpy as np

from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.tagging.accepted_forms import accepted_forms, distinct_forms

BASE_TAGS = frozenset({"NN", "NNP", "VB", "VBP", "JJ", "RB", "MD"})
"""Fine tags whose words stand in their base form, but for forms of *be* and contractions."""

INFLECTION_TAGS = frozenset({"VB", "VBD", "VBG", "VBN", "VBZ", "NN", "NNS", "JJR", "JJS"})
"""The fine tags that a consequent may ask for as a function (``$1.VBD``)."""

# What lemminflect calls the word class of a Penn tag.
_WORD_CLASS = {
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "VERB"),
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS"), "NOUN"),
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJ"),
    **dict.fromkeys(("RB", "RBR", "RBS"), "ADV"),
}
_DEGREES = frozenset({"JJR", "JJS", "RBR", "RBS"})
_INFLECTED_TAGS = _WORD_CLASS.keys() - BASE_TAGS

_FORMS_OF_BE = (
    "'s", "'m", "'re", "am", "are", "is", "was", "were", "been", "being", "be", "ai"
)  # fmt: skip

# Nouns whose plural, or its lemma, the tables get wrong: what stands before *-ie* and *-man*.
_BEFORE_IE = """
aunt badd barb best bigg boon br calor camarader cowr dear drugg folk food good hank hom hood hott
ind kelp kidd ladd lass left loon mean mount mox newb ones potp preem quick road self smooth
soft sweet talk tech tough town trekk und vegg weird wheel
"""
_BEFORE_MAN = """
anchor anchorwo camera con front funny gag hit law side straw strong stunt stuntwo wing yes
"""
_PLURALS = {
    "ox": "oxen",
    **{f"{head}ie": f"{head}ies" for head in _BEFORE_IE.split()},
    **{f"{head}man": f"{head}men" for head in _BEFORE_MAN.split()},
}
# Acronyms with vowels: *VIPs*.
_ACRONYMS = {"api", "atm", "ceo", "cfo", "ep", "id", "iou", "iq", "ngo", "suv", "ufo", "usb", "vip"}

# (word, first letters of the tag) → lemma, where the word is contracted or the tables say less.
_IRREGULAR = {
    **{(plural, "NN"): noun for noun, plural in _PLURALS.items()},
    **{(form, "VB"): "be" for form in _FORMS_OF_BE},
    ("'ve", "VB"): "have",
    ("'d", "VB"): "have",
    ("'d", "MD"): "would",
    ("'ll", "MD"): "will",
    ("wo", "MD"): "will",
    ("ca", "MD"): "can",
    ("sha", "MD"): "shall",
    ("n't", "RB"): "not",
    **dict.fromkeys((("mimicked", "VB"), ("mimicking", "VB")), "mimic"),
    **dict.fromkeys((("programmed", "VB"), ("programming", "VB")), "program"),
}
_IRREGULAR_WORDS = frozenset(word for word, _ in _IRREGULAR)
_IRREGULAR_SPELLINGS = _IRREGULAR_WORDS.union(word.replace("'", "’") for word in _IRREGULAR_WORDS)

# Which form of be a matched form asks for: (target, matched form) → form.
_BE_PAST = {
    **dict.fromkeys(("am", "is", "was", "'s", "'m"), "was"),
    **dict.fromkeys(("are", "were", "'re"), "were"),
}
_BE_PRESENT = {**dict.fromkeys(("am", "'m"), "am"), **dict.fromkeys(("are", "were", "'re"), "are")}
_BE = {
    "VB": ("be",),
    "VBD": ("was", "were"),
    "VBG": ("being",),
    "VBN": ("been",),
    "VBP": ("am", "are"),
    "VBZ": ("is",),
}


@dataclass(frozen=True, slots=True)
class Inflection:
    """The forms that a word has under a tag, most usual first: one, several or none."""

    forms: tuple[str, ...]

    @property
    def unique(self) -> str | None:
        """The form, where there is exactly one."""
        return self.forms[0] if len(self.forms) == 1 else None

    @property
    def ambiguous(self) -> bool:
        """Whether there are several forms and nothing tells which is meant."""
        return len(self.forms) > 1


class _WordForms(dict[str, tuple[str, ...]]):
    """Forms of a word. lemminflect deep-copies what it looks up; for these a copy will do."""

    def __deepcopy__(self, _: object) -> dict[str, tuple[str, ...]]:
        return dict(self)


class _LazyTable:
    """A file of lemminflect, of which a line is parsed when its word is asked for.

    Its gzipped lines begin with a word and a comma; a word may have several. To parse all takes
    0.3 s, most of it for words that no text has. Entries of ``instead`` replace those of the file.
    """

    def __init__(
        self,
        path: str,
        parse_line: Callable[[str], dict[str, tuple[str, ...]]],
        instead: Mapping[str, dict[str, tuple[str, ...]]],
    ) -> None:
        self._parse_line = parse_line
        self._instead = {word: _WordForms(forms) for word, forms in instead.items()}
        # All lines of a word as one text: with a list for each of 100,000 words, every garbage
        # collection would visit all lists.
        self._lines: dict[str, str] = {}
        for line in gzip.decompress(Path(path).read_bytes()).decode().splitlines():
            word = line[: line.index(",")]
            before = self._lines.get(word)
            self._lines[word] = line if before is None else f"{before}\n{line}"

    def lines(self, word: str) -> Sequence[str]:
        return self._lines.get(word, "").splitlines()

    def all_lines(self) -> Iterable[str]:
        """The lines of all words, those of a word as one text."""
        return self._lines.values()

    def get(self, word: str, default: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """What the file says of a word."""
        if word in self._instead or word not in self._lines:
            return self._instead.get(word, default)
        entry = _WordForms()
        for line in self.lines(word):
            entry.update(self._parse_line(line))
        return entry


class _Lemminflect:
    """The two tables of lemminflect, without the cost of importing the package."""

    def __init__(self) -> None:
        # The package imports spaCy, which takes a second, to extend it. Its modules do not: they
        # are imported under an empty package, which is removed afterwards.
        name = "lemminflect"
        spec = find_spec(name)
        if spec is None or name in sys.modules:
            import_module(name)
        else:
            sys.modules[name] = module_from_spec(spec)
        try:
            config = import_module(f"{name}.config")
            form_lines = import_module(f"{name}.codecs.InflectionLUCodec").InflectionLUCodec
            self._class_of = cache(import_module(f"{name}.core.LexicalUtils").categoryToUPos)
            overrides = import_module(f"{name}.codecs.OverridesCodec").OverridesCodec
            self._instead = overrides.load(config.lemma_overrides_fn)
            self._lemmas = import_module(f"{name}.core.Lemmatizer").Lemmatizer()
            self._forms = import_module(f"{name}.core.Inflections").Inflections()
        finally:
            if getattr(sys.modules.get(name), "__version__", None) is None:
                sys.modules.pop(name, None)

        def lemmas_of(line: str) -> dict[str, tuple[str, ...]]:
            _, category, lemmas = line.split(",")
            return {self._class_of(category): tuple(lemmas.split("/"))}

        def forms_of(line: str) -> dict[str, tuple[str, ...]]:
            forms: dict[str, tuple[str, ...]] = form_lines.fromString(line)[2]
            return forms

        # Without these attributes, each of them would load its file.
        self._lemmas.lemma_dict = _LazyTable(config.lemma_lu_fn, lemmas_of, {})
        self._forms.infl_dict = _LazyTable(
            config.inflection_lu_fn, forms_of, form_lines.updateForAuxMod({})
        )

    def lemmas(self, word: str, upos: str, *, guess: bool = True) -> tuple[str, ...]:
        """The lemmas of a lower-cased word of a class, from the tables or else guessed.

        ``getLemma`` gives the same, but copies all that the tables say of a word.
        """
        listed = self._listed(word, upos)
        if listed or not guess:
            return listed
        guessed: tuple[str, ...] = self._lemmas.getAllLemmasOOV(word, upos).get(upos, ())
        return guessed

    def may_be_among(self, word: str, upos: str, lemmas: AbstractSet[str]) -> bool:
        """Whether `lemmas` may give one of these; no lemma is guessed to find out."""
        listed = self._listed(word, upos)
        if listed:
            return not lemmas.isdisjoint(listed)
        head = word[: -self._longest_ending]  # a guess changes the end of a word
        return any(map(str.startswith, lemmas, repeat(head)))

    def _listed(self, word: str, upos: str) -> tuple[str, ...]:
        """The lemmas of a word of a class in the tables; of several lines the last one counts."""
        instead = self._instead.get(word)
        if instead is not None and upos in instead:
            return tuple(map(str.lower, instead[upos]))
        for line in reversed(self._lemmas.lemma_dict.lines(word)):
            _, category, lemmas = line.split(",")
            if self._class_of(category) == upos:
                return tuple(lemmas.lower().split("/"))
        return ()

    @cached_property
    def _longest_ending(self) -> int:
        """How many letters at the end of a word its guessed lemma may change."""
        rules: list[str] = self._lemmas._getOOVLemmatizer().rules
        endings = (rule.split(",") for rule in rules)
        return max(len(ending) + (doubled == "True") for ending, _, doubled in endings)

    def forms(self, lemma: str, tag: str, *, guess: bool = True) -> tuple[str, ...]:
        if tag == "NNS" and lemma in _PLURALS:
            return (_PLURALS[lemma],)
        forms: tuple[str, ...] = self._forms.getInflection(lemma, tag, guess)
        if tag in _DEGREES and lemma[-1:] == "e":  # not `freeer`
            return tuple(form.replace(f"{lemma}e", lemma) for form in forms)
        return forms

    def classes(self, word: str) -> dict[str, tuple[str, ...]]:
        """The classes that a word has in the tables, with its lemmas in each."""
        lemmas: dict[str, tuple[str, ...]] = self._lemmas.lemma_dict.get(word, {})
        return lemmas

    def is_lemma(self, word: str) -> bool:
        """Whether the tables have a word of which this is the first, and so the only, lemma."""
        line = re.compile(rf",{re.escape(word)}(?:/|$)", re.IGNORECASE | re.MULTILINE)
        return any(map(line.search, self._lemmas.lemma_dict.all_lines()))

    def paradigm(self, lemma: str) -> dict[str, tuple[str, ...]]:
        """All forms of a lemma in the tables, by their Penn tags."""
        forms: dict[str, tuple[str, ...]] = self._forms.infl_dict.get(lemma, {})
        past = forms.get("VBD")
        return forms if past is None else {"VBN": past, **forms}


# One thread at a time may read them: that puts an empty package in the place of the real one.
_reading = threading.Lock()
_read_tables = lru_cache(maxsize=1)(_Lemminflect)


def _tables() -> _Lemminflect:
    with _reading:
        return _read_tables()


def _plain(word: str) -> str:
    """The word as the tables spell it: lower case, straight apostrophe."""
    return word.lower().replace("’", "'")


@lru_cache(maxsize=1 << 16)
def is_listed(word: str, classes: Sequence[str] = ("NOUN", "VERB", "ADJ", "ADV")) -> bool:
    """Whether a word is a form of a noun, verb, adjective or adverb of the tables."""
    return any(_tables().lemmas(word, upos, guess=False) for upos in classes)


@lru_cache(maxsize=1024)
def base_of_form(word: str) -> str | None:
    """The lemma of a word that itself is the lemma of none, so that it is only a form.

    Example:
        >>> base_of_form("went"), base_of_form("saw")
        ('go', None)
    """
    plain = _plain(word)
    lemmas = next(iter(_tables().classes(plain).values()), ())
    return lemmas[0] if lemmas and not _tables().is_lemma(plain) else None


def lemma(word: str, fine: str) -> str:
    """The lower-cased base form of a word under its fine tag.

    Tags without inflection (and empty tags) give the lower-cased word itself.
    """
    plain, base = _without_tables(word, fine)
    return _lemma_in_tables(plain, fine) if base is None else base


def lemma_among(word: str, fine: str, lemmas: AbstractSet[str]) -> str | None:
    """What `lemma` gives if it is one of these lemmas, else None, which is often known sooner."""
    plain, base = _without_tables(word, fine)
    if base is None and _tables().may_be_among(plain, _WORD_CLASS[fine], lemmas):
        base = _lemma_in_tables(plain, fine)
    return base if base in lemmas else None


def lemma_numbers(
    words: Sequence[str],
    word_of: Int32Array,
    fines: Sequence[str],
    fine_of: Int32Array,
    numbers: Mapping[str, int],
) -> Int32Array:
    """The numbers of the lemmas of some types of tokens, -1 where a lemma has none.

    Type ``i`` is the word ``words[word_of[i]]`` with the fine tag ``fines[fine_of[i]]``.
    """
    lowers = list(map(str.lower, words))
    ids = np.fromiter(map(numbers.get, lowers, repeat(-1)), np.int32, len(words))[word_of]
    irregular = np.fromiter(map(_IRREGULAR_SPELLINGS.__contains__, lowers), np.bool_, len(words))
    inflected = np.fromiter(map(_INFLECTED_TAGS.__contains__, fines), np.bool_, len(fines))
    # The lemma of all other types is the word itself.
    [asked] = (inflected[fine_of] | irregular[word_of]).nonzero()
    texts = map(words.__getitem__, word_of[asked].tolist())
    tags = map(fines.__getitem__, fine_of[asked].tolist())
    lemmas = map(lemma_among, texts, tags, repeat(numbers.keys()))
    ids[asked] = [-1 if each is None else numbers[each] for each in lemmas]
    return ids


def _without_tables(word: str, fine: str) -> tuple[str, str | None]:
    """The word as the tables spell it, and its lemma; None where the tables must be asked."""
    lower = word.lower()
    plain = lower.replace("’", "'")
    if plain in _IRREGULAR_WORDS and (plain, fine[:2]) in _IRREGULAR:
        return plain, _IRREGULAR[plain, fine[:2]]
    if fine in _INFLECTED_TAGS and plain.isascii() and plain.isalpha():
        return plain, None
    return plain, lower


@lru_cache(maxsize=1 << 16)
def _lemma_in_tables(plain: str, fine: str) -> str:
    """The base form of a word that is inflected, as its tag says."""
    candidates = [form.lower() for form in _tables().lemmas(plain, _WORD_CLASS[fine])]
    if len(candidates) > 1:
        for candidate in candidates:
            if plain in _tables().forms(candidate, fine.replace("NNPS", "NNS")):
                return candidate
    return candidates[0] if candidates else plain


@lru_cache(maxsize=1 << 16)
def inflect(word: str, fine: str | None, target: str) -> Inflection:
    """The lower-cased forms of a word under another tag.

    A form of *be* agrees with the form that was matched (``is`` → ``was``, ``are`` → ``were``);
    of the forms in the tables, those that are usual count (`accepted_forms`); a word that already
    stands under the target stays as it is. Base-like targets (``NN``, ``VB``, ``VBP``, ``JJ``,
    ``RB``) give the base form. A degree of comparison that is not in the tables does not exist
    (*beautifuler*), and a word of a class without inflection (*the*, *?*) has no form.
    """
    plain = _plain(word)
    base = lemma(word, fine) if fine is not None else _base_without_tag(plain, target)
    if base == "be" and target in _BE:
        return _inflect_be(plain, target)
    if not base or (fine is not None and fine not in _WORD_CLASS):
        return Inflection(())
    if target in BASE_TAGS:
        return Inflection((base,))
    word_class = _WORD_CLASS.get(target)
    if word_class is None or not base.isascii():
        return Inflection(())
    table_tag = "NNS" if target == "NNPS" else target
    guess = target not in _DEGREES and (fine is None or _WORD_CLASS.get(fine) == word_class)
    guess = guess and base.isalpha()
    forms = _tables().forms(base, table_tag, guess=guess)
    if plain in forms and fine is not None and fine.replace("NNPS", "NNS") == table_tag:
        return Inflection((plain,))
    return Inflection(accepted_forms(base, table_tag, forms, like=plain))


def inflect_like(word: str, model: str, fine: str) -> Inflection:
    """The forms of a rule's own word under the tag of a token; capitals of the word are kept.

    *be* also agrees with a token that is itself a form of *be*.
    """
    form = inflect(word, None, fine)
    if form.ambiguous and word.lower() == "be":
        agreeing = inflect(model, fine, fine)
        form = agreeing if agreeing.unique in form.forms else form
    return Inflection(tuple(keep_casing(each, word) for each in form.forms))


@lru_cache(maxsize=1 << 16)
def analyses(word: str) -> frozenset[tuple[str, str]]:
    """All analyses of a word in the tables: lemmas, each with a Penn tag.

    A base form has the tag ``NN``, ``VB``, ``JJ`` or ``RB``. Words that are not listed and those of
    closed classes have none. The tables are generous (*people* is a verb too).

    Example:
        >>> sorted(analyses("walks")), sorted(analyses("went")), sorted(analyses("the"))
        ([('walk', 'NNS'), ('walk', 'VBZ')], [('go', 'VBD')], [])
    """
    plain = _plain(word)
    return frozenset(
        (base, tag)
        for word_class, bases in _tables().classes(plain).items()
        for base in bases
        for tag, forms in _tables().paradigm(base).items()
        if _WORD_CLASS[tag] == word_class and tag != "VBP" and plain in distinct_forms(forms, base)
    )


def _base_without_tag(plain: str, target: str) -> str:
    """The base form of a rule's own word: itself where the tables inflect it, else its lemma."""
    irregular = _IRREGULAR.get((plain, target[:2]))
    if irregular is not None:
        return irregular
    word_class = _WORD_CLASS.get(target)
    if word_class is None or target in BASE_TAGS or not plain.isascii() or not plain.isalpha():
        return plain
    if _tables().forms(plain, target.replace("NNPS", "NNS"), guess=False):
        return plain
    lemmas = _tables().lemmas(plain, word_class, guess=False)
    return lemmas[0].lower() if lemmas else plain


def _inflect_be(plain: str, target: str) -> Inflection:
    form = {"VBD": _BE_PAST, "VBP": _BE_PRESENT}.get(target, {}).get(plain)
    return Inflection(_BE[target] if form is None else (form,))


def keep_casing(form: str, token: str) -> str:
    """A lower-cased form in the casing shape of the token that it replaces."""
    if token.isupper() and (sum(map(str.isalpha, token)) > 1 or not token[0].isalpha()):
        low = token.lower()
        acronym = low in _ACRONYMS or (token.isalpha() and not set(low) & set("aeiouy"))
        return f"{token}s" if acronym and form == f"{low}s" else form.upper()
    shared = 0
    for ours, theirs in zip(form, token, strict=False):
        if ours != theirs.lower():
            break
        shared += 1
    if shared:
        return token[:shared] + form[shared:]
    return form[:1].title() + form[1:] if token[:1].isupper() else form
