"""Options that commands share, each declared once, and what they mean.

`shared` has those of many commands; `model` those about a model and its rows, with what opens both,
and what rewords and scores; `augmentation` those of ``augment`` and ``fix``; `unfinished` manages
the folder of a run that may be cut off. `sears_dsl.cli.commands` takes options that are not given
from the project file.
"""
