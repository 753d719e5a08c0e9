"""Files in, findings out: discovery, pre-filter, cache, worker pool, suppressions, settings."""
