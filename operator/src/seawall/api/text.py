"""Parts of patterns that mean the same to the API server (Go's RE2) and to the models (Rust's regex)."""

from __future__ import annotations

SPACE = r"\x00-\x20\x7f\x85\p{Z}"
r"""White space and control characters, to be used within brackets.

`\s` is less to Go than to Rust, which knows Unicode's: the API server would take what the operator cannot read.
"""
