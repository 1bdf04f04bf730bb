"""``sears pivots``: which translation and embedding models there are; pulling, verifying them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sears_dsl.cli.options.shared import json_option
from sears_dsl.cli.screen.console import echo_json
from sears_dsl.errors import ModelError, UsageError

if TYPE_CHECKING:
    from sears_dsl.translation.model_files import ModelFiles


@click.group("pivots", epilog="Example: sears pivots list")
def pivots_group() -> None:
    """List, pull or verify the models that translate and compare texts."""


@click.command("models", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def former_models_command(arguments: tuple[str, ...]) -> NoReturn:
    """What `pivots` was called."""
    raise UsageError(
        "`sears models` is now `sears pivots`; a model under test is named with --model",
        help=f"sears pivots {shlex.join(arguments)}".rstrip(),
    )


def _all_models() -> list[ModelFiles]:
    from sears_dsl.translation.model_files import carried_models, pulled_models

    return [*carried_models(), *pulled_models()]


def _offered() -> list[dict[str, Any]]:
    """Return what installed packages offer, without importing it."""
    from sears_dsl.paraphrasing.plugins import PARAPHRASERS, SCORERS, offered_parts

    return [
        {
            "name": each.name,
            "purpose": kind,
            "origin": f"{each.dist.name} {each.dist.version}" if each.dist else "",
            "object": each.value,
        }
        for group, kind in ((PARAPHRASERS, "paraphraser"), (SCORERS, "scorer"))
        for each in offered_parts(group)
    ]


@pivots_group.command("list", epilog="Example: sears pivots list --json")
@json_option("Print it as JSON.")
def list_command(*, as_json: bool) -> None:
    """List the models, and the paraphrasers and scorers of packages.

    --paraphrases or --scorer can name a paraphraser or a scorer of this list.
    """
    models, parts = _all_models(), _offered()
    if as_json:
        echo_json(
            [
                {
                    "name": model.name,
                    "purpose": model.purpose,
                    "origin": model.origin,
                    "folder": str(model.folder) if model.folder else None,
                    "sha256": dict(model.hashes),
                }
                for model in models
            ]
            + parts
        )
        return
    names = [model.name for model in models] + [part["name"] for part in parts]
    width = max(map(len, names))
    for model in models:
        where = model.folder or f"not installed: {model.installed_by}"
        click.echo(f"{model.name:<{width}}  {model.purpose} ({model.origin})  {where}")
    for each in parts:
        about = f"{each['purpose']} of {each['origin']} ({each['object']})"
        click.echo(f"{each['name']:<{width}}  {about}")


@pivots_group.command("pull", epilog="Example: sears pivots pull Helsinki-NLP/opus-mt-en-fr fr")
@click.argument("names", nargs=-1, required=True)
@click.option("--allow-pickle", is_flag=True, help="Accept weights that are a pickle if there are "
              "no others; they are read once and kept as safetensors.")  # fmt: skip
def pull_command(names: tuple[str, ...], *, allow_pickle: bool) -> None:
    """Download Marian models from the Hugging Face hub.

    NAMES are names on the hub, or languages: `fr` pulls the models from English to French and
    back. Pulled files are checked against the hashes that the hub states.
    """
    from sears_dsl.translation.model_files import pair_names, pull

    for name in names:
        for model_name in [name] if "/" in name else pair_names(name)[1:]:
            model = pull(model_name, allow_pickle=allow_pickle)
            click.echo(f"pulled {model.name} to {model.folder}")


@pivots_group.command("verify", epilog="Example: sears pivots verify bergamot-enpt")
@click.argument("names", nargs=-1)
def verify_command(names: tuple[str, ...]) -> None:
    """Check the files of models against their hashes.

    NAMES are names in `sears pivots list`; by default all installed ones. Exit 1 if one differs.
    """
    models = {model.name: model for model in _all_models()}
    unknown = [name for name in names if name not in models]
    if unknown:
        raise UsageError(
            f"there is no model {unknown[0]}",
            help=f"`sears pivots list` shows them: {', '.join(models)}",
        )
    chosen = [models[name] for name in names] or [m for m in models.values() if m.folder]
    failed = False
    for model in chosen:
        try:
            model.verify()
            click.echo(f"{model.name}: ok")
        except ModelError as error:
            failed = True
            click.echo(f"{model.name}: {error.render()}")
    if failed:
        raise click.exceptions.Exit(1)
