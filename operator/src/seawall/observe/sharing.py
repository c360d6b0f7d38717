"""One look at what Strimzi has on the Kafka cluster of a WALCluster."""

from __future__ import annotations

from seawall.domain.errors import OutsideUnavailable, Refused
from seawall.domain.sharing import Sharing, sharing_of
from seawall.ports import Strimzi


def observe_sharing(strimzi: Strimzi | None, cluster_id: str) -> Sharing | str | None:
    """What of a Kafka cluster is Strimzi's; a sentence: why nobody knows; None: nobody asks, or there is no Strimzi."""
    try:
        view = None if strimzi is None else strimzi.observe()
    except Refused as refused:
        return f"what Strimzi manages cannot be read ({refused}): set the chart's strimzi.namespaces to where it is"
    except OutsideUnavailable:
        return "what Strimzi manages is not known: the API server does not list it"
    return None if view is None else sharing_of(view, cluster_id)
