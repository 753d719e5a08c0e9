"""Checks, one module a family: a selection by itself, models against a build, model files by themselves."""
