"""A tiny random network of transformers that answers questions about pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from sears_dsl.errors import ModelError
from sears_dsl.models.loading import load_predictor

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "what", "color", "is", "it", "?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    torch.manual_seed(0)
    place = tmp_path_factory.mktemp("vilt")
    config = transformers.ViltConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, image_size=32, patch_size=16, max_position_embeddings=40,
        id2label={0: "red", 1: "blue", 2: "yes"}, label2id={"red": 0, "blue": 1, "yes": 2},
    )  # fmt: skip
    transformers.ViltForQuestionAnswering(config).save_pretrained(place)
    (place / "vocab.txt").write_text("\n".join(WORDS))
    transformers.ViltProcessor(
        transformers.ViltImageProcessor(size={"shortest_edge": 32}),
        transformers.BertTokenizerFast(str(place / "vocab.txt")),
    ).save_pretrained(place)
    for color in ("red", "blue"):
        Image.new("RGB", (40, 30), color).save(place / f"{color}.png")
    return place


def test_it_answers_and_says_how_sure_it_is(folder: Path) -> None:
    model = load_predictor(f"hf:{folder}")
    row = {"question": "What color is it ?", "image": str(folder / "red.png")}
    [free, again] = model.predict_with_confidence([row, row])
    assert free == again
    assert free.label in {"red", "blue", "yes"}
    others = {"red", "blue", "yes"} - {free.label}
    [chosen] = model.predict_with_confidence([{**row, "choices": "|".join(sorted(others))}])
    assert chosen.label in others
    assert chosen.confidence is not None
    assert free.confidence is not None
    assert chosen.confidence <= free.confidence


def test_it_says_what_it_lacks(folder: Path) -> None:
    model = load_predictor(f"hf:{folder}")
    with pytest.raises(ModelError, match="needs the columns question and image"):
        model.predict([{"question": "What color is it ?"}])
    with pytest.raises(ModelError, match="knows none of the answers green"):
        model.predict([{"question": "What?", "image": str(folder / "red.png"), "choices": "green"}])
