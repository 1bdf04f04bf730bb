"""Options that commands share, each declared once, and what they mean.

`shared` has those of many commands; `model` those about a model and its rows, with what opens both;
`own_parts` what rewords and scores; `augmentation` those of ``augment`` and ``fix``; `pairs` those
of ``score`` and ``calibrate``; `tagger` chooses a tagger by the rules; `project` takes what nobody
said from the project file; `unfinished` is the folder of a run that may be cut off.
"""
