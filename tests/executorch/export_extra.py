"""The mark of tests that need torch and executorch."""

from __future__ import annotations

import pytest

from kexec_lint.executorch.export import ExportError, require


def _missing() -> bool:
    try:
        require()
    except ExportError:
        return True
    return False


needs_export = pytest.mark.skipif(_missing(), reason="needs the extra: pip install 'kexec-lint[export]'")
