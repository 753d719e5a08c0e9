"""What the helpers of `acme` do, as `[tool.kexec-lint.models]` would say it."""

MODELS = {
    "acme.settle": {"does": "finish", "params": "queue"},
    "acme.blur": {"kind": "kernel", "params": "queue src dst wait_for", "reads": "src", "writes": "dst"},
}
