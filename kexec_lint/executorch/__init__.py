"""ExecuTorch: operator sets of programs, what a build registers, and whether the one runs on the other."""
