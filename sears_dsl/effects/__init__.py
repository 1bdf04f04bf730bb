"""What rules do to a model: rewrites, the answers to them, flips and what these are worth."""
