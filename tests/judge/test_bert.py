"""Whole numbers are multiplied exactly, and rows do not depend on each other."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sears_dsl.judge.bert import Bert, WholeMatrix, has_whole_products
from sears_dsl.runtime.array_types import Float32Array
from sears_dsl.translation.model_files import carried_encoder

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
    for compiled in {False, has_whole_products()}:
        matrix = WholeMatrix(torch.from_numpy(weights), torch.from_numpy(bias), compiled=compiled)
        assert (matrix(torch.from_numpy(x)).numpy() == expected).all()


def test_the_largest_sums_are_exact() -> None:
    """They stay below 2²⁴, from which on float32 lacks odd numbers."""
    ones, bias = torch.ones(1, 1536), torch.zeros(2)
    weights = torch.stack([ones[0], -ones[0]])
    weights[:, -1] /= 63
    for compiled in {False, has_whole_products()}:
        [product] = WholeMatrix(weights, bias, compiled=compiled)(ones)
        unit = torch.tensor(1.0) / 127 * (torch.tensor(1.0) / 63)
        assert product.tolist() == pytest.approx(
            (unit * torch.tensor([1, -1]) * 127 * (1535 * 63 + 1)).tolist(), rel=1e-6
        )


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


def test_whole_numbers_change_little() -> None:
    rows = [[101, 2023, 3185, 2003, 2200, 2204, 1012, 102]]
    exact, whole = (network(whole=each).states(rows)[-1] for each in (False, True))
    assert torch.cosine_similarity(exact, whole).min() > 0.98
    assert (exact != whole).any()


HASH_OF_STATES = """
import hashlib, torch
from sears_dsl.judge.bert import Bert
from sears_dsl.translation.model_files import carried_encoder
rows = torch.arange(1000, 1120).split([1, 8, 8, 31, 72])
states = torch.stack(Bert(carried_encoder(), whole=True).states([row.tolist() for row in rows]))
print(hashlib.sha256(states.numpy().tobytes()).hexdigest())
"""


def test_processors_with_fewer_instructions_give_the_same_bits() -> None:
    """PyTorch and its libraries are asked to use no instructions beyond AVX2."""
    older = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
    hashes = [
        subprocess.run(
            [sys.executable, "-c", HASH_OF_STATES],
            check=True, capture_output=True, text=True, env={**os.environ, **limits},
        ).stdout
        for limits in ({}, older)
    ]  # fmt: skip
    assert hashes[0] == hashes[1]
