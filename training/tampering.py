"""Makes the edits of mined rules to good sentences, so that a detector learns what is bad English.

In: rows of words as numbers (`Rows`) and, for each pair of word and tag, the wrong forms that may
take its place (`wrong_forms`). Out: padded arrays of rows, the same rows with one to three edits,
and which of their words were touched. Always holds: the same seed and rows give the same edits; an
edited row differs from its original; a row of one word is left alone. Costs a microsecond a word,
compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numba
import numpy as np

# What a row in the making has for each word.
_WORD, _SHAPE, _PAIR, _TOUCHED = range(4)

#: Kinds of edits, and how often each is tried first.
KINDS = {
    "form": 30,
    "function word": 24,
    "same tag": 11,
    "likely neighbour": 8,
    "deletion": 10,
    "insertion": 9,
    "swap": 4,
    "move": 9,
    "capital": 2,
    "licence": 6,
    "glued not": 2,
}

#: What people write by mistake for a word of a closed class. In most places where the word is
#: right, none of these is.
CONFUSED: Mapping[str, str] = {
    "this": "these those", "these": "this that a",
    "that": "who what which those these whether than",
    "those": "that this a", "a": "an many these those several two much", "an": "a many these those",
    "himself": "herself themselves itself myself him", "herself": "himself themselves itself her",
    "themselves": "himself herself itself them", "itself": "himself herself themselves it",
    "myself": "himself herself me yourself", "yourself": "himself herself you myself",
    "ourselves": "themselves himself us", "he": "him himself they", "she": "her herself they",
    "him": "he himself his", "her": "she herself hers", "them": "they themselves their",
    "they": "them themselves he", "i": "me my he", "me": "i myself my", "we": "us he ourselves",
    "us": "we ourselves our", "his": "he him himself", "their": "they them there theirs",
    "its": "it their", "my": "me i mine", "your": "you yours", "our": "us we ours",
    "who": "which what whom whose that he", "which": "who what that whose where",
    "what": "that which who whose how", "whose": "who which what that", "whom": "who which that",
    "where": "which what who", "when": "which what who", "how": "what that who",
    "why": "what which",
    "whether": "that who what which", "if": "that whether", "because": "of that while",
    "in": "on at of to", "on": "in at of by", "at": "in on to of", "of": "to for off from in",
    "to": "for at of too in", "for": "to of since from", "from": "of by to for",
    "with": "by of to from", "by": "from with of to", "about": "of on for", "into": "onto to at",
    "as": "like than that", "like": "as than", "than": "as then that", "since": "for from",
    "not": "n't no none", "n't": "not no", "no": "not any none", "none": "no nothing",
    "never": "ever not", "ever": "always once", "any": "every a some", "some": "any every a",
    "nobody": "anybody", "nothing": "anything", "anything": "something everything",
    "anyone": "someone everyone", "anybody": "everybody", "nor": "or and", "neither": "either",
    "either": "neither both", "each": "all both many", "every": "all many most some",
    "all": "every each", "many": "much every more most", "much": "many very most too",
    "several": "every much a", "few": "little much every", "little": "few many",
    "both": "either each all", "another": "other all many", "other": "another others",
    "most": "more every much", "more": "most much many very", "less": "least few",
    "very": "much many", "too": "also much", "so": "such", "such": "so",
    "enough": "too", "also": "too", "there": "it they their this", "it": "there he they its",
    "had": "got have has", "got": "had have", "have": "has had of", "has": "have had is",
    "is": "are be has", "are": "is be was", "was": "were been", "were": "was been be",
    "am": "is are be", "be": "is are been being", "been": "be was being", "being": "been be is",
    "do": "does is are", "does": "do is has", "did": "was", "'s": "are 've",
    "'re": "is 's", "'m": "is are", "'ve": "has is", "ca": "can", "wo": "will", "can": "ca",
    "will": "wo", "and": "nor", "or": "nor",
    "while": "during", "during": "while", "good": "well", "well": "good", "here": "this",
    "out": "of", "up": "at", "only": "lonely", "own": "self",
}  # fmt: skip

#: Words that are touched more often than others, since they are rare in text or common in rules.
_FAVOURED = {
    5: "himself herself themselves itself myself yourself ourselves ever",
    4: "any each every many much several both these those whose whom who which nobody never nor",
    3: "this that what whether how there an few all some most no than like such very too anything",
    2: "is are was were has have does do he she they him them n't not her his where why",
}

#: Tags whose forms are wrong in place of a form with this tag. Mere tense is not wrong, nor is a
#: form that is spelled like the right one.
_WRONG_TAGS: Mapping[str, tuple[str, ...]] = {
    "NN": ("NNS",), "NNS": ("NN",),
    "VBZ": ("VB", "VB", "VBG", "VBN"), "VBP": ("VBZ", "VBZ", "VBG", "VBN"),
    "VBD": ("VBN", "VBN", "VB", "VBG"), "VBN": ("VBD", "VBD", "VB", "VBG"),
    "VB": ("VBZ", "VBZ", "VBD", "VBG"), "VBG": ("VB", "VBZ", "VBD"),
    "JJ": ("JJS",), "JJR": ("JJ", "JJS"), "JJS": ("JJ", "JJR"), "RBR": ("RB", "RBS"),
}  # fmt: skip

_STRONG = "each every most all both the"
_INSERTED = (
    "the a of to in is are it that and , not do does much very who he they be have on with ever"
    " which there as for at any what his them himself"
)
_DENIED = "ever any anything anyone anybody yet"
_LICENSORS = "not n't never no nobody nothing none"
_PLAIN = "really probably also certainly often soon"
_DROPPED = frozenset(
    {"DT", "IN", "TO", "MD", "PRP", "PRP$", ",", "CC", "EX", "RP", "POS", "WDT", "WP", "WRB"}
)


class Edits(NamedTuple):
    """What the kernel needs to know about words, tags and the text."""

    # words, shapes, pairs: int32 (tokens,): the text
    words: Any
    shapes: Any
    pairs: Any
    starts: Any  # int64 (rows + 1,): first token of each row
    # form_starts, forms, form_chances: wrong forms by pair
    form_starts: Any
    forms: Any
    form_chances: Any
    # confused_starts, confused, confused_chances: wrong function words by word
    confused_starts: Any
    confused: Any
    confused_chances: Any
    favour: Any  # float32 (words,): how much more often a word is touched
    # by_word_starts, by_word: places in the text by word
    by_word_starts: Any
    by_word: Any
    # by_tag_starts, by_tag: places in the text by tag
    by_tag_starts: Any
    by_tag: Any
    # tag_words_starts, tag_words: distinct words by tag
    tag_words_starts: Any
    tag_words: Any
    tags: Any  # uint8 (pairs,)
    kind_of_tag: Any  # uint8 (tags,): 1 droppable, 2 begins a noun phrase, 4 a noun, 8 an adjective
    # inserted, strong: words
    inserted: Any
    strong: Any
    glued: Any  # int32 (words,): the number of the word with n't glued on, or -1
    # there, not_, full_stop: words that matter in themselves
    there: Any
    not_: Any
    denied: Any  # bool (words,): words that need a negation or a question before them
    licensors: Any  # bool (words,): negations
    plain: Any  # adverbs that may stand where a negation stands
    anaphors: Any  # int8 (words,): which kind of pronoun a word is: a reflexive or its antecedent
    # stand_in_starts, stand_ins: words that may replace the antecedent
    stand_in_starts: Any
    stand_ins: Any
    full_stop: Any
    kinds: Any  # float64: cumulative shares of the kinds


def wrong_forms(word: str, tag: str) -> list[str]:
    """Other forms of a word that are wrong where it has this tag; favoured ones are repeated.

    Example:
        >>> sorted(set(wrong_forms("written", "VBN")))
        ['write', 'writing', 'wrote']
        >>> wrong_forms("children", "NNS")
        ['child', 'childrens']
    """
    import lemminflect  # noqa: PLC0415 - slow to load

    upos = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}.get(tag[:1])
    if upos is None or tag not in _WRONG_TAGS or not word.isalpha() or not word.isascii():
        return []
    if word in CONFUSED:
        return []
    lemmas = lemminflect.getLemma(word, upos, lemmatize_oov=False)
    if not lemmas:
        return []
    forms = []
    right = {word}
    if tag in ("VBZ", "VBP"):
        right.update(lemminflect.getInflection(lemmas[0], "VBD", inflect_oov=False))
    for wrong in _WRONG_TAGS[tag]:
        for form in lemminflect.getInflection(lemmas[0], wrong, inflect_oov=False)[:1]:
            if form not in right:
                forms.append(form)
    if tag == "NNS" and not word.endswith("s"):
        forms.append(word + "s")
    if tag == "VBD" and not word.endswith("ed"):
        forms.append(lemmas[0] + "ed")
    if tag in ("JJ", "RB") and not forms:
        return []
    return forms


def table_of(lists: list[list[int]]) -> tuple[Any, Any]:
    """Concatenate lists; returns where each begins, and all their numbers."""
    starts = np.zeros(len(lists) + 1, np.int64)
    starts[1:] = np.cumsum([len(some) for some in lists])
    flat = [value for some in lists for value in some]
    return starts, np.array(flat, np.int32)


def grouped(values: Any, size: int) -> tuple[Any, Any]:
    """Group places by their value."""
    starts = np.zeros(size + 1, np.int64)
    starts[1:] = np.cumsum(np.bincount(values, minlength=size))
    return starts, np.argsort(values, kind="stable").astype(np.int32)


def _chances(old: Any, new: Any) -> Any:
    """How often a word is written instead of another.

    This is in proportion to how often each is written, so that a word occurs by mistake as often as
    it is right; otherwise rare words would look like mistakes.
    """
    return ((new + 1) / (old + new + 2)).astype(np.float32).clip(0.002)


def _stand_ins(  # noqa: PLR0917 - arrays
    words: Any, pairs: Any, starts: Any, number: dict[str, int],
    pair_words: list[int], pair_tags: list[str],
) -> list[list[int]]:  # fmt: skip
    """Names that a text later calls *he*, names that it calls *she*, and plural nouns."""
    size = len(number)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    is_name = np.array([tag == "NNP" for tag in pair_tags])[pairs]
    counts = np.zeros((2, size))
    for side, some in enumerate(("he his him himself", "she her herself")):
        hers = np.zeros(size, np.bool_)
        hers[[number[word] for word in some.split()]] = True
        here = hers[words]
        for distance in range(1, 13):
            both = is_name[:-distance] & here[distance:] & (rows[:-distance] == rows[distance:])
            counts[side] += np.bincount(words[:-distance][both], minlength=size)
    total = counts.sum(0)
    spelled = np.zeros(size, np.bool_)
    for word, at in number.items():
        spelled[at] = word.isalpha() and len(word) > 2
    share = (counts[0] + 1) / (total + 2)
    often = np.bincount(words, minlength=size)
    mostly = np.bincount(words[is_name], minlength=size) > 0.8 * often
    names = (total >= 6) & spelled & mostly
    of_men, of_women = np.nonzero(names & (share > 0.85))[0], np.nonzero(names & (share < 0.3))[0]
    is_plural = np.array([tag == "NNS" for tag in pair_tags])[pairs]
    mostly = np.bincount(words[is_plural], minlength=size) > 0.8 * often
    plural = np.nonzero(mostly & spelled & (often >= 20))[0]
    return [of_men.tolist(), of_women.tolist(), plural.tolist()]


def edits_of(
    words: Any, shapes: Any, pairs: Any, starts: Any, *,
    number: dict[str, int], pair_words: list[int], pair_tags: list[str], forms: list[list[int]],
) -> Edits:  # fmt: skip
    """Prepare what the kernel needs; for the first four see `Edits`.

    Args:
        number: the number of each lower-cased word, wrong forms and glued words included.
        pair_words: the word of each pair.
        pair_tags: the tag of each pair.
        forms: the wrong forms of each pair.
    """
    size = len(number)
    tag_names = sorted(set(pair_tags))
    tag_number = {tag: at for at, tag in enumerate(tag_names)}
    tags = np.array([tag_number[tag] for tag in pair_tags], np.uint8)
    confused: list[list[int]] = [[] for _ in range(size)]
    for word, wrong in CONFUSED.items():
        if word in number:
            confused[number[word]] = [number[form] for form in wrong.split() if form in number]
    favour = np.ones(size, np.float32)
    for weight, some in _FAVOURED.items():
        for word in some.split():
            if word in number:
                favour[number[word]] = weight
    kind = np.zeros(len(tag_names), np.uint8)
    for tag, at in tag_number.items():
        kind[at] = (
            (tag in _DROPPED)
            + 2 * (tag in {"DT", "PRP$"})
            + 4 * (tag in {"NN", "NNS", "NNP", "NNPS"})
            + 8 * (tag in {"JJ", "JJR", "JJS", "CD"})
        )
    glued = np.full(size, -1, np.int32)
    for spelled, at in number.items():
        glued[at] = number.get(f"{spelled}n't", -1)
    by_tag: list[list[int]] = [[] for _ in tag_names]
    for pair_word, tag_of_pair in zip(pair_words, tags.tolist(), strict=True):
        by_tag[tag_of_pair].append(pair_word)
    shares = np.array(list(KINDS.values()), np.float64)
    often = np.bincount(words, minlength=size)
    form_starts, flat_forms = table_of(forms)
    confused_starts, flat_confused = table_of(confused)
    from_confused = np.repeat(np.arange(size), np.diff(confused_starts))
    anaphors = np.full(size, -1, np.int8)
    for at, some in enumerate(("himself he", "herself she", "themselves they")):
        for kind_, word in enumerate(some.split()):
            anaphors[number[word]] = at + 3 * kind_
    stand_ins = table_of(_stand_ins(words, pairs, starts, number, pair_words, pair_tags))

    def marked(listed: str) -> Any:
        marks = np.zeros(size, np.bool_)
        marks[[number[word] for word in listed.split() if word in number]] = True
        return marks

    return Edits(
        words, shapes, pairs, starts,
        form_starts, flat_forms,
        _chances(often[np.repeat(np.array(pair_words), np.diff(form_starts))], often[flat_forms]),
        confused_starts, flat_confused,
        _chances(often[from_confused], often[flat_confused])
        * np.maximum(favour[from_confused], favour[flat_confused]),
        favour,
        *grouped(words, size), *grouped(tags[pairs], len(tag_names)), *table_of(by_tag),
        tags, kind,
        np.array([number[word] for word in _INSERTED.split() if word in number], np.int32),
        np.array([number[word] for word in _STRONG.split() if word in number], np.int32),
        glued, number.get("there", -1), number.get("not", -1),
        marked(_DENIED), marked(_LICENSORS),
        np.array([number[word] for word in _PLAIN.split()], np.int32),
        anaphors, *stand_ins, number["."],
        np.cumsum(shares / shares.sum()),
    )  # fmt: skip


@numba.njit(cache=True)
def _below(size: Any) -> int:
    return int(np.random.random() * size)


@numba.njit(cache=True)
def _pick(weights: Any, count: int) -> int:
    total = 0.0
    for at in range(count):
        total += weights[at]
    if total <= 0.0:
        return -1
    left = np.random.random() * total
    for at in range(count):
        left -= weights[at]
        if left < 0.0 and weights[at] > 0.0:
            return at
    for at in range(count):
        if weights[at] > 0.0:
            return at
    return -1


@numba.njit(cache=True)
def _drawn(starts: Any, members: Any, group: int) -> int:
    """One of the members of a group, or -1 if it has none."""
    low, high = starts[group], starts[group + 1]
    return members[low + _below(high - low)] if high > low else -1


@numba.njit(cache=True)
def _put(row: Any, at: int, word: int) -> None:
    row[_WORD, at], row[_PAIR, at], row[_TOUCHED, at] = word, -1, 1


@numba.njit(cache=True)
def _leave_out(row: Any, at: int, gone: int, count: int) -> None:
    row[:, at : count - gone] = row[:, at + gone : count].copy()


@numba.njit(cache=True)
def _begins_phrase(e: Any, pair: int) -> Any:
    return pair >= 0 and e.kind_of_tag[e.tags[pair]] & 2


@numba.njit(cache=True)
def _size_of_phrase(e: Any, pair: Any, at: int, count: int) -> int:
    """How many words a noun phrase has, the last word of the row left out."""
    size = 1
    while at + size < count - 1 and size < 5:
        here = pair[at + size]
        if here < 0 or not e.kind_of_tag[e.tags[here]] & 12:
            break
        size += 1
    return size


@numba.njit(cache=True)
def _edit(kind: Any, e: Any, row: Any, count: int, weights: Any) -> int:  # noqa: PLR0915 - one loop
    """Make one edit in place; returns the new length, or -1 where the edit does not apply.

    Args:
        row: int32 (4, room): words, shapes, pairs, and which words were touched.
        weights: room for a number for each word.
    """
    word, shape, pair, touched = row[_WORD], row[_SHAPE], row[_PAIR], row[_TOUCHED]
    if kind <= 1:
        for at in range(count):
            total = np.float32(0.0)
            if kind == 0 and pair[at] >= 0:
                for other in range(e.form_starts[pair[at]], e.form_starts[pair[at] + 1]):
                    total += e.form_chances[other]
            elif kind == 1:
                for other in range(e.confused_starts[word[at]], e.confused_starts[word[at] + 1]):
                    total += e.confused_chances[other]
            weights[at] = 0.0 if touched[at] else total
        at = _pick(weights, count)
        if at < 0:
            return -1
        if kind == 0:
            low, high = e.form_starts[pair[at]], e.form_starts[pair[at] + 1]
            new = e.forms[low + _pick(e.form_chances[low:high], high - low)]
        else:
            low, high = e.confused_starts[word[at]], e.confused_starts[word[at] + 1]
            new = e.confused[low + _pick(e.confused_chances[low:high], high - low)]
        if at >= 2 and _begins_phrase(e, pair[at]):
            after = word[at - 2] == e.there or (at >= 3 and word[at - 3] == e.there)
            if kind == 1 and after:
                new = e.strong[_below(len(e.strong))]
        if new == word[at]:
            return -1
        _put(row, at, new)
        return count
    if kind <= 3:
        at = _below(count)
        if touched[at] or pair[at] < 0:
            return -1
        if kind == 2:
            tag = e.tags[pair[at]]
            if np.random.random() < 0.5:
                source = _drawn(e.by_tag_starts, e.by_tag, tag)
                new, form = e.words[source], np.int32(e.shapes[source])
            else:
                new, form = _drawn(e.tag_words_starts, e.tag_words, tag), shape[at]
        else:
            left = np.random.random() < 0.5
            beside = at - 1 if left else at + 1
            if beside < 0 or beside >= count:
                return -1
            place = _drawn(e.by_word_starts, e.by_word, word[beside])
            source = place + (1 if left else -1)
            if place < 0 or source < 0 or source >= len(e.words):
                return -1
            new, form = e.words[source], np.int32(e.shapes[source])
        if new == word[at]:
            return -1
        _put(row, at, new)
        if at > 0:
            shape[at] = form
        return count
    if kind == 4:
        for at in range(count):
            small = pair[at] >= 0 and e.kind_of_tag[e.tags[pair[at]]] & 1
            weights[at] = 4.0 if small else 1.0
        at = _pick(weights, count - 1)
        if at < 0 or count < 3:
            return -1
        gone = 1
        if _begins_phrase(e, pair[at]) and np.random.random() < 0.4:
            gone = _size_of_phrase(e, pair, at, count)
        if count - gone < 2:
            return -1
        first_shape = shape[at]
        _leave_out(row, at, gone, count)
        if at == 0 and first_shape == 1 and shape[0] == 0 and np.random.random() < 0.5:
            shape[0] = 1
        touched[at] = True
        return count - gone
    if kind == 5:
        if count == row.shape[1]:
            return -1
        at = _below(count)
        if at == 0 and np.random.random() < 0.5:
            return -1
        draw = np.random.random()
        form = np.int32(0)
        if draw < 0.15:
            new, form = word[at], shape[at]
        elif draw < 0.4:
            new = e.inserted[_below(len(e.inserted))]
        else:
            beside = word[at - 1] if at else word[at]
            place = _drawn(e.by_word_starts, e.by_word, beside)
            source = place + 1
            if place < 0 or source >= len(e.words):
                return -1
            new, form = e.words[source], np.int32(e.shapes[source])
        row[:, at + 1 : count + 1] = row[:, at:count].copy()
        _put(row, at, new)
        shape[at] = 1 if at == 0 and shape[1] == 1 else form
        return count + 1
    if kind == 6:
        at = _below(count - 1)
        if word[at] == word[at + 1]:
            return -1
        word[at], word[at + 1] = word[at + 1], word[at]
        pair[at], pair[at + 1] = pair[at + 1], pair[at]
        if at > 0:
            shape[at], shape[at + 1] = shape[at + 1], shape[at]
        touched[at] = True
        touched[at + 1] = True
        return count
    if kind == 7:
        if count < 5:
            return -1
        at = _below(count - 1)
        size = 1
        if _begins_phrase(e, pair[at]):
            size = _size_of_phrase(e, pair, at, count)
        elif np.random.random() < 0.3:
            size = 2
        if at + size >= count:
            return -1
        distance = 1 + _below(6)
        left = np.random.random() < 0.5
        if left:
            distance = min(distance, at)
            low, high = at - distance, at + size
            turn = distance
        else:
            distance = min(distance, count - 1 - at - size)
            low, high = at, at + size + distance
            turn = size
        if distance < 1:
            return -1
        before = row[:, low:high].copy()
        row[:, low : high - turn] = before[:, turn:]
        row[:, high - turn : high] = before[:, :turn]
        if (word[low:high] == before[_WORD]).all():
            return -1
        if low == 0 and before[_SHAPE, 0] == 1:
            shape[0] = 1
        touched[low] = True
        touched[min(high, count - 1) if left else high - size] = True
        return count
    if kind == 8:
        at = _below(count)
        if shape[at] > 1 or touched[at]:
            return -1
        shape[at] = 1 - shape[at]
        touched[at] = True
        return count
    if kind == 9:
        last = -1
        for at in range(count):
            if e.denied[word[at]]:
                last = at
        if last < 1:
            return -1
        for at in range(last - 1, -1, -1):
            if e.licensors[word[at]] and not touched[at]:
                if np.random.random() < 0.6:
                    _put(row, at, e.plain[_below(len(e.plain))])
                    touched[last] = True
                    return count
                if at == 0:
                    return -1
                touched[last] = True
                _leave_out(row, at, 1, count)
                return count - 1
        if word[count - 1] != e.full_stop and last > 2 and count > 4:
            word[0], word[1] = word[1], word[0]
            pair[0], pair[1] = pair[1], pair[0]
            word[count - 1] = e.full_stop
            touched[0] = True
            touched[1] = True
            touched[last] = True
            return count
        return -1
    for at in range(1, count):
        if word[at] == e.not_ and e.glued[word[at - 1]] >= 0:
            _put(row, at - 1, e.glued[word[at - 1]])
            _leave_out(row, at, 1, count)
            return count - 1
    return -1


@numba.njit(cache=True)
def _name(e: Any, row: Any, count: int) -> None:
    """Replace the pronoun of a reflexive by a name or a noun, so that the sentence stays good."""
    word = row[_WORD]
    for at in range(1, count):
        anaphor = e.anaphors[word[at]]
        if anaphor < 0:
            continue
        for before in range(at - 1, max(-1, at - 7), -1):
            if e.anaphors[word[before]] == anaphor + 3:
                stand_in = _drawn(e.stand_in_starts, e.stand_ins, anaphor)
                if stand_in >= 0:
                    word[before], row[_PAIR, before] = stand_in, -1
                    if anaphor < 2 or before == 0:
                        row[_SHAPE, before] = 1
                return


@numba.njit(cache=True)
def tamper(e: Any, rows: Any, width: int, seed: int) -> Any:
    """Rows, and the same rows with edits.

    Args:
        rows: numbers of rows of at most ``width`` - 4 words.
        width: the width of the arrays.

    Returns:
        words (rows, width), shapes, lengths; the edited words, shapes, lengths; which were touched.
    """
    np.random.seed(seed)
    size = len(rows)
    words = np.full((size, width), -1, np.int32)
    shapes = np.zeros((size, width), np.uint8)
    lengths = np.zeros(size, np.int32)
    bad_words = np.full((size, width), -1, np.int32)
    bad_shapes = np.zeros((size, width), np.uint8)
    bad_lengths = np.zeros(size, np.int32)
    touched = np.zeros((size, width), np.bool_)
    weights = np.zeros(width, np.float32)
    for at in range(size):
        low, high = e.starts[rows[at]], e.starts[rows[at] + 1]
        count = high - low
        row = np.zeros((4, width), np.int32)
        row[_WORD] = -1
        row[_WORD, :count] = e.words[low:high]
        row[_SHAPE, :count] = e.shapes[low:high]
        row[_PAIR, :count] = e.pairs[low:high]
        # Write some rows as people type them: no capitals, no mark at the end.
        draw = np.random.random()
        if draw < 0.08:
            for to in range(count):
                row[_SHAPE, to] = 0 if row[_SHAPE, to] != 4 else 4
        if np.random.random() < 0.06 and count > 3 and row[_SHAPE, count - 1] == 4:
            count -= 1
            row[_WORD, count] = -1
            row[_SHAPE, count] = 0
        if np.random.random() < 0.6:
            _name(e, row, count)
        lengths[at] = count
        words[at], shapes[at] = row[_WORD], row[_SHAPE]
        draw = np.random.random()
        wanted = 1 if draw < 0.68 else (2 if draw < 0.92 else 3)
        done = 0
        for _ in range(12):
            kind = np.searchsorted(e.kinds, np.random.random())
            new = _edit(kind, e, row, count, weights)
            if new >= 0:
                row[_WORD, new:count], row[_TOUCHED, new:count] = -1, 0
                count = new
                done += 1
                if done == wanted:
                    break
        bad_words[at], bad_shapes[at], touched[at] = row[_WORD], row[_SHAPE], row[_TOUCHED] > 0
        bad_lengths[at] = count
    return words, shapes, lengths, bad_words, bad_shapes, bad_lengths, touched
