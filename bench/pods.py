"""Where benchmarks on pods run: a corner of the local cluster, which is started unless it is up."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from seawall_e2e.cluster import build_operator_image, install_crds, make_namespace, start_platform
from seawall_e2e.commands import kubectl
from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox, toolbox_shell


@dataclass(frozen=True, slots=True)
class Place:
    """Two namespaces for the operator and what it serves, and a pod for clients of Kafka."""

    site: Site
    toolbox: Toolbox


@contextmanager
def own_place() -> Iterator[Place]:
    """A place with the CRDs and the operator's image. Its namespaces are gone afterwards."""
    start_platform()
    image = build_operator_image()
    install_crds()
    name = f"bench-{secrets.token_hex(3)}"
    toolbox = Toolbox(f"{name}-toolbox", image, toolbox_shell(f"{name}-toolbox"))
    site = Site(name, image, toolbox)
    for namespace in (toolbox.namespace, site.namespace, site.operator.namespace):
        make_namespace(namespace)
    toolbox.start()
    try:
        yield Place(site, toolbox)
    finally:
        with closing(toolbox.shell):
            site.clear()
        kubectl("delete", "namespace", toolbox.namespace, "--wait=false")
