"""The language model: its file, its network compared with transformers, and its answers."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from sears_dsl.errors import ModelError
from sears_dsl.judge.likelihood import (
    AFTER,
    LIKELIER,
    LIKELIHOOD,
    LikelihoodModel,
    Nats,
    columns_of,
    window_of,
)
from sears_dsl.translation.gguf_file import read_gguf
from sears_dsl.translation.model_files import carried_language_model

_LAYERS, _WIDTH, _HEADS, _SHARED, _WIDE = 3, 32, 4, 2, 64
_END = "<|endoftext|>"


def _letters() -> list[str]:
    """The signs that stand for bytes in tokenizers of GPT-2's kind."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) for byte in plain] + [chr(256 + number) for number in range(len(others))]


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _packed(values: Any, kind: int) -> bytes:
    """Numbers as the file has them, one block after another, in plain loops."""
    if kind == 0:
        return np.asarray(values, "<f4").tobytes()
    packed = b""
    for block in np.asarray(values, np.float32).reshape(-1, 32):
        if kind == 8:
            scale = float(np.abs(block).max()) / 127 or 1.0
            numbers = [round(float(each) / scale) for each in block]
            packed += struct.pack("<e32b", scale, *numbers)
        else:
            low = float(block.min())
            scale = (float(block.max()) - low) / 15 or 1.0
            halves = [min(15, max(0, round((float(each) - low) / scale))) for each in block]
            both = [halves[at] | halves[at + 16] << 4 for at in range(16)]
            packed += struct.pack("<ee16B", scale, low, *both)
    return packed


