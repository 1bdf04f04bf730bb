"""Hugging Face models from a folder: tiny random networks, made here, with no network at all."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.cached import PredictionStore
from sears_dsl.models.loading import load_predictor

pytest.importorskip("transformers", reason="transformers is not installed")

MARKS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
WORDS = [*MARKS.values(), "good", "bad", "film", "what", "color", "is", "it", "red", ".", "?"]
SMALL: dict[str, Any] = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
}


def make(folder: Path, kind: str, **config: Any) -> Path:
    """Write a folder as `save_pretrained` does, with random weights."""
    import torch
    import transformers
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing

    torch.manual_seed(0)
    model = getattr(transformers, kind)(transformers.BertConfig(**SMALL, **config))
    model.save_pretrained(folder)
    places = {word: place for place, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(places, unk_token=MARKS["unk"]))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(
        *((MARKS[mark], places[MARKS[mark]]) for mark in ("sep", "cls"))
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        **{f"{mark}_token": text for mark, text in MARKS.items()},
    ).save_pretrained(folder)
    return folder


def probabilities(folder: Path, text: str) -> list[float]:
    """The probabilities by a plain call of the network."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = model(**tokenizer(text, return_tensors="pt")).logits
    values: list[float] = logits[0].softmax(-1).tolist()
    return values


def test_classification(tmp_path: Path) -> None:
    names = {0: "negative", 1: "neutral", 2: "positive"}
    folder = make(tmp_path, "BertForSequenceClassification", id2label=names)
    texts = ["good film", "bad", "what color is it ?", "film " * 100, ""]
    model = load_predictor(f"hf:{folder}")
    labels = model.predict([{"text": text} for text in texts])
    assert set(labels) <= set(names.values())
    for text, label in zip(texts[:3], labels, strict=False):
        chances = probabilities(folder, text)
        assert label == names[chances.index(max(chances))]
    assert model.predict([{"premise": "good film", "hypothesis": "bad"}])[0] in names.values()
    with pytest.raises(ModelError, match="one text or a pair, not the 3 columns a, b, c"):
        model.predict([{"a": "", "b": "", "c": ""}])


def test_rows_that_are_longer_than_the_model_reads_are_reported(tmp_path: Path) -> None:
    """The model reads 64 pieces; two of them mark the beginning and the end."""
    model = load_predictor(f"hf:{make(tmp_path, 'BertForSequenceClassification')}")
    model.predict([{"text": "film " * 62}, {"text": "unknownwords " * 60}])
    assert model.remarks == []
    model.predict([{"text": "film " * 63}])
    [told] = model.remarks
    assert told.startswith(
        "1 text (row or rewrite) is longer than the 64 tokens that the model reads"
    )
    model.predict([{"text": "film " * 63}, {"a": "film " * 31, "b": "film " * 31}])
    assert model.remarks[0].startswith("2 texts (rows and rewrites) are longer")


def test_answers_are_spans_of_the_context_also_of_a_long_one(tmp_path: Path) -> None:
    folder = make(tmp_path, "BertForQuestionAnswering")
    contexts = ["It  is red . ", "film good bad . " * 60, "Bad."]
    rows = [{"question": "what color ?", "context": context} for context in contexts]
    model = load_predictor(f"hf:{folder}")
    answers = model.predict(rows)
    for answer, context in zip(answers, contexts, strict=True):
        assert answer
        assert answer in context
    # A row's answer does not depend on the other rows.
    alone = [load_predictor(f"hf:{folder}").predict([row])[0] for row in rows]
    assert alone == answers
    with pytest.raises(ModelError, match="needs the columns question and context"):
        model.predict([{"text": "good"}])


def test_a_long_question_leaves_room_for_the_context_and_is_reported(tmp_path: Path) -> None:
    """The model reads 64 pieces: three marks, and at least 26 of the context."""
    model = load_predictor(f"hf:{make(tmp_path, 'BertForQuestionAnswering')}")
    context = "film good bad . " * 20
    for words in (20, 30, 35):
        [answer] = model.predict([{"question": "what " * words, "context": context}])
        assert answer
        assert answer in context
    assert model.remarks == []
    beginning, whole, longer = "what " * 35, "what " * 36, "what " * 200
    answers = model.predict(
        [{"question": question, "context": context} for question in (beginning, whole, longer)]
    )
    assert len(set(answers)) == 1
    assert model.remarks == ["2 questions are too long for the model, which reads the beginning"]


