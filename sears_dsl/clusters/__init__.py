"""Folders of files, worked on part by part: on this machine, or by the workers of a cluster.

In: a folder (a path, or a URI of an object store), and work that turns one file into another. Out:
a folder with as many files, each what one machine makes of its part, byte for byte. `parts` says
which parts are left to do and records what is done; `ray_workers` spreads them over a cluster.
`applying` has the work for folders, and a matcher whose workers match the rows of one audit.
`arrow_rewriting` serves engines that bring batches themselves.
"""