def _write(path: Path, fields: dict[str, Any], tensors: dict[str, tuple[Any, int]]) -> None:
    """Write a file of that layout by other code than reads it."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    for name, value in fields.items():
        head += _string(name)
        if isinstance(value, str):
            head += struct.pack("<I", 8) + _string(value)
        elif isinstance(value, list):
            head += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
        elif isinstance(value, float):
            head += struct.pack("<If", 6, value)
        else:
            head += struct.pack("<II", 4, value)
    body = b""
    for name, (values, kind) in tensors.items():
        sizes = np.shape(values)[::-1]
        head += _string(name) + struct.pack("<I", len(sizes))
        head += struct.pack(f"<{len(sizes)}Q", *sizes) + struct.pack("<IQ", kind, len(body))
        body += _packed(values, kind)
        body += bytes(-len(body) % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + body)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LlamaForCausalLM]:
    """A network of random weights: its file, and the same network in transformers."""
    torch.manual_seed(0)
    signs = [_END, *_letters()]
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(signs), hidden_size=_WIDTH, intermediate_size=_WIDE,
            num_hidden_layers=_LAYERS, num_attention_heads=_HEADS, num_key_value_heads=_SHARED,
            rope_theta=10_000.0, rms_norm_eps=1e-5, tie_word_embeddings=True,
            initializer_range=0.4,
        )
    ).eval()  # fmt: skip
    state = network.state_dict()

    def taken(name: str) -> Any:
        return state[f"model.{name}.weight"].numpy()

    def in_pairs(name: str, heads: int) -> Any:
        """Rows in the order of the file: numbers that are rotated together are neighbours."""
        rows = taken(name).reshape(heads, 2, _WIDTH // _HEADS // 2, _WIDTH)
        return rows.transpose(0, 2, 1, 3).reshape(-1, _WIDTH)

    tensors = {"token_embd.weight": (taken("embed_tokens"), 0)}
    for layer in range(_LAYERS):
        own = f"layers.{layer}"
        for name, values in {
            "attn_norm": taken(f"{own}.input_layernorm"),
            "attn_q": in_pairs(f"{own}.self_attn.q_proj", _HEADS),
            "attn_k": in_pairs(f"{own}.self_attn.k_proj", _SHARED),
            "attn_v": taken(f"{own}.self_attn.v_proj"),
            "attn_output": taken(f"{own}.self_attn.o_proj"),
            "ffn_norm": taken(f"{own}.post_attention_layernorm"),
            "ffn_gate": taken(f"{own}.mlp.gate_proj"),
            "ffn_up": taken(f"{own}.mlp.up_proj"),
            "ffn_down": taken(f"{own}.mlp.down_proj"),
        }.items():
            tensors[f"blk.{layer}.{name}.weight"] = (values, 0)
    tensors["output_norm.weight"] = (taken("norm"), 0)
    path = tmp_path_factory.mktemp("model") / "small.gguf"
    fields = {
        "llama.block_count": _LAYERS,
        "llama.attention.head_count": _HEADS,
        "llama.attention.head_count_kv": _SHARED,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 10_000.0,
        "tokenizer.ggml.tokens": signs,
        "tokenizer.ggml.merges": [],
    }
    _write(path, fields, tensors)
    return path, network


def _costs(network: LlamaForCausalLM, text: str) -> list[float]:
    """The cost of each byte of a text, by transformers; a token of the tests is one byte."""
    letters = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in letters]
    order = {byte: number + 1 for number, byte in enumerate([*letters, *others])}
    numbers = torch.tensor([[0, *(order[byte] for byte in text.encode())]])
    with torch.inference_mode():
        chances = network(numbers).logits[0, :-1].log_softmax(-1)
    return (-chances[torch.arange(len(numbers[0]) - 1), numbers[0, 1:]]).tolist()


PAIRS = [
    ("What does he want?", "What do he want?"),
    ("What does he want?", "What did he want, then?"),
    ("A film.", "A good film."),
    ("Oh, a film.", "a film."),
    ("A film", "A film of 1994, which nobody has seen"),
    ("x", "y"),
]


def test_costs_are_those_of_transformers(small: tuple[Path, LlamaForCausalLM]) -> None:
    path, network = small
    for (one, other), nats in zip(PAIRS, LikelihoodModel(path).nats(PAIRS), strict=True):
        first = next(
            (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
            min(len(one), len(other)),
        )
        last = 0
        while last < min(len(one), len(other)) - first and one[-1 - last] == other[-1 - last]:
            last += 1
        for text, changed, after in (
            (one, nats.old, nats.after_old), (other, nats.new, nats.after_new),
        ):  # fmt: skip
            costs = _costs(network, text)
            end = len(text) - last
            assert changed.tolist() == pytest.approx(costs[first:end], abs=1e-3)
            assert after.tolist() == pytest.approx(costs[end : end + AFTER], abs=1e-3)


def test_a_pair_has_the_same_numbers_in_any_company(small: tuple[Path, LlamaForCausalLM]) -> None:
    model = LikelihoodModel(small[0])
    many = PAIRS * 20 + [(f"{number} films.", f"{number} movies.") for number in range(200)]
    many += [(PAIRS[0][0], f"{PAIRS[0][0][:at]}x{PAIRS[0][0][at:]}") for at in range(18)] * 12
    together = columns_of(model.nats(many))
    alone = [columns_of(LikelihoodModel(small[0]).nats([pair]))[0] for pair in PAIRS]
    assert together[: len(PAIRS)] == pytest.approx(np.array(alone), abs=1e-3)


@pytest.mark.parametrize("kind", [3, 8])
def test_packed_numbers_are_what_their_blocks_say(tmp_path: Path, kind: int) -> None:
    values = np.random.default_rng(3).normal(size=(4, 64)).astype(np.float32)
    _write(tmp_path / "a.gguf", {"general.alignment": 32}, {"w": (values, kind)})
    content = read_gguf(tmp_path / "a.gguf")
    steps = np.ptp(values.reshape(-1, 32), axis=1).max() / (15 if kind == 3 else 127)
    assert content.fields == {"general.alignment": 32}
    assert content.arrays["w"].shape == (4, 64)
    assert np.abs(content.arrays["w"] - values).max() <= steps


def test_a_file_of_another_kind_is_reported(
    tmp_path: Path, small: tuple[Path, LlamaForCausalLM]
) -> None:
    path = tmp_path / "a.gguf"
    whole = small[0].read_bytes()
    for content in (b"", b"GGUF", b"PK" + whole[2:], whole[:4] + b"\x02" + whole[5:], whole[:-40]):
        path.write_bytes(content)
        with pytest.raises(ModelError, match="cannot be read as weights") as caught:
            LikelihoodModel(path)
        assert "GGUF" in caught.value.help
    _write(path, {"llama.block_count": 2}, {})
    with pytest.raises(ModelError, match="not a language model of the Llama"):
        LikelihoodModel(path)


def test_columns_say_what_costs_more_and_what_less() -> None:
    names = (*LIKELIHOOD, *LIKELIER)
    worse = Nats(np.array([1.0]), np.array([4.0, 2.0]), np.array([1.0]), np.array([1.5]))
    row = dict(zip(names, columns_of([worse])[0], strict=True))
    assert row == {
        "less likely": 5.5, "rest less likely": 0.5, "words unlikely": 6.0, "unlikely piece": 4.0,
        "more likely": 0.0,
    }  # fmt: skip
    better = Nats(worse.new, worse.old, worse.after_new, worse.after_old)
    row = dict(zip(names, columns_of([better])[0], strict=True))
    assert (row["less likely"], row["more likely"]) == (0.0, 5.5)
    assert columns_of([]).shape == (0, len(names))


def test_of_a_long_text_the_words_around_the_change_are_read() -> None:
    words = [f"word{number}" for number in range(400)]
    original = " ".join(words)
    rewrite = " ".join([*words[:200], "other", *words[201:]])
    before, after = window_of(original, rewrite)
    assert before in original
    assert after == before.replace("word200", "other")
    assert 32 <= len(before.split()) <= 80
    before, after = window_of("a" * 9000, "a" * 4000 + "b" + "a" * 4999)
    assert len(before) == len(after) <= 1000
    assert (before.count("b"), after.count("b")) == (0, 1)
    apart = window_of(original, original[::-1])
    assert max(map(len, apart)) <= 1600
    before, after = window_of(f"  {original}", original)
    assert before.lstrip() == after


@pytest.fixture(scope="module")
def model() -> LikelihoodModel:
    return LikelihoodModel(carried_language_model())


@pytest.mark.long
def test_english_is_likelier_than_what_is_none(model: LikelihoodModel) -> None:
    pairs = [
        ("What does he want to do now?", "What do he want to do now?"),
        ("I have never seen such a bad movie.", "I have never saw such a bad movie."),
        ("I still like this place.", "I stilln't like this place."),
        ("The food was great.", "The food were great."),
        ("It tasted like dirt.", "It tasted as dirt."),
    ]
    columns = columns_of(model.nats([*pairs, *[(other, one) for one, other in pairs]]))
    less = columns[:, LIKELIHOOD.index("less likely")]
    assert (less[: len(pairs)] > 1.0).all()
    assert (less[len(pairs) :] == 0).all()
