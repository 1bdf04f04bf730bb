"""Rules inside of other people's tools: CheckList suites, TextAttack transformations.

The foreign package is imported only by the function that needs it; without it an error says what
to install.
"""
