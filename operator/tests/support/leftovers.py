"""What tests leave on an API server that they share: an operator that serves all namespaces would go on with it.

Nothing there deletes the objects of a namespace that goes, and hundreds of WALClusters whose Kafka has ended cost an
operator, and the API server that it asks, more than all that the test is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from seawall_e2e.loopback import ApiServer
from tests.support.kube import CRDS, OBJECTS, KubeClient, Refusal

SHARED: list[KubeClient] = []
"""Of API servers that tests share, while they run."""
ALL = "/apis/seawall.dev/v1alpha1/{}"


def clear_leftovers(client: KubeClient) -> None:
    """Deletes all objects of Seawall's kinds, whoever waits for them."""
    for plural in sorted(path.stem for path in CRDS.glob("*.yaml")):
        listed = client.find(ALL.format(plural)) or {"items": []}  # the CRD may not be there
        for each in listed["items"]:
            metadata = each["metadata"]
            where = f"{OBJECTS.format(metadata['namespace'], plural)}/{metadata['name']}"
            with suppress(Refusal):  # it is gone, or goes
                client.delete(where)
                if metadata.get("finalizers"):
                    client.merge(where, {"metadata": {"finalizers": None}})


@contextmanager
def shared_api_server() -> Iterator[KubeClient]:
    """An API server of which files leave nothing behind."""
    with ApiServer() as server:
        client = KubeClient(server)
        SHARED.append(client)
        try:
            yield client
        finally:
            SHARED.remove(client)


def clear_shared() -> None:
    """Those of all that run."""
    for client in SHARED:
        clear_leftovers(client)