def test_how_sure_a_reader_is_is_the_entropy_over_the_context(tmp_path: Path) -> None:
    import torch
    import transformers

    from sears_dsl.models.certainty import from_distributions

    folder = make(tmp_path, "BertForQuestionAnswering")
    question, context = "what color ?", "it is red film good ."
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    inputs = tokenizer(question, context, return_tensors="pt")
    words = [part == 1 for part in inputs.sequence_ids(0)]
    with torch.inference_mode():
        given = network(**inputs)
    chances = [
        logits[0][words].double().softmax(0).numpy()
        for logits in (given.start_logits, given.end_logits)
    ]
    model = load_predictor(f"hf:{folder}")
    contexts = (context, "film good . " * 60, "Bad.")
    rows = [{"question": question, "context": each} for each in contexts]
    sure = [answer.confidence for answer in model.predict_with_confidence(rows)]
    assert sure[0] == pytest.approx(from_distributions(*chances), abs=1e-6)
    assert sure[1] is not None
    assert 0 <= sure[1] <= 1


def test_the_identity_is_of_the_weights(tmp_path: Path) -> None:
    one = make(tmp_path / "one", "BertForSequenceClassification")
    before = load_predictor(f"hf:{one}").identity
    assert before == load_predictor(f"hf:{one}").identity
    make(one, "BertForSequenceClassification", hidden_act="relu")
    assert load_predictor(f"hf:{one}").identity != before


def test_a_download_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from sears_dsl.models import huggingface

    def fail(*_: object, **__: object) -> None:
        raise OSError("the hub cannot be reached\nand more")

    monkeypatch.setattr(huggingface.AutoConfig, "from_pretrained", fail)
    with pytest.raises(UsageError, match="no model in some/model: the hub cannot be reached"):
        load_predictor("hf:some/model", download=True)


def test_what_is_no_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model of that name is on this machine"):
        load_predictor("hf:nobody/no-such-model")
    with pytest.raises(UsageError, match="there is no model in"):
        load_predictor(f"hf:{tmp_path}")
    masked = make(tmp_path / "masked", "BertForMaskedLM")
    with pytest.raises(UsageError, match="a model of an unknown kind: BertForMaskedLM"):
        load_predictor(f"hf:{masked}")
    number = make(tmp_path / "number", "BertForSequenceClassification", num_labels=1)
    with pytest.raises(UsageError, match="a number for each text, not a label"):
        load_predictor(f"hf:{number}")


def test_weights_that_are_pickles_are_not_read(tmp_path: Path) -> None:
    import torch

    folder = make(tmp_path, "BertForSequenceClassification")
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="could not be loaded") as failure:
        load_predictor(f"hf:{folder}")
    assert "safetensors" in str(failure.value)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("attn_implementation", "evil/kernel", "computes its attention with evil/kernel"),
        ("_attn_implementation", "evil/kernel", "computes its attention with evil/kernel"),
        ("attn_implementation", "flash_attention_2", "code from elsewhere"),
        ("num_labels", "many", "no model in|could not be"),
        ("hidden_size", "wide", "no model in|could not be"),
        ("architectures", "BertForSequenceClassification", "an unknown kind"),
        ("architectures", [5], "an unknown kind"),
        ("model_type", ["bert"], "no model in"),
    ],
)
def test_a_configuration_that_wants_something_else_is_reported(
    tmp_path: Path, field: str, value: object, said: str
) -> None:
    folder = make(tmp_path, "BertForSequenceClassification")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), field: value}), "utf-8")
    with pytest.raises((ModelError, UsageError), match=said):
        load_predictor(f"hf:{folder}")


def test_code_beside_a_model_is_not_run(tmp_path: Path) -> None:
    folder = make(tmp_path / "model", "BertForSequenceClassification")
    path = folder / "config.json"
    own = {"AutoConfig": "evil.Config", "AutoModelForSequenceClassification": "evil.Model"}
    config = {**json.loads(path.read_text("utf-8")), "auto_map": own}
    ran = tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(ran)!r}, 'w')", "utf-8")
    for kind in ("bert", "evil"):
        path.write_text(json.dumps({**config, "model_type": kind}), "utf-8")
        refused = pytest.raises((ModelError, UsageError)) if kind == "evil" else nullcontext()
        with refused:
            load_predictor(f"hf:{folder}").predict([{"text": "good"}])
        assert not ran.exists()


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"[" * 100_000, b"\xff"])
@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_rubbish_in_a_folder_is_reported(tmp_path: Path, file: str, content: bytes) -> None:
    folder = make(tmp_path, "BertForSequenceClassification")
    (folder / file).write_bytes(content)
    with pytest.raises((ModelError, UsageError), match=r"no model in|could not be loaded"):
        load_predictor(f"hf:{folder}")


