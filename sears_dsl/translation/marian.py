"""Marian models of ``transformers``, such as Helsinki-NLP/opus-mt-en-fr, from a folder.

A folder is as ``save_pretrained`` writes it: configuration, weights, ``source.spm``,
``target.spm``, ``vocab.json`` (and ``target_vocab.json`` where the sides differ). Always holds:
nothing is downloaded, and nothing of the folder is run: weights are safetensors, never pickles.
The log-probabilities are those of ``MarianMTModel``, but the padding piece is never written. The
state of a hypothesis grows with its length (keys and values of each decoder layer).

``transformers`` only reads the weights, since its generation keeps one cache for a whole batch, and
discovery branches, drops and joins hypotheses all the time. Position vectors are computed, so that
texts may be longer than the table of the configuration. The tokenizer's repair of punctuation
(sacremoses) is not applied: what is scored is the text as it stands.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import sentencepiece
import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel
from transformers.activations import ACT2FN

from sears_dsl.errors import ModelError, readable
from sears_dsl.runtime.files import parse_json, read_document
from sears_dsl.translation.network import (
    DecoderState,
    Memory,
    TranslationModel,
    attend,
    sinusoids,
    split_heads,
)

_END = "</s>"
_UNKNOWN = "<unk>"
_PADDING = "<pad>"
_WEIGHTS = "model.safetensors"
_PICKLE = "pytorch_model.bin"
# More than any vocabulary has. A piece's number is its place in a table, which this limits.
_MOST_PIECES = 2**24


def weights_file(folder: Path) -> Path:
    """The file of a model folder that holds the weights."""
    if (folder / _WEIGHTS).is_file():
        return folder / _WEIGHTS
    if (folder / _PICKLE).is_file():
        raise ModelError(
            f"the weights in {folder} are a pickle, {_PICKLE}, and reading a pickle can run code",
            help="for a model on the hub: `sears pivots pull NAME --allow-pickle`; for a folder "
            f"you trust: load it with transformers and `save_pretrained`, which writes {_WEIGHTS}",
        )
    raise ModelError(
        f"{folder} has no model: there is no {_WEIGHTS}",
        help="name a folder as `save_pretrained` writes it, or `sears pivots pull NAME`",
    )


def replace_pickle(folder: Path) -> Path:
    """Read pickled weights with torch's restricted reader, and put safetensors in their place."""
    try:
        model = MarianMTModel.from_pretrained(
            folder, local_files_only=True, use_safetensors=False, weights_only=True
        )
    # The reader raises anything about a pickle that wants to do more than make tensors.
    except Exception as error:
        raise ModelError(
            f"{folder / _PICKLE} cannot be read as the weights of a Marian model: {error}",
            help=f"only tensors are read from it; use a model that has {_WEIGHTS}",
        ) from error
    with tempfile.TemporaryDirectory(dir=folder) as place:
        model.save_pretrained(place)
        (Path(place) / _WEIGHTS).rename(folder / _WEIGHTS)
    (folder / _PICKLE).unlink()
    return folder / _WEIGHTS


