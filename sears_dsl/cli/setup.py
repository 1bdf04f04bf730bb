"""The commands that set sears up: a project file, agreement, compiled loops, models, the cache."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sears_dsl.cli.options.shared import COMPILING, NAME_FOLDER, NO_FOLDER
from sears_dsl.cli.screen.console import echo_json
from sears_dsl.errors import UsageError
from sears_dsl.runtime.wording import counted

if TYPE_CHECKING:
    from sears_dsl.translation.model_files import ModelFiles


@click.command(
    "init",
    epilog="Example: sears init --data dev.csv --model my_model:predict",
)
@click.option("--data", metavar="FILE", help="Labelled rows.")
@click.option("--column", help="The column that rules rewrite; by default the likeliest one.")
@click.option("--label", help="The column of labels; by default the likeliest one.")
@click.option(
    "--model",
    metavar="SPEC",
    help="module:object, sklearn:FILE, hf:FOLDER, http://… or file:PREDICTIONS.",
)
@click.option("--rules", multiple=True, metavar="RULES",
              help="A rule file, a folder or a shipped ruleset; repeatable.")  # fmt: skip
@click.option("--max-flip-rate", default="", metavar="RATE", help="Limit of an audit: 5%.")
def init_command(
    *,
    data: str | None,
    column: str | None,
    label: str | None,
    model: str | None,
    rules: tuple[str, ...],
    max_flip_rate: str,
) -> None:
    """Write sears.toml: the model, the rows and the rules that commands are about.

    At a terminal it asks for what the options do not say; elsewhere it takes what they say and
    what it finds. It looks at the rows to propose columns, and replaces no file.
    """
    from sears_dsl.data.batches import ReadOptions
    from sears_dsl.data.dataset import require_column
    from sears_dsl.data.table import read_table
    from sears_dsl.errors import UsageError
    from sears_dsl.project.consent import agree
    from sears_dsl.project.file import FILE_NAME, find_project, read_project
    from sears_dsl.project.proposal import likely_data, likely_label, likely_text, project_text

    path = Path(FILE_NAME)
    known = find_project()
    if known is not None and known.folder == Path.cwd():
        raise UsageError(
            f"{known.path.name} is there and is the project file of this folder",
            help="change it in an editor; nothing was written",
        )
    asks = sys.stdin.isatty() and sys.stderr.isatty()

    def answer(question: str, value: str | None, proposed: str) -> str:
        if value is not None or not asks:
            return proposed if value is None else value
        reply: str = click.prompt(question, default=proposed, err=True, show_default=bool(proposed))
        return reply.strip()

    data = answer("labelled rows, a file", data, likely_data(Path()))
    if not data:
        raise UsageError(
            "there are no rows to name here",
            help="sears init --data FILE; csv, tsv, jsonl, parquet",
        )
    columns = read_table(data, options=ReadOptions(limit=_LOOKED_AT)).columns
    column = answer("the column of texts", column, likely_text(columns))
    label = answer("the column of labels", label, likely_label(columns, text=column))
    for name in filter(None, (column, label)):
        require_column(tuple(columns), name, where=data)
    model = answer("the model, such as my_model:predict (empty: later)", model, "")
    own = answer("rules of your own, a file or a folder (empty: later)",
                 " ".join(rules) or None, "rules" if Path("rules").is_dir() else "")  # fmt: skip
    text = project_text(
        data=data,
        column=column,
        label=label,
        model=model,
        rules=rules or tuple(filter(None, [own])),
        flip_rate=max_flip_rate,
    )
    _write_new(path, text)
    project = read_project(path.absolute())
    for each in project.fields.models.values():
        agree(project, each)  # who named it just now may have it run
    click.echo(f"written: {path}")
    what_next = "sears discover -o found.sear" if model else "name a model in it: [models.main]"
    click.echo(f"next: {what_next}", err=True)


# Rows that columns are proposed from.
_LOOKED_AT = 500


def _write_new(path: Path, text: str) -> None:
    from sears_dsl.errors import UsageError

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"{path} could not be written: {error.strerror}", help="nothing was replaced"
        ) from error


@click.command("trust", epilog="Example: sears trust")
@click.option("--show", is_flag=True, help="Say what there is to agree to, and agree to nothing.")
def trust_command(*, show: bool) -> None:
    """Agree that commands ask the models that the project file names.

    Asking some models runs code or sends rows somewhere: modules, pickles, endpoints. A file that
    came along with a project may not have that done unasked. Read what is printed, and the module
    or file that it names. Another model in the file has to be agreed to anew.
    """
    from sears_dsl.errors import UsageError
    from sears_dsl.project.consent import agree, agreed, what_it_does
    from sears_dsl.project.file import find_project

    project = find_project()
    if project is None:
        raise UsageError("there is no project file here", help="`sears init` writes one")
    count = 0
    for name, model in project.fields.models.items():
        effect = what_it_does(model)
        if effect:
            count += 1
            before = " (agreed to before)" if agreed(project, model) else ""
            click.echo(f"{project.key('models', name)} {effect}{before}")
            if not show:
                agree(project, model)
    if not count:
        click.echo(f"{project.path} names no model that has to be agreed to")
    elif not show:
        click.echo(f"agreed, for {project.path}")


@click.command("warm-up", epilog="Example: sears warm-up")
def warm_up_command() -> None:
    """Compile the inner loops once, about half a minute.

    Otherwise the first run over more than some hundred rows does so, in a process beside its work.
    It is needed again after an update of sears or numba, and on another kind of processor. What is
    compiled is kept beside the package, else in the cache folder of the user, or in the folder that
    NUMBA_CACHE_DIR names.
    """
    from sears_dsl.engine.warming import warm_up
    from sears_dsl.errors import UsageError
    from sears_dsl.runtime.kernels import keeps_code, when_compiling

    when_compiling(lambda: click.echo(COMPILING, err=True))
    started = time.monotonic()
    compiled = warm_up()
    seconds = time.monotonic() - started
    if not keeps_code():
        raise UsageError(f"the inner loops were compiled in vain: {NO_FOLDER}", help=NAME_FOLDER)
    if compiled:
        click.echo(f"{counted(compiled, 'kernel')} compiled in {seconds:.0f} s")
    else:
        click.echo("all kernels were compiled already")


@click.group("pivots", epilog="Example: sears pivots list")
def pivots_group() -> None:
    """Look at, pull or verify the models that discovery translates and compares with."""


@click.command("models", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def former_models_command(arguments: tuple[str, ...]) -> NoReturn:
    """What `pivots` was called."""
    raise UsageError(
        "`sears models` is `sears pivots` now: models under test are named by --model",
        help=f"sears pivots {shlex.join(arguments)}".rstrip(),
    )


def _all_models() -> list[ModelFiles]:
    from sears_dsl.translation.model_files import carried, pulled

    return [*carried(), *pulled()]


def _offered() -> list[dict[str, Any]]:
    """What installed packages offer; nothing of it is imported."""
    from importlib.metadata import entry_points

    from sears_dsl.paraphrasing.plugins import PARAPHRASERS, SCORERS

    return [
        {
            "name": each.name,
            "purpose": kind,
            "origin": f"{each.dist.name} {each.dist.version}" if each.dist else "",
            "object": each.value,
        }
        for group, kind in ((PARAPHRASERS, "paraphraser"), (SCORERS, "scorer"))
        for each in sorted(entry_points(group=group))
    ]


@pivots_group.command("list", epilog="Example: sears pivots list --json")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def list_command(*, as_json: bool) -> None:
    """The models that packages carry and those that were pulled, and parts that packages offer.

    A part can be named by --paraphrases or --scorer.
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
        where = model.folder or "not installed: pip install 'sears-dsl[discovery]'"
        click.echo(f"{model.name:<{width}}  {model.purpose} ({model.origin})  {where}")
    for each in parts:
        about = f"{each['purpose']} of {each['origin']} ({each['object']})"
        click.echo(f"{each['name']:<{width}}  {about}")


