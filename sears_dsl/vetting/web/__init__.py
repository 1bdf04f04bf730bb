"""The page: who may talk to it, what it asks, and the server that answers."""