class MarianModel(TranslationModel):
    """A Marian model of ``transformers`` that translates into one language; else a ModelError."""

    def __init__(
        self, name: str, folder: Path, *, device: str | torch.device | None = None
    ) -> None:
        super().__init__(name, weights_file(folder), device=device)
        self._read_vocabulary(folder)
        try:
            model = MarianMTModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
            )
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
            raise ModelError(
                f"{folder} cannot be loaded as a Marian model: {error}",
                help="`sears pivots verify` checks whether its files are intact",
            ) from error
        config: MarianConfig = model.config
        self._w: Mapping[str, Tensor] = {
            key.removeprefix("model."): tensor.to(self.device)
            for key, tensor in model.state_dict().items()
        }
        width = int(config.d_model)
        self._width = width
        self._scale = math.sqrt(width) if config.scale_embedding else 1.0
        exponent = torch.arange(0, width, 2, device=self.device) / width
        self._rates = torch.exp(-math.log(10_000.0) * exponent)
        self._activation = ACT2FN[config.activation_function]
        self._encoders = [f"encoder.layers.{number}" for number in range(config.encoder_layers)]
        self._decoders = [f"decoder.layers.{number}" for number in range(config.decoder_layers)]
        self._encoder_heads = int(config.encoder_attention_heads)
        self._heads = int(config.decoder_attention_heads)
        start = config.decoder_start_token_id
        self._first = self._padding if start is None else int(start)
        self._output = self._w["lm_head.weight"]
        self._output_bias = self._w["final_logits_bias"][0].clone()
        self._output_bias[self._padding] = -math.inf

    def _read_vocabulary(self, folder: Path) -> None:
        try:
            self._source_ids: Mapping[str, int] = _vocabulary(folder / "vocab.json")
            separate = folder / "target_vocab.json"
            self._target_ids = _vocabulary(separate) if separate.is_file() else self._source_ids
            self._source_spm = _processor(folder / "source.spm")
            self._target_spm = _processor(folder / "target.spm")
            self.end = self._target_ids[_END]
            self._padding = self._target_ids[_PADDING]
            self._unknown = self._source_ids[_UNKNOWN], self._target_ids[_UNKNOWN]
        # A file that is no SentencePiece model is a RuntimeError.
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelError(
                f"the vocabulary in {folder} cannot be read: {error}",
                help="a Marian folder has vocab.json, source.spm and target.spm",
            ) from error
        codes = [piece for piece in self._source_ids if piece.startswith(">>")]
        if codes:
            raise ModelError(
                f"{folder} translates into several languages ({', '.join(codes[:3])}, …); "
                "there is no way to choose one",
                help="use a model of one pair, such as Helsinki-NLP/opus-mt-en-fr",
            )
        self._strings = [""] * (max(self._target_ids.values()) + 1)
        for piece, number in self._target_ids.items():
            self._strings[number] = piece

    def reads(self, character: str) -> bool:
        """Whether the source vocabulary has a character."""
        return all(map(self._source_ids.__contains__, _strings(self._source_spm, character)))

    def writes(self, character: str) -> bool:
        """Whether the target vocabulary has a character."""
        return all(map(self._target_ids.__contains__, _strings(self._target_spm, character)))

    def source_pieces(self, text: str) -> list[int]:
        """Piece ids of a source text, ``</s>`` included."""
        pieces = _strings(self._source_spm, text)
        end = self._source_ids[_END]
        return [*(self._source_ids.get(piece, self._unknown[0]) for piece in pieces), end]

    def target_pieces(self, text: str) -> list[int]:
        """Piece ids of a target text, ``</s>`` included."""
        pieces = _strings(self._target_spm, text)
        return [*(self._target_ids.get(piece, self._unknown[1]) for piece in pieces), self.end]

    def text(self, pieces: Sequence[int]) -> str:
        """The target text of piece ids; ``</s>`` is dropped."""
        strings = [self._strings[piece] for piece in pieces if piece != self.end]
        return str(self._target_spm.decode_pieces(strings))

    def piece_strings(self) -> Sequence[str]:
        """The target vocabulary by id."""
        return self._strings

    @torch.no_grad()
    def encode(self, texts: Sequence[str]) -> Memory:
        """Encode B source texts, all in one batch."""
        ids, mask = self.batch(texts, filler=0)
        x = self._w["encoder.embed_tokens.weight"][ids] * self._scale
        x = x + sinusoids(0, ids.shape[1], self._rates)
        for layer in self._encoders:
            name = f"{layer}.self_attn"
            query, keys, values = (
                split_heads(self._linear(x, f"{name}.{letter}_proj"), self._encoder_heads)
                for letter in "qkv"
            )
            context = functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
            context = context.transpose(1, 2).reshape(x.shape)
            x = self._norm(x + self._linear(context, f"{name}.out_proj"), f"{name}_layer_norm")
            x = self._feed_forward(x, layer)
        names = [f"{layer}.encoder_attn" for layer in self._decoders]
        return Memory(
            tuple(split_heads(self._linear(x, f"{name}.k_proj"), self._heads) for name in names),
            tuple(split_heads(self._linear(x, f"{name}.v_proj"), self._heads) for name in names),
            mask,
        )

    @torch.no_grad()
    def start(self, memory: Memory, rows: Tensor) -> DecoderState:
        """N empty hypotheses; ``rows`` (N,) says which text of the memory each reads."""
        shape = (len(rows), self._heads, 0, self._width // self._heads)
        nothing = torch.zeros(shape, device=self.device)
        return DecoderState(rows.to(self.device), 0, (nothing, nothing) * len(self._decoders))

    @torch.no_grad()
    def advance(
        self, memory: Memory, state: DecoderState, last: Tensor | None
    ) -> tuple[Tensor, DecoderState]:
        """Hidden vectors (N, W) after one more piece, and the next state."""
        count, at = len(state), state.position
        if last is None:
            last = torch.full((count,), self._first, device=self.device)
        x = self._w["decoder.embed_tokens.weight"][last] * self._scale
        x = x + sinusoids(at, at + 1, self._rates)
        cells: list[Tensor] = []
        for number, layer in enumerate(self._decoders):
            name = f"{layer}.self_attn"
            query, key, value = (
                self._linear(x, f"{name}.{letter}_proj").view(count, self._heads, 1, -1)
                for letter in "qkv"
            )
            keys = torch.cat([state.cells[2 * number], key], 2)
            values = torch.cat([state.cells[2 * number + 1], value], 2)
            cells += [keys, values]
            context = functional.scaled_dot_product_attention(query, keys, values)
            context = self._linear(context.reshape(count, -1), f"{name}.out_proj")
            x = self._norm(x + context, f"{name}_layer_norm")
            name = f"{layer}.encoder_attn"
            query = self._linear(x, f"{name}.q_proj")
            context = attend(
                query, state.rows, memory.keys[number], memory.values[number], memory.mask
            )
            x = self._norm(x + self._linear(context, f"{name}.out_proj"), f"{name}_layer_norm")
            x = self._feed_forward(x, layer)
        return x, DecoderState(state.rows, at + 1, tuple(cells))

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self._w[f"{name}.weight"], self._w[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self._w[f"{name}.weight"], self._w[f"{name}.bias"]
        return functional.layer_norm(x, (self._width,), weight, bias)

    def _feed_forward(self, x: Tensor, layer: str) -> Tensor:
        hidden = self._activation(self._linear(x, f"{layer}.fc1"))
        return self._norm(x + self._linear(hidden, f"{layer}.fc2"), f"{layer}.final_layer_norm")


def _vocabulary(path: Path) -> Mapping[str, int]:
    vocabulary = parse_json(read_document(path))
    if not isinstance(vocabulary, dict) or not all(
        isinstance(number, int) and 0 <= number < _MOST_PIECES for number in vocabulary.values()
    ):
        raise ValueError(f"{path.name} does not number pieces")
    return vocabulary


def _processor(path: Path) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def _strings(processor: sentencepiece.SentencePieceProcessor, text: str) -> list[str]:
    return list(processor.encode(readable(text), out_type=str))
