"""Rows: files and data in memory ⇄ batches of columns.

In: the name of a file, or a list, frame or table; `sources` takes either. `dataset` finds the
format by the name and reads batches through `streams`, which undoes compression and encodings;
`batches` (plain text), `csv_rows` (and tsv; in compiled code `csv_kernels`), `json_rows`,
`columnar` and `squad` are one format each, `frames` is data in memory. Out: batches for `batch`;
whole labelled rows (`labelled`) and tables (`table`) for whatever asks a model. On the way back
`span_columns` moves answers and entities along; `protection` says what has to stay intact.
"""
