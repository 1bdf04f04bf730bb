"""The commands about rule files themselves, without a model and mostly without data.

In: rule files, folders, names of shipped rulesets, by `catalogue.load_rulesets`. `check` has all
that says whether a file is right, for editors too; `explain` what rules do in a text, of a file or
in place; `diff` what changed between two versions; `catalogue` lists the shipped ones (``sears
rules``). Out: text, or JSON under ``--json``; exit code 1 where a gate failed.
"""
