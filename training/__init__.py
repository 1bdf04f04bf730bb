"""Makes the weights that the package ships and measures them; not part of the package."""
