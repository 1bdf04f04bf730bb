"""The ground under everything: compiled kernels, processes, locks, files written whole."""
