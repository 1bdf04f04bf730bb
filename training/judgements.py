"""What the judge learns from: rewrites with the share of readers who accept them.

In: files of judgements, and plain English. Out: `Judgement`s. Always holds: the same files and seed
give the same judgements. ``group`` (a target of SWORDS, a rule, a swap, a pair) names what must
stay on one side of a split. Costs half a minute, most of it for the shipped rules.

- SWORDS (CC BY 3.0): substitutes for a word in its context, each judged by three or ten people. It
  lists lemmas; here they take the form of the word that they replace.
- The PPDB sample (CC BY 3.0): pairs of phrases with grades from 1 to 5, without context.
- STS-B (CC BY-SA) and one half of PAWS: pairs of sentences that differ in 1 to 4 words.
- Shipped rules on plain English: people read at least 50 rewrites of each rule and kept the rules
with at most 2 bad ones in 50, so at most 2 in 50 of these judgements are wrong.
- Swaps that spoil a sentence, on the same English: they change the meaning (antonyms, negation,
tense, person, degree, quantity) or break the grammar (number, forms of verbs, words left out,
doubled or exchanged, *willn't*). Nobody read these; a few of them are acceptable by chance.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from sears_dsl.api.applying import apply
from sears_dsl.catalogue import load, shipped_rulesets
from sears_dsl.tagging.fast.fast_tagger import FastTagger
from sears_dsl.tagging.fast.sentences import sentence_bounds
from sears_dsl.tagging.fast.tokenizer import FastTokenizer
from sears_dsl.tagging.inflection import inflect
from sears_dsl.tagging.tokens import Token
from training.texts import read_books, read_squad, split_sentences

_SEED = 7
# Rulesets that readers need not accept: as printed, refused, typing slips, rules that flip labels.
_NOT_ACCEPTED = ("paper", "rejected", "noise", "phenomena")
_WORDS = (5, 30)


class Judgement(NamedTuple):
    """A rewrite and the share of readers who accept it."""

    original: str
    rewrite: str
    share: float
    source: str
    group: str


def swords(file: Path) -> list[Judgement]:
    """The substitutes of SWORDS, each in the sentence of its target."""
    content = json.loads(gzip.decompress(file.read_bytes()))
    substitutes = defaultdict(list)
    for key, each in content["substitutes"].items():
        labels = content["substitute_labels"][key]
        share = sum(label == "TRUE" for label in labels) / len(labels)
        substitutes[each["target_id"]].append((re.sub(r"\s+", " ", each["substitute"]), share))
    tagger = FastTagger()
    judgements = []
    for key, target in content["targets"].items():
        text = re.sub(r"\s", " ", content["contexts"][target["context_id"]]["context"])
        start = target["offset"]
        end = start + len(target["target"])
        bounds = sentence_bounds([text], FastTokenizer())[0]
        low = min(begin for begin, stop in bounds if stop > start)
        high = max(stop for begin, stop in bounds if begin < end)
        tokens = tagger.tag([text]).row(0)
        tag = next((token.fine for token in tokens if token.start <= start < token.end), "")
        left, right = re.sub(" +", " ", text[low:start]), re.sub(" +", " ", text[end:high])
        left, right = left.lstrip(), right.rstrip()
        word = target["target"]
        for lemma, share in substitutes[key]:
            new = _in_form(lemma, word, target["extra"]["coinco_lemma"], target["pos"], tag)
            if word[:1].isupper():
                new = new[:1].upper() + new[1:]
            rewrite = with_article(left, new) + new + right
            if rewrite != left + word + right:
                judgements.append(Judgement(left + word + right, rewrite, share, "swords", key))
    return judgements


def _in_form(substitute: str, word: str, lemma: str, kind: str, tag: str) -> str:
    """A substitute in the form of the word it replaces; of several words one is inflected."""
    if word.lower() == lemma.lower():
        return substitute
    words = substitute.split(" ")
    if kind == "VERB" and tag.startswith("V"):
        words[0] = inflected(words[0], tag)
    elif kind == "NOUN" and tag.startswith("NN") and tag.endswith("S"):
        words[-1] = inflected(words[-1], "NNS")
    elif tag in ("JJR", "JJS", "RBR", "RBS") and len(words) == 1:
        words[0] = inflected(words[0], tag)
    return " ".join(words)


def inflected(word: str, tag: str) -> str:
    """A lemma in the form of a tag, or as it is where no form is known."""
    return next(iter(inflect(word, None, tag).forms), word)


def with_article(left: str, word: str) -> str:
    """``left`` with its final article, if any, changed to fit the new word."""
    article_before = re.search(r"\b(an?)(?=\s+$)", left, re.IGNORECASE)
    if not article_before:
        return left
    article = article_before[1][0] + ("n" if word[:1].lower() in "aeiou" else "")
    return left[: article_before.start()] + article + left[article_before.end() :]


def phrases(file: Path) -> list[Judgement]:
    """The phrase pairs of the PPDB sample; grades 1.5 to 4.5 become shares 0 to 1."""
    judgements = []
    for line in file.read_text("utf-8").splitlines():
        grade, _, old, new, _ = line.split("\t")
        share = min(max((float(grade) - 1.5) / 3, 0.0), 1.0)
        judgements.append(Judgement(old, new, share, "ppdb", f"{old} {new}"))
    return judgements


def graded(name: str, pairs: Iterable[tuple[str, str]], same: Iterable[bool]) -> list[Judgement]:
    """Pairs of sentences that people call the same or different."""
    return [
        Judgement(*pair, float(label), name, " ".join(pair))
        for pair, label in zip(pairs, same, strict=True)
    ]


def in_context(grades: Sequence[Judgement], texts: Sequence[str], *, most: int) -> list[Judgement]:
    """Phrase pairs of one to three words, put into sentences that contain one of the phrases."""
    places: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        words = re.findall(r"[\w']+", text)
        for count in (1, 2, 3):
            for at in range(len(words) - count + 1):
                places[" ".join(words[at : at + count])].append(text)
    judgements = []
    generator = random.Random(_SEED)
    for each in grades:
        pair = [each.original, each.rewrite]
        generator.shuffle(pair)
        old, new = pair
        if not re.fullmatch(r"[a-z' ]{3,}", old) or not re.fullmatch(r"[a-z' ]{3,}", new):
            continue
        for text in places.get(old, [])[:most]:
            start = re.search(rf"(?<![\w'-]){re.escape(old)}(?![\w'-])", text)
            if start:
                left = with_article(text[: start.start()], new)
                rewrite = left + new + text[start.end() :]
                judgements.append(Judgement(text, rewrite, each.share * 0.8, "phrases", each.group))
    generator.shuffle(judgements)
    return judgements


def plain_english(books: Path, squad: Path, treebank: Path, *, count: int | None) -> list[str]:
    """Sentences from books (all but the last tenth), paragraphs, questions and web texts.

    With a count, only so many sentences of 5 to 30 words, equally many of each kind.
    """
    paragraphs, questions = read_squad(squad)
    kinds = [
        read_books(books),
        [each for paragraph in paragraphs for each in split_sentences(paragraph)],
        list(map(str.strip, questions)),
        re.findall(r"^# text = (.*)$", treebank.read_text("utf-8"), re.MULTILINE),
    ]
    if count is None:
        return [text for texts in kinds for text in texts]
    chosen: dict[str, None] = {}
    for texts in kinds:
        fitting = [t for t in texts if _WORDS[0] <= len(t.split()) <= _WORDS[1]]
        random.Random(_SEED).shuffle(fitting)
        chosen.update(dict.fromkeys(fitting[: count // len(kinds)]))
    return list(chosen)


def ruled(texts: Sequence[str], *, most: int) -> list[Judgement]:
    """Rewrites by shipped rules, at most ``most`` of each rule."""
    judgements = []
    for name, file in shipped_rulesets().items():
        if name.split("/")[0] in _NOT_ACCEPTED:
            continue
        counts: Counter[str] = Counter()
        for record in apply(list(texts), load(file)):
            rule = record["rule"]
            counts[rule] += 1
            if counts[rule] <= most:
                pair = record["original"], record["rewritten"]
                judgements.append(Judgement(*pair, 0.96, "rules", f"{name} {rule}"))
    return judgements


def spoiled(texts: Sequence[str], *, most: int) -> list[Judgement]:
    """Sentences that a swap spoils, at most ``most`` of each swap."""
    counts: Counter[str] = Counter()
    judgements = []
    _MET.clear()
    generator = random.Random(_SEED)
    for text, row in zip(texts, _rows(texts), strict=True):
        options = [
            (f"{swap.__name__} {group}", rewrite)
            for swap in _SWAPS
            for group, rewrite in swap(text, row, generator)
            if rewrite != text
        ]
        generator.shuffle(options)
        for group, rewrite in options[:6]:
            counts[group] += 1
            if counts[group] <= most:
                judgements.append(Judgement(text, rewrite, 0.02, "spoiled", group))
    return judgements


def strayed(texts: Sequence[str]) -> list[Judgement]:
    """Sentences with a stray word from another one, as a model's beam may add it.

    A third of the time the word comes at the end, else anywhere; sometimes it replaces a word.
    """
    generator = random.Random(_SEED)
    words = [token.text for row in _rows(texts) for token in row]
    judgements = []
    for text, row in zip(texts, _rows(texts), strict=True):
        word = generator.choice(words)
        token = row[-1] if generator.random() < 1 / 3 else generator.choice(row)
        replaced = generator.random() < 1 / 4
        start, end = (token.start, token.end) if replaced else (token.end, token.end)
        rewrite = f"{text[:start]}{'' if replaced else ' '}{word}{text[end:]}"
        if word.lower() != token.text.lower():
            judgements.append(Judgement(text, rewrite, 0.02, "strayed", text))
    return judgements


def miswritten(texts: Sequence[str]) -> list[Judgement]:
    """Sentences with a wrong capital, a missing or extra mark, or *is* for a possessive."""
    generator = random.Random(_SEED + 1)
    judgements = []
    for text, row in zip(texts, _rows(texts), strict=True):
        words = [t for t in row if t.text.isalpha() and t.text not in ("I", "i")]
        marks = [t for t in row if not t.text[0].isalnum() and t.text not in ("'s", "n't", "'")]
        owners = [t for t in row if t.fine == "POS" and t.text == "'s"]
        options = []
        if words:
            token = generator.choice(words)
            changed = token.text.lower() if token.text[0].isupper() else token.text.capitalize()
            options.append(("capital", text[: token.start] + changed + text[token.end :]))
            options.append(
                ("capitals", text[: token.start] + token.text.upper() + text[token.end :])
            )
            token = generator.choice(words)
            mark = generator.choice([",", ".", "'", '"', "?", "-", ":", "!", ";", "..."])
            options.append((f"put in {mark}", f"{text[: token.end]}{mark}{text[token.end :]}"))
        if marks:
            token = generator.choice([*marks, marks[-1], marks[-1]])
            options.append((f"lost {token.text}", text[: token.start] + text[token.end :]))
            mark = generator.choice([",", ".", "'", '"', "?", "-", ":", ";"])
            options.append((f"for {token.text}", text[: token.start] + mark + text[token.end :]))
        if owners:
            token = generator.choice(owners)
            options = [("possessive", f"{text[: token.start]} is{text[token.end :]}")]
        for group, rewrite in generator.sample(options, min(2, len(options))):
            if rewrite != text:
                judgements.append(
                    Judgement(text, rewrite, 0.04, "miswritten", f"{group} {text[:20]}")
                )
    return judgements


def _rows(texts: Sequence[str]) -> Iterator[list[Token]]:
    tokens = FastTagger().tag(texts)
    return (tokens.row(number) for number in range(len(texts)))


Swapped = Iterator[tuple[str, str]]


def _words(listed: str) -> tuple[str, ...]:
    """The listed words and phrases; a phrase is written with low lines."""
    return tuple(each.replace("_", " ") for each in listed.split())


#: Exchanges that are never good, both ways where there are two arrows.
_EXCHANGES = _words(
    "is=was are=were was=will_be has=had have=had do=did does=did can=must should=could"
    " will=would may=must must=might good=bad better=worse best=worst great=terrible happy=sad"
    " big=small large=small old=new young=old high=low long=short first=last early=late easy=hard"
    " hot=cold strong=weak right=wrong true=false rich=poor full=empty fast=slow same=different"
    " open=closed many=few more=less most=least all=some every=some always=never often=never"
    " sometimes=always never=ever very=hardly very=too quite=not too=very almost=not only=even"
    " still=already in=on on=under at=in from=to to=from with=without for=against of=for"
    " before=after above=below over=under up=down into=out_of and=or but=and because=although"
    " if=unless he=she him=her his=her they=we them=us their=our I=you my=your this=that"
    " these=those the=a a=the an=the one=two two=three who=which what=who which=who when=where"
    " where=when how=why why=how there=it not=never like=as as=like had=got about=of by=for"
    " love=hate like=hate man=woman boy=girl father=mother day=night yes=no here=there now=then"
    " think=hope know=believe make=do take=give come=go buy=sell win=lose much=many little=few"
    " also=not even=also than=then such=so so=very just=barely each=any some=any any=no no=some"
    " other=same own=other well=good well=badly really=hardly pretty=hardly movie=book film=song"
    " people=person place=time food=service friend=enemy water=wine city=country year=week"
    " world=country war=battle king=queen house=car money=time name=place number=letter"
    " school=church"
)
_EXCHANGED: dict[str, list[str]] = defaultdict(list)
for _pair in _EXCHANGES:
    _old, _new = _pair.split("=")
    _EXCHANGED[_old.lower()].append(_new)

_NOT_HOSTS = _words("is was are were has have had does do did would could should must need might")


def _put(text: str, start: int, end: int, new: str) -> str:
    old = text[start:end]
    if old[:1].isupper() and not (old == "I" or new == "I"):
        new = new[:1].upper() + new[1:]
    return text[:start] + new + text[end:]


def _exchange(text: str, row: list[Token], generator: random.Random) -> Swapped:
    places = [token for token in row if token.text.lower() in _EXCHANGED]
    generator.shuffle(places)
    for token in places[:3]:
        new = generator.choice(_EXCHANGED[token.text.lower()])
        yield f"{token.text.lower()} {new}", _put(text, token.start, token.end, new)


_FORMS = {
    "NN": ("NNS",), "NNS": ("NN",), "VBD": ("VB", "VBZ", "VBG"), "VBZ": ("VB", "VBD", "VBG"),
    "VBG": ("VB", "VBN", "VBZ"), "VBN": ("VB", "VBG", "VBZ"), "VB": ("VBZ", "VBG", "VBD"),
    "VBP": ("VBZ", "VBG"), "JJ": ("JJR", "JJS"), "JJR": ("JJ", "JJS"), "JJS": ("JJ", "JJR"),
}  # fmt: skip


def _form(text: str, row: list[Token], generator: random.Random) -> Swapped:
    places = [token for token in row if token.fine in _FORMS and token.text.isalpha()]
    generator.shuffle(places)
    for token in places[:2]:
        target = generator.choice(_FORMS[token.fine])
        forms = inflect(token.text, token.fine, target).forms
        if len(forms) == 1 and forms[0] != token.text.lower():
            new = _put(text, token.start, token.end, forms[0])
            yield f"{token.fine} {target} {token.text.lower()}", new


_LOST = _words("DT IN TO PRP PRP$ MD CC VBZ VBD VB NN RB WDT VBP POS")


def _left_out(text: str, row: list[Token], generator: random.Random) -> Swapped:
    places = [t for t in row if t.fine in _LOST and t.text.lower() not in ("that", "just", "also")]
    generator.shuffle(places)
    for token in places[:1]:
        after = token.end + (text[token.end : token.end + 1] == " ")
        rest = text[: token.start] + text[after:]
        yield (
            f"{token.fine} {token.text.lower()}",
            rest[:1].upper() + rest[1:] if not token.start else rest,
        )


_PUT_IN = _words(
    "the a of to not never is it very no , that in hardly too_much some and was only party less n't"
)


def _put_in(text: str, row: list[Token], generator: random.Random) -> Swapped:
    token = generator.choice(row)
    new = generator.choice(_PUT_IN)
    if token.start:
        yield new, f"{text[: token.start]}{new} {text[token.start :]}"


def _exchanged_places(text: str, row: list[Token], generator: random.Random) -> Swapped:
    at = generator.randrange(max(1, len(row) - 1))
    pair = row[at : at + 2]
    if len(pair) == 2 and all(t.text.isalpha() for t in pair) and pair[0].end < pair[1].start:
        one, other = pair
        middle = text[one.end : other.start]
        swapped = f"{other.text}{middle}{one.text}"
        yield (
            f"{one.fine} {other.fine} {one.text.lower()}",
            text[: one.start] + swapped + text[other.end :],
        )


def _contraction(text: str, row: list[Token], generator: random.Random) -> Swapped:
    for one, other in pairwise(row):
        wrong = one.text.lower() not in _NOT_HOSTS and one.text.isalpha()
        if other.text.lower() == "not" and wrong:
            yield f"not {one.text.lower()}", text[: one.end] + "n't" + text[other.end :]
        short = {"is": "'s", "are": "'re", "will": "'ll", "have": "'ve"}.get(other.text.lower())
        if short and one.fine in ("NNS", "JJ", "VBG", "RB"):
            yield f"{short} {one.fine}", text[: one.end] + short + text[other.end :]


def _doubled(text: str, row: list[Token], generator: random.Random) -> Swapped:
    token = generator.choice(row)
    if generator.random() < 0.3:
        yield token.fine, f"{text[: token.end]} {token.text}{text[token.end :]}"


def _another(text: str, row: list[Token], generator: random.Random) -> Swapped:
    """The word of the same kind that this generator met last, as a random substitute."""
    kinds = ("NN", "NNS", "JJ", "VB", "VBD", "VBN", "RB", "IN")
    places = [t for t in row if t.fine in kinds and t.text.islower()]
    if places:
        token = generator.choice(places)
        known = _MET[token.fine]
        if len(known) > 50:
            new = generator.choice(known)
            yield new, _put(text, token.start, token.end, new)
        known.append(token.text)


_MET: dict[str, list[str]] = defaultdict(list)

_SWAPS: Sequence[Callable[[str, list[Token], random.Random], Swapped]] = (
    _exchange, _form, _left_out, _put_in, _exchanged_places, _contraction, _doubled, _another,
)  # fmt: skip
