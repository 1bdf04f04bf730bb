"""Whole numbers are multiplied exactly, and rows do not depend on each other."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from threadpoolctl import threadpool_limits
from torch import Tensor

import sears_dsl.judge
from sears_dsl.judge.bert import (
    Bert,
    PackedProducts,
    PlainProducts,
    WholeAttention,
    WholeMatrix,
    compiled_products,
    is_exact_and_fast,
)
from sears_dsl.judge.networks import product, read_grammar_file
from sears_dsl.runtime.array_types import Float32Array
from sears_dsl.translation.model_files import carried_encoder

ADAPTER = Path(sears_dsl.judge.__path__[0]) / "grammar_deep_en.npz"

# What may compute products of whole numbers; None stands for float32.
COMPILED = (PackedProducts, PlainProducts) if platform.machine() in ("x86_64", "AMD64") else ()
WAYS = (None, *COMPILED)

NUMBERS = st.floats(-1e4, 1e4, width=32) | st.sampled_from([0.0, 1e-38, -1e-20, 3e8, -3e8])
PIECES = st.lists(st.integers(0, 30521), min_size=1, max_size=40)


def naive_product(x: Float32Array, weights: Float32Array, bias: Float32Array) -> Float32Array:
    """The product with a matrix (out, in) by Python's integers, one number after another."""
    one = np.float32
    result = np.zeros((len(x), len(weights)), np.float32)
    for at, row in enumerate(x):
        unit = max(one(np.abs(row).max()), one(1e-30)) / one(127)
        for column, weight in enumerate(weights):
            step = max(one(np.abs(weight).max()), one(1e-30)) / one(63)
            total = sum(
                int(np.rint(a / unit)) * int(np.rint(b / step))
                for a, b in zip(row, weight, strict=True)
            )
            result[at, column] = one(total) * unit * step + bias[column]
    return result


@given(
    x=arrays.arrays(np.float32, (3, 8), elements=NUMBERS),
    weights=arrays.arrays(np.float32, (5, 8), elements=NUMBERS),
)
def test_products_are_exact_with_and_without_instructions_for_them(
    x: Float32Array, weights: Float32Array
) -> None:
    bias = np.linspace(-1, 1, 5, dtype=np.float32)
    expected = naive_product(x, weights, bias)
    for compiled in WAYS:
        matrix = WholeMatrix(torch.from_numpy(weights), torch.from_numpy(bias), compiled=compiled)
        assert (matrix(torch.from_numpy(x)).numpy() == expected).all()


def test_the_largest_sums_are_exact() -> None:
    """They stay below 2²⁴, from which on float32 lacks odd numbers."""
    ones, bias = torch.ones(1, 1536), torch.zeros(2)
    weights = torch.stack([ones[0], -ones[0]])
    weights[:, -1] /= 63
    for compiled in WAYS:
        [product] = WholeMatrix(weights, bias, compiled=compiled)(ones)
        unit = torch.tensor(1.0) / 127 * (torch.tensor(1.0) / 63)
        assert product.tolist() == pytest.approx(
            (unit * torch.tensor([1, -1]) * 127 * (1535 * 63 + 1)).tolist(), rel=1e-6
        )


class SlowProducts:
    """Products that take as long as those that a processor computes one by one."""

    def __init__(self, numbers: Tensor) -> None:
        self._numbers = numbers.T

    def __call__(self, x: Tensor) -> Tensor:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        return x @ self._numbers


class CutProducts(SlowProducts):
    """Products whose sums have 16 bits."""

    def __call__(self, x: Tensor) -> Tensor:
        return (x @ self._numbers).clamp(-(2**15), 2**15 - 1)


class NoProducts(SlowProducts):
    """Products that PyTorch was built without."""

    def __call__(self, x: Tensor) -> Tensor:
        raise RuntimeError("could not create a primitive")


def test_slow_and_wrong_products_are_left_to_float32() -> None:
    """Where packed numbers are multiplied one by one, a score took a thousand times as long."""
    for products in (SlowProducts, CutProducts, NoProducts):
        assert not is_exact_and_fast(products)
    chosen = compiled_products()
    assert chosen is None or is_exact_and_fast(chosen)


def naive_attention(three: Float32Array, heads: int) -> Float32Array:
    """What the pieces of one row take from it, by Python's integers, one number after another."""
    one = np.float32
    size = three.shape[1] // (3 * heads)
    whole = np.rint(np.clip(three, -724, 724)).astype(int).reshape(len(three), 3, heads, size)
    scale = one(math.log2(math.e) / math.sqrt(size) / 64)
    taken = np.zeros((len(three), heads, size))
    for head in range(heads):
        queries, keys, values = (whole[:, part, head].tolist() for part in range(3))
        for at, query in enumerate(queries):
            products = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys]
            below = [np.rint(one(product - max(products)) * scale) for product in products]
            powers = [round(5047.75 * 2.0 ** (float(each) / 64)) for each in below]
            unit = one(sum(powers)) / one(4096)
            shares = [int(np.rint(one(power) / unit)) for power in powers]
            taken[at, head] = [
                sum(share * value[place] for share, value in zip(shares, values, strict=True))
                for place in range(size)
            ]
    return np.asarray(taken.reshape(len(three), -1) / (4096 * 64), np.float32)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 1000))
