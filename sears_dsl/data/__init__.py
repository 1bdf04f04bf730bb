"""Rows: files and data in memory ⇄ batches of columns.

In: the name of a file, or a list, data frame or table; `sources` takes either. `dataset` tells the
format of a file by its name. Each format has a module: `batches` (plain text), `csv_rows` (and tsv;
compiled in `csv_kernels`), `json_rows`, `columnar` and `squad`; `streams` undoes compression and
encodings. `frames` holds data in memory. Out: batches for `batch`; whole labelled rows (`labelled`)
and tables (`table`) for code that asks a model. On the way back `span_columns` moves answers and
entities along with their text; `protection` says what must stay intact.
"""
