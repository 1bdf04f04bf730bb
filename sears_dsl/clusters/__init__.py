"""Folders of files, worked on part by part: on this machine, or by the workers of a cluster.

In: a folder (a path, or a URI of an object store), and work that makes one file of one file. Out:
a folder with as many files, each what one machine makes of its part, byte for byte. `parts` says
which are to be done and keeps what is done, `ray_workers` spreads them over a cluster; `applying`
is the work, and beside folders has workers match the rows of one audit; `arrow_rewriting` serves
engines that bring batches themselves.
"""
