"""Reads operator registrations and kernels from C++ and CUDA source with tree-sitter."""
