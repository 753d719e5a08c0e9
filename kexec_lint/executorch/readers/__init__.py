"""Readers of what a build registers, one module a format; `detect` tells which."""
