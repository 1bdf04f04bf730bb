"""The options that say who works on a folder: this process, or the workers of a cluster.

Always holds: what does not go together is refused before anything starts; nothing leaves this
machine unless an address is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.options.shared import with_options

if TYPE_CHECKING:
    from sears_dsl.clusters.parts import Workers

engine_options = with_options(
    click.option("--engine", type=click.Choice(["local", "ray"]), default="local",
                 show_default=True,
                 help="Who works on a folder: this process, or workers of Ray."),
    click.option("--address", metavar="HOST:PORT|auto",
                 help="--engine ray: the cluster; without, Ray is started on this machine alone."),
    click.option("--workers", type=click.IntRange(min=1), metavar="N",
                 help="--engine ray: workers, of one core each; as many as there are cores by "
                 "default."),
)  # fmt: skip


@contextmanager
def chosen_workers(
    options: dict[str, Any], data: str, *, together: bool = False
) -> Iterator[Workers | None]:
    """Who works on a folder; None where `data` is a file.

    Args:
        together: whether the files of a folder are one dataset, and not each made into another.
    """
    from sears_dsl.clusters.parts import Here
    from sears_dsl.runtime.files import names_folder

    folder, engine = names_folder(data), options["engine"]
    for name in ("address", "workers"):
        if options[name] is not None and engine != "ray":
            raise click.UsageError(f"--{name} is of a cluster: write --engine ray too")
    if engine == "ray" and not folder:
        raise click.UsageError(
            f"--engine ray works on folders, a file at a time, and {data} is none: name a folder "
            "of parquet files or JSON lines, or use --jobs"
        )
    if engine == "ray" and (options.get("jobs") or 1) > 1:
        raise click.UsageError("--jobs is of one machine: --workers says how many Ray is to use")
    if folder and not together and options.get("limit") is not None:
        raise click.UsageError("--limit counts the rows of a file, and a folder has many files")
    if folder and options.get("output") == "-":
        raise click.UsageError("what becomes of a folder is a folder: name one with --output")
    if not folder:
        yield None
    elif engine == "local":
        yield Here()
    else:
        from sears_dsl.clusters.ray_workers import RayWorkers

        with RayWorkers(address=options["address"], count=options["workers"]) as workers:
            yield workers
