"""Semantic scores per second, against the plain full-softmax batch loop on the same pairs.

Method: IMDB sentences of at most 30 words, each rewritten in one place, like the rewrites of mined
candidates before the filter: by word lists (movie→film, is→'s, good→bad, I→they), by losing a word,
and by words drawn from the corpus. Discovery scores some hundreds of rewrites of a sentence; here
there are at most a hundred, fewer of short sentences, and the share that reaches tau is printed.
The plain loop takes 32 pairs at a time, sorted by length, and computes log-softmax over the whole
vocabulary for original and rewrite, teacher-forced, padded. Ours are `PivotScorer.scores`, and
`PivotScorer.at_least` at the paper's threshold. Both get the same translations of the originals;
their cost is not timed but printed. The best of several alternating turns counts. The decisions of
all three must be the same, and the log scores equal to 1e-3.
Bias: both sides run the same network code for a decoder step, so the plain loop is not a slow one.
Ours costs less for a pair the more rewrites a sentence has; the plain loop always costs the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.record import Row, data_file, read_options, write_record
from sears_dsl.defaults import PAPER_TAU
from sears_dsl.meaning.pivot_score import PivotScorer
from sears_dsl.translation.network import TranslationModel

SENTENCES = 10
MOST = 100  # rewrites of each sentence
TURNS = 2
_BATCH = 32

# A word may become any other word of its line.
_GROUPS = [
    line.split()
    for line in """
    the a this that any some
    is was 's seems remains are
    are were is
    has had have
    movie film picture flick story book show dog
    movies films pictures stories books
    good great nice fine bad decent excellent poor
    bad awful terrible poor good dreadful
    best finest worst greatest
    very really so quite too extremely rather truly
    and but or yet
    i you they he we
    it this that he
    not never n't hardly
    of in on at for from with about
    to for into
    just only simply even merely
    funny amusing hilarious comic sad
    people persons folks men dogs
    see watch view hear
    think believe guess know
    like love enjoy hate
    much far little
    all every most no
    more less
    one some any
    would could should will might
    who that which
    what which
    there here
    when while if
    character role person figure
    characters roles persons figures
    actors players performers writers
    """.strip().splitlines()
]
_LOST = {"very", "really", "just", "even", "so", "the", "a", "that", "not", "only", "all"}


def rewrites_of(sentence: str, others: Sequence[str]) -> list[str]:
    """The sentence with one word changed or lost: all changes in the lists, and ``others``."""
    words = sentence.split()
    rewrites: dict[str, None] = {}
    for at, word in enumerate(words):
        lower = word.lower()
        options = [other for group in _GROUPS if lower in group for other in group]
        for other in options:
            shown = other.capitalize() if word[:1].isupper() and word != "I" else other
            if other != lower:
                rewrites[" ".join([*words[:at], shown, *words[at + 1 :]])] = None
        if lower in _LOST:
            rewrites[" ".join([*words[:at], *words[at + 1 :]])] = None
    for number, other in enumerate(others):
        at = number % len(words)
        rewrites[" ".join([*words[:at], other, *words[at + 1 :]])] = None
    rewrites.pop(sentence, None)
    return list(rewrites)


def sample_pairs(sentences: int = SENTENCES, most: int = MOST) -> list[tuple[str, str]]:
    """Pairs (original, rewrite); drawn with a seed."""
    lines = data_file("sentiment/imdb.tsv").read_text("utf-8").splitlines()
    texts = [line.split("\t", 1)[1].strip() for line in lines if "\t" in line]
    texts = [text for text in dict.fromkeys(texts) if 4 <= len(text.split()) <= 30]
    draw = random.Random(0)
    draw.shuffle(texts)
    words = " ".join(texts).split()  # frequent words are drawn more often
    pairs: list[tuple[str, str]] = []
    for text in texts[:sentences]:
        drawn = draw.choices(words, k=3 * len(text.split()))
        rewrites = rewrites_of(text, drawn)
        pairs += [(text, rewrite) for rewrite in draw.sample(rewrites, min(most, len(rewrites)))]
    return pairs


@torch.no_grad()
def plain_log_ratios(
    back: TranslationModel, pairs: Sequence[tuple[str, str]], pivots: dict[str, str]
) -> NDArray[np.float64]:
    """Log P(x′ | e) − log P(x | e), batch by batch, everything computed for every pair."""
    ratios = np.zeros(len(pairs))
    order = sorted(range(len(pairs)), key=lambda number: len(pairs[number][0]))
    for begin in range(0, len(order), _BATCH):
        numbers = order[begin : begin + _BATCH]
        sources = [pivots[pairs[number][0]] for number in numbers]
        targets = [back.target_pieces(pairs[number][side]) for side in (0, 1) for number in numbers]
        longest = max(map(len, targets))
        ids = torch.tensor([row + [back.end] * (longest - len(row)) for row in targets])
        memory = back.encode(sources * 2)
        state = back.start(memory, torch.arange(len(ids)))
        vectors = []
        for position in range(longest):
            last = ids[:, position - 1] if position else None
            hidden, state = back.advance(memory, state, last)
            vectors.append(hidden)
        scores = back.logits(torch.stack(vectors, 1)).log_softmax(-1)
        chosen = scores.gather(2, ids[..., None])[..., 0].double().numpy()
        totals = np.array([row[: len(of)].sum() for row, of in zip(chosen, targets, strict=True)])
        half = len(numbers)
        ratios[numbers] = totals[half:] - totals[:half]
    return ratios


def main() -> None:
    """Run and record."""
    pairs = sample_pairs()
    originals = list(dict.fromkeys(original for original, _ in pairs))
    scorer = PivotScorer()
    back = scorer.pivots[0].back
    scorer.scores(pairs[:8])
    begun = time.perf_counter()
    pivots = dict(zip(originals, scorer.translations(originals)[0], strict=True))
    translating = time.perf_counter() - begun

    plain_log_ratios(back, pairs[:_BATCH], pivots)
    seconds: dict[str, list[float]] = {"plain": [], "scores": [], "at_least": []}
    for _ in range(TURNS):
        begun = time.perf_counter()
        expected = plain_log_ratios(back, pairs, pivots)
        seconds["plain"].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        ratios = scorer.log_ratios(pairs)
        seconds["scores"].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        decisions = scorer.at_least(pairs, PAPER_TAU)
        seconds["at_least"].append(time.perf_counter() - begun)
    best = {name: min(times) for name, times in seconds.items()}
    wanted = np.exp(np.minimum(0, expected)) >= PAPER_TAU
    same = bool((decisions == wanted).all() and (wanted == (np.exp(ratios) >= PAPER_TAU)).all())
    largest = float(np.abs(ratios - expected).max())
    verified = same and largest < 1e-3
    rows = [
        Row(
            "pairs",
            {
                "sentences": len(originals),
                "pairs": len(pairs),
                "share at or over tau": round(float(wanted.mean()), 3),
                "largest difference of log scores": round(largest, 6),
                "same decisions": "yes" if same else "NO",
                "plain pairs a second": round(len(pairs) / best["plain"]),
                "translating the originals, in plain pairs": round(
                    translating / best["plain"] * len(pairs)
                ),
            },
            reached=verified,
        )
    ]
    for name, what in (("scores", "every score"), ("at_least", "decisions at tau = 0.0008")):
        ratio = best["plain"] / best[name]
        rows.append(
            Row(
                f"semantic scores, {what}",
                {"times": round(ratio, 1), "pairs a second": round(len(pairs) / best[name])},
                at_least="5×",
                aim="20×",
                reached=verified and ratio >= 5,
            )
        )
    write_record("scoring", rows)


if __name__ == "__main__":
    read_options(__doc__)
    main()
