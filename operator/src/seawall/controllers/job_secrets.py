"""The Secrets that a job cannot start without."""

from __future__ import annotations

from collections.abc import Iterable

from seawall.api.meta import Key
from seawall.domain.errors import Forbidden, Refused
from seawall.ports import Kube


def require_secrets(kube: Kube, namespace: str, names: Iterable[str], field: str) -> None:
    """A driver waits without a word for a Secret that is missing. What may not be read is left to the kubelet.

    Raises:
        Refused: there is no such Secret, which `spec.<field>` of the WALCluster names.
    """
    for name in names:
        try:
            found = kube.get_secret(Key(namespace, name))
        except Forbidden:
            continue
        if found is None:
            raise Refused(f"there is no Secret {name}, which spec.{field} of the WALCluster names for the job")
