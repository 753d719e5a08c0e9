"""Records what a running PyOpenCL program does, as a stream of small tuples that another process reads (`trace`).

In the program's own process only this happens: wrappers around the functions of `pyopencl._cl` note each call. All
judging is done elsewhere, after the program has ended.
"""
