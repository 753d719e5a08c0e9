"""Name the layer, show the missing edge or kernel before anything runs, prove it on a device."""

__version__ = "0.1.0"