def test_attention_is_exact_in_rows_of_any_length(lengths: list[int], seed: int) -> None:
    heads, size = 2, 32
    chance = np.random.default_rng(seed)
    three = chance.normal(0, 150, (sum(lengths), 3 * heads * size)).astype(np.float32)
    three[0] *= 9
    expected = [naive_attention(row, heads) for row in np.split(three, np.cumsum(lengths)[:-1])]
    attention = WholeAttention(lengths, heads, torch.device("cpu"))
    # Each layer asks again, and what it asks with is not used again.
    for _ in range(2):
        taken = attention(torch.from_numpy(three.copy()))
        assert (taken.numpy() == np.concatenate(expected)).all()


def test_the_largest_products_of_queries_and_keys_are_exact() -> None:
    """They stay just below 2²⁴, and keys that differ in one unit get different shares."""
    three = np.full((2, 96), 5000, np.float32)
    three[1, 63] = 723
    three[:, 64:] = [[64], [0]]
    taken = WholeAttention([2], 1, torch.device("cpu"))(torch.from_numpy(three.copy())).numpy()
    assert (taken == naive_attention(three, 1)).all()
    assert 0.5 < taken.min() == taken.max() < 0.51


def test_powers_round_alike_however_a_processor_computes_them() -> None:
    """None that counts is within a hundred units in the last place of where rounding turns."""
    powers = 5047.75 * 2.0 ** (-np.arange(16 * 64) / 64)
    away = np.abs(powers - np.floor(powers) - 0.5)
    assert (away > 100 * np.spacing(powers.astype(np.float32))).all()
    ours = (torch.arange(-1023.0, 1) / 64).exp2().mul(5047.75).round()
    assert ours.tolist() == np.rint(powers[::-1]).tolist()


@cache
def network(*, whole: bool) -> Bert:
    return Bert(carried_encoder(), whole=whole)


@settings(max_examples=20, deadline=None)
@given(rows=st.lists(PIECES, min_size=1, max_size=6))
def test_a_row_has_the_same_states_alone_and_in_any_batch(rows: list[list[int]]) -> None:
    together = torch.stack(network(whole=True).states(rows))
    end = 0
    for row in rows:
        begin, end = end, end + len(row)
        alone = torch.stack(network(whole=True).states([row]))
        assert (alone == together[:, begin:end]).all()


def test_threads_do_not_disturb_each_other() -> None:
    several = [[list(range(1000, 1000 + size))] * 9 for size in range(5, 60, 3)]
    alone = [torch.stack(network(whole=True).states(rows)) for rows in several]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(network(whole=True).states, several))
    for one, other in zip(alone, together, strict=True):
        assert (one == torch.stack(other)).all()


def test_whole_numbers_change_little() -> None:
    rows = [[101, 2023, 3185, 2003, 2200, 2204, 1012, 102]]
    exact, whole = (network(whole=each).states(rows)[-1] for each in (False, True))
    assert torch.cosine_similarity(exact, whole).min() > 0.98
    assert (exact != whole).any()


def test_processors_with_fewer_instructions_give_the_same_bits(tmp_path: Path) -> None:
    """NumPy, PyTorch and its libraries are asked to use no instructions beyond AVX2."""
    rows = [row.tolist() for row in torch.arange(1000, 1120).split([1, 8, 8, 31, 72])]
    code = f"""\
from pathlib import Path
import torch
from sears_dsl.judge.bert import Bert
from sears_dsl.judge.networks import read_grammar_file
from sears_dsl.translation.model_files import carried_encoder

adapter = read_grammar_file(Path({str(ADAPTER)!r})).arrays
for name, file in (("plain", None), ("adapted", adapter)):
    states = Bert(carried_encoder(), adapter=file, layers=4, whole=True).states({rows})
    torch.save(torch.stack(states), name)
"""
    older = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
             "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"}  # fmt: skip
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=tmp_path, env={**os.environ, **older}
    )
    adapter = read_grammar_file(ADAPTER).arrays
    for name, file in (("plain", None), ("adapted", adapter)):
        states = Bert(carried_encoder(), adapter=file, layers=4, whole=True).states(rows)
        assert torch.equal(torch.load(tmp_path / name), torch.stack(states)), name


@pytest.mark.parametrize("shape", [(770, 192), (480, 320), (384, 96), (96, 1), (5, 96)])
def test_products_do_not_depend_on_the_number_of_threads(shape: tuple[int, int]) -> None:
    """The shapes of the shipped networks; how many threads add up a sum shows in its last bits."""
    random = np.random.default_rng(0)
    weights = random.standard_normal(shape, np.float32)
    bias = random.standard_normal(shape[1], np.float32)
    x = random.standard_normal((100, shape[0]), np.float32)
    results = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            results.append(product(x, weights, bias))
    assert results[0] == pytest.approx(x @ weights + bias, abs=1e-3)
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()
