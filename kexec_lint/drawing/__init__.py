"""Enqueue graphs as people draw them: queues as lanes, commands in order, edges by kind, missing ones in red."""

FORMATS = ("svg", "html", "dot", "mermaid", "json")
"""Names of the formats; each is the module `to_<name>` with `render(pictures, sources)`."""
