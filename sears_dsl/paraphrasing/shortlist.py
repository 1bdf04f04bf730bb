"""The pieces that paraphrases of some sentences are likely to be written with.

In: readers and the pieces of the sentences that they read. Out: a shortlist of the vocabulary: the
likeliest pieces at every position of each sentence, and the most frequent pieces of all. Holds:
it has the end, every piece of the sentences and all that are needed; it is in rising order and its
length is a multiple of 256 (or the whole vocabulary).
Costs: the output layer once for every position of every sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from sears_dsl.translation.beam_search import DecoderInput

# The likeliest pieces of a position, and of the vocabulary, which SentencePiece sorts by frequency.
NEAREST = 100
FREQUENT = 1000
_MULTIPLE = 256


@torch.inference_mode()
def near_pieces(
    readers: Sequence[DecoderInput],
    targets: Sequence[Sequence[int]],
    *,
    needed: Iterable[int] = (),
) -> list[int]:
    """The shortlist of a batch.

    Args:
        readers: decoders over one vocabulary.
        targets: for each sentence its pieces with the end.
        needed: pieces that must be among them.
    """
    model = readers[0].model
    chosen = {piece for target in targets for piece in target} | set(needed)
    padded = torch.full((len(targets), max(map(len, targets))), model.end)
    for row, target in enumerate(targets):
        padded[row, : len(target)] = torch.tensor(list(target))
    padded = padded.to(model.device)
    size = 0
    for reader in readers:
        state = reader.model.start(reader.memory, reader.rows)
        for position in range(padded.shape[1]):
            last = padded[:, position - 1] if position else None
            hidden, state = reader.model.advance(reader.memory, state, last)
            alive = [row for row, target in enumerate(targets) if position < len(target)]
            logits = reader.model.logits(hidden[alive])
            size = logits.shape[1]
            chosen.update(logits.topk(min(NEAREST, size)).indices.flatten().tolist())
    order = [*range(min(FREQUENT, size)), *(piece for piece in range(FREQUENT, size))]
    target_count = -(-len(chosen | set(order[:FREQUENT])) // _MULTIPLE) * _MULTIPLE
    for piece in order:
        if len(chosen) >= target_count:
            break
        chosen.add(piece)
    return sorted(chosen)
