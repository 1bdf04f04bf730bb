"""The commands about rule files themselves, without a model and mostly without data.

In: rule files, folders, names of shipped rulesets, by `catalogue.load_rulesets`. `check`, `fmt` and
`test` say whether a file is right; `explain` and `try_` what rules do in a sentence; `diff` what
changed between two versions; `generate` writes what templates stand for; `catalogue` lists the
shipped ones (``sears rules``); `lsp` is for editors. Out: text, or JSON under ``--json``; exit code
1 where a gate failed.
"""
