"""The language server: thin over the engine, imported by `kexec-lint server` alone."""
