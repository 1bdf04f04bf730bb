"""Which forms of lemminflect's tables rules may write: the usual ones, one where one is usual.

The tables come from a medical lexicon, which lists misspellings (*occured*), plurals that nobody
writes (*informations*), and comparatives that are other words (*wrong, worse*). Where

- forms are spellings of one another (*traveled, travelled*), the usual American one is written;
- they are made differently and both are usual (*learned, learnt*; *indexes, indices*), all stay, so
  that rules do not fire;
- no form is usual (*information*, *wicked*), there is none.

Patterns decide where English spelling is regular, and short lists elsewhere. To read a text, the
tables are used as they are: *occured* has the lemma *occur*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence


def _pairs(text: str) -> dict[str, tuple[str, ...]]:
    """Words with their forms: ``bend bent, lie lain/lied``."""
    entries = (entry.split() for entry in text.split(","))
    return {word: tuple(forms.split("/")) for word, forms in entries}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ---------------------------------------------------------------- verbs

# Verbs whose final consonant doubles, though the tables have it single; of other verbs with both
# spellings the last syllable is weak, and the single one is American.
_DOUBLING = _words(
    """
    appal caravan control corral diagram hobnob humbug kidnap microchip occur program refer
    waterlog whiz worship
    """
)

_PASTS = _pairs(
    """
    abide abided, bend bent, bereave bereaved, bestride bestrode, bet bet, bias biased, bide bided,
    blend blended, bless blessed, broadcast broadcast, bus bused, chide chided, cost cost,
    crow crowed, enrol enrolled, fly flew, forbid forbade, forecast forecast, forego forewent,
    forgo forwent, forswear forswore, grind ground, heave heaved, hiccough hiccoughed, inlay inlaid,
    input input, inset inset, interweave interwove, joyride joyrode, leap leaped/leapt,
    light lit, mow mowed,
    offset offset, outbid outbid, output output, overlay overlaid, panel paneled, pay paid,
    plead pleaded, program programmed, quit quit, rabbit rabbited, rebroadcast rebroadcast,
    recast recast, relay relayed, rid rid, ski skied, speed sped, spring sprang, stave staved,
    stay stayed, sublet sublet, tear tore, torpedo torpedoed, unbend unbent, wake woke,
    weave wove, wind wound
    """
)
_PAST_PARTICIPLES = _pairs(
    """
    bestride bestridden, bid bid/bidden, fly flown, forbid forbidden, forego foregone,
    forgo forgone, forswear forsworn, interweave interwoven, joyride joyridden, lie lain/lied,
    mow mown, overcome overcome, shrink shrunk, spell spelled/spelt, spring sprung,
    strike struck, tear torn,
    wake woken, weave woven
    """
)
_PRESENT_PARTICIPLES = _pairs(
    """
    age aging, bus busing, cue cueing, enrol enrolling, eye eyeing, forego foregoing,
    forgo forgoing, forswear forswearing, glue gluing, hiccough hiccoughing, inlay inlaying,
    panel paneling, program programming, queue queuing, sting stinging, taxi taxiing, tie tying
    """
)
_THIRD_PERSONS = _pairs(
    "forego foregoes, forgo forgoes, lasso lassoes, torpedo torpedoes, whiz whizzes, zero zeroes"
)
_NO_VERBS = _words("beware clad fee landslide lassoo lightning login quid wrought zinc")


def _verb(lemma: str, tag: str, forms: Sequence[str], like: str) -> Sequence[str]:
    if lemma in _NO_VERBS:
        return ()
    chosen = _VERBS[tag].get(lemma) or (_PASTS.get(lemma) if tag == "VBN" else None)
    if chosen is not None:
        return chosen
    if tag == "VBZ":
        return _regular(lemma, forms)
    if lemma in _DOUBLING:
        return (f"{lemma}{lemma[-1]}{'ing' if tag == 'VBG' else 'ed'}",)
    if re.search("[aio]c$", lemma) and _syllables(lemma) > 1:  # mimicked
        return tuple(re.sub(r"c(?=ed$|ing$)", "ck", form) for form in forms)
    if lemma[-1] == "c" and len(forms) > 1:  # arced
        return _without(forms, lambda form: form.startswith(f"{lemma}k"))
    return _one_consonant(lemma, forms, like)


def _one_consonant(lemma: str, forms: Sequence[str], like: str) -> Sequence[str]:
    """One of the forms that differ in their consonants alone: *traveled, travelled*."""
    doubled_stem = f"{lemma}{lemma[-1]}"
    doubled_forms = {form for form in forms if form.startswith(doubled_stem)}
    single = {lemma + form.removeprefix(doubled_stem) for form in doubled_forms}
    # A word that doubles the consonant goes on to do so: *travelling* → *travelled*.
    unusual = single if like.startswith(doubled_stem) else doubled_forms
    return _without(forms, lambda form: form in unusual) if single & set(forms) else forms


# ---------------------------------------------------------------- nouns

_SAME_PLURAL = re.compile(
    "(?:air|hover|rotor|space|water)craft|.*(?:[lmntu]ese|fish|deer|sheep)|bison|cattle|cod|elk"
    "|data|dice|moose|offspring|people|percent|personnel|police|salmon|samurai|swine|trout|vermin"
    "|yen|yuan"
)
_MASS = re.compile(
    ".*(?:ics|ss|us|itis)|cannabis|chaos|diabetes|herpes|measles|molasses|mumps|news|rabies|tennis"
    "|upstairs"
)
# Nouns in *-ness* of which the tables rightly have a plural, though they are also not counted.
_COUNTED = _words(
    """
    agribusiness business fastness harness highness illness kindness likeness sickness thickness
    unkindness weakness wilderness witness
    """
)
_UNCOUNTED = _words(
    """
    access advent advice ammunition anthropology archaeology asthma availability beef biology
    bread butter champagne chemistry childhood coffee combustion compression consumption
    cooperation corn coverage custody discrimination downtown earth ecology emergence equality
    equipment ferocity football gold gravity grief guidance guilt handwriting heating
    homosexuality housing imagery immigration importance inability independence information
    infrastructure insurance integrity intercourse internet isolation knowledge laughter
    leadership learning legislation leisure lighting linen literature living logic machinery
    magic management marketing maturity momentum money mourning nausea participation
    perspiration phonology photography photosynthesis piracy pollution popularity poultry
    precipitation precision preservation pride proximity psychology public rainfall safety scope
    scrutiny sociology software stability storage sunlight theology thirst tobacco today
    tomorrow tonight traction training transportation tuberculosis turf vegetation vicinity
    vitality wheat wisdom zinc
    """
)
# Nouns of which another plural than the one in -s is the usual one.
_PLURALS = _pairs(
    """
    abdomen abdomens, addendum addenda, alga algae, aneurysm aneurysms, axis axes,
    bacillus bacilli, beau beaux, bookshelf bookshelves, buffalo buffalo/buffaloes,
    candelabrum candelabra, chili chilies, chilli chillies, codex codices,
    corpus corpora, criterion criteria, crux cruxes,
    curriculum curricula, datum data, domino dominoes, draftsman draftsmen, echo echoes,
    equilibrium equilibria, erratum errata, esophagus esophagi, fez fezzes, flagellum flagella,
    fungus fungi, ganglion ganglia, genus genera, half halves, hobo hoboes, hoof hooves,
    housewife housewives, humerus humeri, larva larvae, layup layups, leaf leaves, locus loci,
    louse lice, marquee marquees, matchup matchups, matrix matrices, midwife midwives,
    mosquito mosquitoes, nucleus nuclei, opus opuses, ovum ova, papyrus papyri,
    phenomenon phenomena, ploughman ploughmen, pupa pupae, radius radii, regimen regimens,
    sarcophagus sarcophagi, scarf scarves, septum septa, snob snobs, spectrum spectra,
    stimulus stimuli, stratum strata, substratum substrata, tableau tableaux, tornado tornadoes,
    torpedo torpedoes, vertebra vertebrae, vertex vertices, volcano volcanoes, wharf wharves
    """
)
# Nouns of which both plurals are usual, in one meaning or another.
_TWO_PLURALS = _words(
    """
    amoeba antenna apex appendix archipelago automaton cactus calculus calico cargo chateau
    colossus compendium concerto conch consortium continuum cortex cranium crocus desperado
    dictum die dwarf emporium fiasco flamingo focus formula forum fresco genie go halo helix
    hippopotamus honorarium index innuendo iris kibbutz lexicon libretto mango maximum medium
    memorandum millennium minimum motto mulatto narcissus nebula nova octopus optimum peccadillo
    persona phalanx pharynx portico real referendum salvo schema serum staff stigma syllabus
    symposium terminus thorax trousseau vortex
    """
)


def _plural(lemma: str, forms: Sequence[str]) -> Sequence[str]:
    if lemma in _PLURALS:
        return _PLURALS[lemma]
    if _SAME_PLURAL.fullmatch(lemma):
        return (lemma,)
    if lemma in _UNCOUNTED or lemma.endswith("itis"):
        return ()
    if lemma in forms and lemma.endswith("ness") and lemma not in _COUNTED:
        return ()
    if lemma in forms[:1]:  # not counted, plural itself (*clothes*), or both counted and not
        alone = (lemma,) if lemma[-1] == "s" and not _MASS.fullmatch(lemma) else ()
        return forms if len(forms) > 1 else alone
    return forms if lemma in _TWO_PLURALS else _regular(lemma, forms)


def _regular(lemma: str, forms: Sequence[str]) -> Sequence[str]:
    """The form in *-s* that spelling asks for, if it is one of several."""
    ending = "es" if re.search("(?:s|x|z|ch|sh)$", lemma) else "s"
    stem = f"{lemma[:-1]}ie" if re.search("[^aeiou]y$", lemma) else lemma
    regular = f"{stem}{ending}"
    return (regular,) if regular in forms else forms


# ---------------------------------------------------------------- adjectives

# Of two syllables, those in *-y*, *-le* and *-ow* are compared by their endings, and these.
_COMPARED = _words(
    """
    brusque clever common eerie handsome later lesser pleasant profound remote slender sober
    stupid tender vague
    """
)
_NOT_COMPARED = _words(
    """
    correctly emissary fain ill left little loyal mere minatory prone purple real void wrong
    """
)
_DEGREES = {"JJR": _pairs("old older, gluey gluier"), "JJS": _pairs("old oldest, gluey gluiest")}


def _degree(lemma: str, tag: str, forms: Sequence[str], like: str) -> Sequence[str]:
    long = _syllables(lemma) > 1 and not re.search("(?:y|le|ow)$", lemma)
    if lemma in _NOT_COMPARED or (long and lemma not in _COMPARED):
        return ()
    return _DEGREES[tag].get(lemma) or _one_consonant(lemma, forms, like)


# ---------------------------------------------------------------- all

_VERBS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "VBD": _PASTS,
    "VBN": _PAST_PARTICIPLES,
    "VBG": _PRESENT_PARTICIPLES,
    "VBZ": _THIRD_PERSONS,
}


def accepted_forms(lemma: str, tag: str, forms: Sequence[str], *, like: str) -> tuple[str, ...]:
    """Those of the forms of a lemma under a tag that a rule may write.

    Args:
        lemma: the base form.
        tag: a Penn tag of an inflected verb, noun or adjective.
        forms: the forms in the tables, most usual first.
        like: the word that is inflected; if it doubles its consonant, so do its forms.

    Example:
        >>> accepted_forms("occur", "VBD", ("occurred", "occured"), like="occur")
        ('occurred',)
        >>> accepted_forms("travel", "VBG", ("traveling", "travelling"), like="travelled")
        ('travelling',)
    """
    spelled = _spelled_like(lemma, forms)
    if tag in _VERBS:
        written = _verb(lemma, tag, spelled, like)
    elif tag in _DEGREES:
        written = _degree(lemma, tag, spelled, like)
    else:
        written = _plural(lemma, spelled) if tag == "NNS" else spelled
    return distinct_forms(written, lemma)


def distinct_forms(forms: Sequence[str], lemma: str) -> tuple[str, ...]:
    """Each form once, without further forms that only repeat the base form (films, film)."""
    return tuple(dict.fromkeys([*forms[:1], *(form for form in forms[1:] if form != lemma)]))


def _spelled_like(lemma: str, forms: Sequence[str]) -> tuple[str, ...]:
    """The forms as one word in plain letters: not *over-came*, *ok'd*, nor *jelled* of *gel*."""
    if not lemma.isalpha():
        return tuple(form for form in forms if form.count("-") == lemma.count("-"))
    joined = (re.sub("[- ]", "", form) for form in forms)
    plain = tuple(dict.fromkeys(form for form in joined if form.isascii() and form.isalpha()))
    return tuple(form for form in plain if form[0] == lemma[0]) or plain


def _without(forms: Sequence[str], unusual: Callable[[str], bool]) -> Sequence[str]:
    return tuple(form for form in forms if not unusual(form))


def _syllables(word: str) -> int:
    """About how many syllables a word has: groups of vowels without a silent *e*."""
    return len(re.findall("[aeiouy]+", re.sub("(?<=[^aeiouyl])e$", "", word)))