def test_a_pipeline_is_taken_as_it_is(tmp_path: Path) -> None:
    import transformers

    folder = make(tmp_path, "BertForSequenceClassification", id2label={0: "no", 1: "yes"})
    pipeline = transformers.pipeline("text-classification", model=str(folder))
    rows = [{"text": "good film"}, {"text": "bad"}]
    [first, _] = load_predictor(pipeline).predict_with_confidence(rows)
    assert load_predictor(pipeline).predict(rows) == load_predictor(f"hf:{folder}").predict(rows)
    assert first.confidence == pytest.approx(max(probabilities(folder, "good film")), abs=1e-4)


def test_a_folder_without_a_tokenizer_is_reported(tmp_path: Path) -> None:
    """A tokenizer made from the configuration alone knows no word, so no rule could flip a row."""
    folder = make(tmp_path, "BertForSequenceClassification")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(UsageError, match="has no tokenizer") as told:
        load_predictor(f"hf:{folder}")
    assert "tokenizer.save_pretrained" in told.value.help


@pytest.mark.parametrize("kind", ["BertForSequenceClassification", "BertForTokenClassification"])
def test_a_tokenizer_that_sets_no_limit_has_that_of_the_model(tmp_path: Path, kind: str) -> None:
    import transformers

    folder = make(tmp_path, kind)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text("utf-8"))
    del config["model_max_length"]
    path.write_text(json.dumps(config), "utf-8")
    entities = kind == "BertForTokenClassification"
    task = "token-classification" if entities else "text-classification"
    given: list[Any] = [f"hf:{folder}"]
    if not entities:
        given.append(transformers.pipeline(task, model=str(folder)))
    for each in given:
        model = load_predictor(each, comparison="entities" if entities else "exact")
        assert len(model.predict([{"text": "film " * 100}, {"text": "film"}])) == 2
        assert "longer than the 64 tokens" in model.remarks[0]


def test_places_counted_from_behind_the_padding_are_fewer_pieces() -> None:
    """RoBERTa and its like have 66 places for 64 pieces."""
    import torch
    import transformers

    from sears_dsl.models.huggingface import PipelinePredictor

    torch.manual_seed(0)
    small = {**SMALL, "max_position_embeddings": 66}
    model = transformers.RobertaForSequenceClassification(transformers.RobertaConfig(**small))
    classify = SimpleNamespace(
        task="text-classification", model=model, tokenizer=SimpleNamespace(model_max_length=10**30)
    )
    assert PipelinePredictor(classify)._longest == 64


def test_a_model_without_a_layer_for_positions_states_how_many_it_has(tmp_path: Path) -> None:
    """GPT-2 calls them otherwise; its tokenizer here has no limit, and pieces that are bytes."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    bytes_alone = pre_tokenizers.ByteLevel.alphabet()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=0, initial_alphabet=bytes_alone)
    tokenizer.train_from_iterator([], trainer)
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(bytes_alone), n_embd=16, n_layer=1, n_head=2, n_positions=64
    )
    transformers.GPT2ForSequenceClassification(config).save_pretrained(tmp_path)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    fast.save_pretrained(tmp_path)
    model = load_predictor(f"hf:{tmp_path}")
    assert len(model.predict([{"text": "film " * 100}, {"text": "film"}])) == 2
    assert model.remarks[0].startswith("1 text (row or rewrite) is longer than the 64 tokens")
    # Fifty characters of four bytes each.
    model.predict([{"text": "😀" * 50}])
    assert model.remarks[0].startswith("2 texts")


def test_answers_of_another_kind_are_stored_apart(tmp_path: Path) -> None:
    folder, rows = make(tmp_path / "m", "BertForSequenceClassification"), [{"text": "good film"}]
    fresh = load_predictor(f"hf:{folder}", comparison="set").predict(rows)
    with PredictionStore(tmp_path / "answers.sqlite3") as store:
        load_predictor(f"hf:{folder}", store=store).predict(rows)
        stored = load_predictor(f"hf:{folder}", store=store, comparison="set")
        assert stored.predict(rows) == fresh
        assert stored.asked == 1
        with pytest.raises(ModelError, match=rf"^hf:{folder} \(\w+\) takes one text or a pair"):
            stored.predict([{"a": "good", "b": "good", "c": "good"}])


def test_a_pipeline_that_gives_all_labels_is_asked_for_the_best(tmp_path: Path) -> None:
    import transformers

    folder = make(tmp_path, "BertForSequenceClassification", id2label={0: "no", 1: "yes"})
    every = transformers.pipeline("text-classification", model=str(folder), top_k=None)
    rows = [{"text": "good film"}, {"text": "bad"}]
    assert load_predictor(every).predict(rows) == load_predictor(f"hf:{folder}").predict(rows)


def test_a_network_without_its_tokenizer_is_reported(tmp_path: Path) -> None:
    import transformers

    folder = make(tmp_path, "BertForSequenceClassification")
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    with pytest.raises(UsageError, match="does not read texts") as told:
        load_predictor(network)
    assert "transformers.pipeline" in told.value.help
