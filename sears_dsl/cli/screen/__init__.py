"""What commands show, on standard output the result and on standard error everything else.

`console` has the terminal, JSON, marked sentences, the stages of what takes long, warnings and
notes; `discovery` the course of a search and what came of it.
"""
