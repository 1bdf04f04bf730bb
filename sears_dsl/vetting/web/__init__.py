"""The page: who may access it, what it asks, and the server that answers.

`serving` opens a port, `security` admits only those who were given the address, and `routes`
answers from a session. The page itself is in ``pages``.
"""
