"""Marian models of transformers: a small random one, behind the same protocol."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sentencepiece
import torch
from folder_hub import FolderHub
from greedy import greedy_translations, score, step
from transformers import MarianConfig, MarianMTModel

from sears_dsl.errors import ModelError
from sears_dsl.meaning.pivot_score import PivotScorer
from sears_dsl.translation.marian import MarianModel
from sears_dsl.translation.model_files import pull, pulled_models
from sears_dsl.translation.pivots import load_pivots

TEXTS = [
    "the film is good", "the film is very bad", "a movie is a film", "this is not a book",
    "the story was really fun", "what is the colour of the book", "it was a long story",
]  # fmt: skip


def make_model(folder: Path, *, seed: int, size: int = 60) -> Path:
    """Write a folder as `save_pretrained` does, with a vocabulary of its own."""
    folder.mkdir()
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(TEXTS * 5), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(folder / "source"), vocab_size=size,
        minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    (folder / "target.spm").write_bytes((folder / "source.model").read_bytes())
    (folder / "source.model").rename(folder / "source.spm")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    pieces = [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    names = ["</s>", "<unk>", *(piece for piece in pieces if not piece.startswith("<")), "<pad>"]
    vocabulary = {piece: number for number, piece in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    config = MarianConfig(
        vocab_size=len(names), d_model=16, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=24,
        decoder_ffn_dim=24, max_position_embeddings=32, activation_function="swish",
        scale_embedding=True, pad_token_id=len(names) - 1, eos_token_id=0,
        decoder_start_token_id=len(names) - 1, init_std=0.3,
    )  # fmt: skip
    torch.manual_seed(seed)
    model = MarianMTModel(config)
    model.final_logits_bias.normal_()
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("marian")
    return make_model(place / "there", seed=1), make_model(place / "back", seed=2, size=50)


@pytest.fixture(scope="module")
def model(folders: tuple[Path, Path]) -> MarianModel:
    return MarianModel("tiny", folders[0])


def test_log_probabilities_are_those_of_transformers(
    model: MarianModel, folders: tuple[Path, Path]
) -> None:
    theirs = MarianMTModel.from_pretrained(folders[0]).eval()
    padding = theirs.config.pad_token_id
    memory = model.encode(TEXTS)
    rows = [0, 3, 3, 6]
    targets = [model.target_pieces(TEXTS[number]) for number in (1, 2, 4, 5)]
    for row, target, scores in zip(
        rows, targets, score(model, memory, torch.tensor(rows), targets), strict=True
    ):
        source = torch.tensor([model.source_pieces(TEXTS[row])])
        decoder_input = torch.tensor([[padding, *target[:-1]]])
        with torch.no_grad():
            logits = theirs(input_ids=source, decoder_input_ids=decoder_input).logits[0]
        logits[:, padding] = -torch.inf
        expected = logits.log_softmax(-1).gather(1, torch.tensor(target)[:, None])[:, 0]
        assert torch.allclose(scores, expected, atol=1e-4)


def test_steps_branch_and_never_write_padding(model: MarianModel) -> None:
    memory = model.encode(TEXTS)
    target = model.target_pieces(TEXTS[1])
    [expected] = score(model, memory, torch.tensor([2]), [target])
    state, last, found = model.start(memory, torch.tensor([0, 2])), None, []
    for piece in target:
        scores, state = step(model, memory, state, last)
        assert scores[:, -1].max() == -torch.inf
        found.append(scores[-1, piece])
        state = state.select(torch.tensor([1, 0, 1]) if last is None else torch.arange(3))
        last = torch.tensor([3, 4, piece])
    assert torch.allclose(torch.stack(found), expected, atol=1e-4)


def test_texts_may_be_longer_than_the_table_of_positions(model: MarianModel) -> None:
    text = " ".join(TEXTS)
    assert len(model.source_pieces(text)) > 32
    [scores] = score(model, model.encode([text]), torch.tensor([0]), [model.target_pieces(text)])
    assert torch.isfinite(scores).all()


def test_words_outside_of_the_vocabulary_are_unknown_pieces(model: MarianModel) -> None:
    assert model.target_pieces("日")[-2:] == [1, model.end]
    assert (model.writes("日"), model.reads("日"), model.writes("a")) == (False, False, True)
    assert model.text(model.target_pieces(TEXTS[0])) == TEXTS[0]


def test_a_pivot_of_folders_scores(folders: tuple[Path, Path]) -> None:
    pivots = load_pivots([f"fr={folders[0]},{folders[1]}"])
    there, back = (folder.name for folder in folders)
    assert [(p.name, p.forward.name, p.back.name) for p in pivots] == [("fr", there, back)]
    scorer = PivotScorer(pivots, translate=greedy_translations)
    pairs = [(TEXTS[0], TEXTS[0]), (TEXTS[0], TEXTS[1]), (TEXTS[3], "this is a book")]
    ratios = scorer.log_ratios(pairs)
    back = pivots[0].back
    for (original, rewrite), ratio in zip(pairs, ratios, strict=True):
        memory = back.encode(scorer.translations([original])[0])
        totals = [
            score(back, memory, torch.tensor([0]), [back.target_pieces(text)])[0].sum().item()
            for text in (original, rewrite)
        ]
        assert ratio == pytest.approx(totals[1] - totals[0], abs=1e-4)


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no model"):
        load_pivots([f"fr={tmp_path},{tmp_path}"])


def pickled(folder: Path, place: Path) -> Path:
    """The same folder with its weights in a pickle."""
    place.mkdir()
    for file in folder.iterdir():
        if file.name != "model.safetensors":
            (place / file.name).write_bytes(file.read_bytes())
    weights = MarianMTModel.from_pretrained(folder).state_dict()
    torch.save(weights, place / "pytorch_model.bin")
    return place


def test_pickled_weights_are_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    place = pickled(folders[0], tmp_path / "pickled")
    with pytest.raises(ModelError, match=r"are a pickle, pytorch_model\.bin") as caught:
        load_pivots([f"fr={place},{place}"])
    assert "--allow-pickle" in caught.value.help
    assert "save_pretrained" in caught.value.help


def test_a_pickle_of_the_hub_becomes_safetensors_where_that_is_allowed(
    folders: tuple[Path, Path], model: MarianModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARS_MODELS", str(tmp_path / "models"))
    hub = FolderHub(
        {file.name: file.read_bytes() for file in pickled(folders[0], tmp_path / "hub").iterdir()}
    )
    with pytest.raises(ModelError, match="reading a pickle can run code") as caught:
        pull("Some/opus-mt-en-fr", hub=hub)
    assert "sears pivots pull Some/opus-mt-en-fr --allow-pickle" in caught.value.help
    assert pulled_models() == []
    found = pull("Some/opus-mt-en-fr", hub=hub, allow_pickle=True)
    assert "model.safetensors" in found.hashes
    assert not list(found.installed().glob("*.bin"))
    [pivot] = load_pivots(["fr=Some/opus-mt-en-fr,Some/opus-mt-en-fr"])
    text = model.target_pieces(TEXTS[1])
    [mine] = score(model, model.encode(TEXTS), torch.tensor([0]), [text])
    [theirs] = score(pivot.forward, pivot.forward.encode(TEXTS), torch.tensor([0]), [text])
    assert torch.allclose(mine, theirs)


class Harmful:
    """An object whose pickle runs code when it is read without care."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> object:
        return Path.touch, (self.place,)


