"""Parts of patterns that mean the same to the API server (Go's RE2) and to the models (Rust's regex)."""

from __future__ import annotations

SPACE = r"\x00-\x20\x7f\x85\p{Z}"
r"""White space and control characters, to be used within brackets.

`\s` is less to Go than to Rust, which knows Unicode's: the API server would take what the operator cannot read.
"""

PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
"""A port of TCP, as part of a pattern: 1 to 65535."""
