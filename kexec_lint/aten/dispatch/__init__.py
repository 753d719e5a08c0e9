"""Asks the dispatcher of the installed torch which kernel a call runs: explain, trace, compare."""
