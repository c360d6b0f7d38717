"""How a command finds the operator's pages, and shows who asks."""

from __future__ import annotations

from seawall.api.meta import GROUP

PAGES_PORT_ANNOTATION = f"{GROUP}/pages-port"
"""On the operator's Lease: the port of the pages of the process that leads."""

PAGES_PORT = 8443
"""The port of the pages where the Lease does not say another one."""

PERSON_HEADER = "X-Seawall-Authorization"
"""Of a request for a page: `Bearer <token>` of who asks. The API server's proxy takes `Authorization` away."""
