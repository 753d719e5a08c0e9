"""Reads operator registrations, calls and kernels from Python source with the standard library's `ast`."""
