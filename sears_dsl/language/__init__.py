"""The rule language: syntax tree, parser, printer, checker, rulesets and their differences."""
