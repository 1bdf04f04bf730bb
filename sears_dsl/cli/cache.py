"""``sears cache``: what the tag cache holds, and emptying it."""

from __future__ import annotations

import click

from sears_dsl.cli.options.shared import json_option
from sears_dsl.cli.screen.console import echo_json
from sears_dsl.errors import counted


@click.group("cache", epilog="Example: sears cache info")
def cache_group() -> None:
    """Show or empty the cache of tagged texts.

    It keeps what spaCy and your own taggers tagged. The fast tagger is as quick as a cache and
    needs none.
    """


@cache_group.command("info", epilog="Example: sears cache info --json")
@json_option("Print it as JSON.")
def info_command(*, as_json: bool) -> None:
    """Show where the cache is, how large it is, and which taggers filled it."""
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
    """Empty the cache. Only time is lost: texts are tagged again when needed."""
    from sears_dsl.tagging.cache import TagCache

    path = TagCache.remove()
    click.echo(f"emptied {path}")
