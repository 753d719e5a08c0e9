"""The documentation site: hand-written pages, and those that `generated.py` makes of the rules and the code."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generated

from kexec_lint import __version__

project = "kexec-lint"
author = "the kexec-lint authors"
copyright = "2026, the kexec-lint authors"
release = version = __version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nitpicky = True
# Rule pages quote fragments, and screens are no programs.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"kexec-lint {__version__}"
html_theme_options = {
    "source_repository": "https://github.com/kexec-lint/kexec-lint/",
    "source_branch": "main",
    "source_directory": "docs/",
}
html_copy_source = False
linkcheck_ignore = [r"https://kexec-lint\.readthedocs\.io/", r"https://github\.com/kexec-lint/"]

generated.write(Path(__file__).parent)
