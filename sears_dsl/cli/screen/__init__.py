"""What commands show, on standard output the result and on standard error everything else.

`console` has the terminal, JSON, marked sentences, progress, warnings and notes; `discovery` shows
the course of a search and its result, with tables of an `example_table`, and `strange_rows` says
what is strange about rows.
"""
