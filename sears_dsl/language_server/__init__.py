"""Checks and formats `.sear` files while they are written, in any editor that speaks LSP."""
