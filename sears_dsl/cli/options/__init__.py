"""Options that commands share, each declared once, and what they mean.

`shared` has those of many commands; `model` those about a model and its rows, with what opens both,
and what rewords and scores; `augmentation` those of ``augment`` and ``fix``; `unfinished` is the
folder of a run that may be cut off. What nobody said `sears_dsl.cli.commands` takes from the
project file.
"""