def test_a_harmful_pickle_runs_nothing(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARS_MODELS", str(tmp_path / "models"))
    place = pickled(folders[0], tmp_path / "hub")
    torch.save({"model.shared.weight": Harmful(tmp_path / "ran")}, place / "pytorch_model.bin")
    hub = FolderHub({file.name: file.read_bytes() for file in place.iterdir()})
    with pytest.raises(ModelError, match="cannot be read as the weights of a Marian model"):
        pull("Some/model", hub=hub, allow_pickle=True)
    assert not (tmp_path / "ran").exists()
    assert pulled_models() == []


def changed(folders: tuple[Path, Path], place: Path, name: str, content: bytes) -> Path:
    place.mkdir()
    for file in folders[0].iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    (place / name).write_bytes(content)
    return place


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("vocab.json", b"["),
        ("vocab.json", b"[" * 100_000),
        ("vocab.json", b"[1]"),
        ("vocab.json", b"{}"),
        ("vocab.json", b'{"</s>": null, "<unk>": 1, "<pad>": 2}'),
        ("vocab.json", b'{"</s>": 1000000000000, "<unk>": 1, "<pad>": 2}'),
        ("vocab.json", b'{"</s>": -5, "<unk>": 1, "<pad>": 2}'),
        ("source.spm", b"no model"),
        ("source.spm", b""),
        # As wide as the weights, in a vocabulary of another size; what is 64 times as wide, as
        # without any word, is drawn at random for seconds before it is found not to fit.
        ("config.json", b'{"d_model": 16}'),
        ("config.json", b"["),
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 64),
        ("model.safetensors", (2**40).to_bytes(8, "little") + b"{}"),
    ],
)
def test_a_folder_of_rubbish_is_reported(
    folders: tuple[Path, Path], tmp_path: Path, name: str, content: bytes
) -> None:
    place = changed(folders, tmp_path / "broken", name, content)
    with pytest.raises(ModelError):
        load_pivots([f"fr={place},{place}"])


def test_a_model_of_several_languages_is_refused(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    vocabulary = b'{"</s>": 0, "<unk>": 1, "<pad>": 2, ">>fra<<": 3}'
    place = changed(folders, tmp_path / "several", "vocab.json", vocabulary)
    with pytest.raises(ModelError, match="several languages"):
        MarianModel("several", place)
