"""The page: who may talk to it, what it asks, and the server that answers.

`serving` opens a port, `security` lets in the one who was given the address, `routes` answer from
a `Session`; the page itself is in ``pages``.
"""