@pivots_group.command("pull", epilog="Example: sears pivots pull Helsinki-NLP/opus-mt-en-fr fr")
@click.argument("names", nargs=-1, required=True)
@click.option("--allow-pickle", is_flag=True, help="Take weights that are a pickle, where there "
              "are no others; they are read once and kept as safetensors.")  # fmt: skip
def pull_command(names: tuple[str, ...], *, allow_pickle: bool) -> None:
    """Bring Marian models from the Hugging Face hub.

    NAMES are names of the hub, or languages: `fr` brings the models from English to French and
    back. Pulled models are checked with the hashes that the hub states.
    """
    from sears_dsl.translation.model_files import pair_names, pull

    for name in names:
        for model_name in [name] if "/" in name else pair_names(name)[1:]:
            model = pull(model_name, allow_pickle=allow_pickle)
            click.echo(f"pulled {model.name} to {model.folder}")


@pivots_group.command("verify", epilog="Example: sears pivots verify bergamot-enpt")
@click.argument("names", nargs=-1)
def verify_command(names: tuple[str, ...]) -> None:
    """Compare the files of models with their hashes: NAMES, or all that are there.

    Exits 1 if one differs.
    """
    from sears_dsl.errors import ModelError

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
            click.echo(f"{model.name}: whole")
        except ModelError as error:
            failed = True
            click.echo(f"{model.name}: {error.render()}")
    if failed:
        raise click.exceptions.Exit(1)


@click.group("cache", epilog="Example: sears cache info")
def cache_group() -> None:
    """Look at or empty the cache of tagged texts.

    It keeps what spaCy and taggers of your own tagged. The fast tagger is as quick as a cache and
    needs none.
    """


@cache_group.command("info", epilog="Example: sears cache info --json")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def info_command(*, as_json: bool) -> None:
    """Where the cache is, how large, and which taggers filled it."""
    from dataclasses import asdict

    from sears_dsl.tagging.cache import TagCache

    with TagCache() as cache:
        info = cache.info()
    if as_json:
        echo_json({**asdict(info), "path": str(info.path)})
        return
    click.echo(f"{info.path}")
    click.echo(f"{counted(info.entries, 'text')}, {info.bytes / 1e6:,.1f} MB on disk")
    for tagger, entries in info.taggers.items():
        click.echo(f"  {tagger}: {counted(entries, 'text')}")


@cache_group.command("clear", epilog="Example: sears cache clear")
def clear_command() -> None:
    """Empty the cache. Nothing is lost but time: texts are tagged again when needed."""
    from sears_dsl.tagging.cache import TagCache

    path = TagCache.remove()
    click.echo(f"emptied {path}")
