"""What a browser is told of each page: no script, nothing from elsewhere, in no frame, and no copy is kept."""

from __future__ import annotations

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""The operator says so, and `seawall ui` again, whatever is between them."""
