"""The commands about rule files themselves."""
