"""Argo CD's health check on objects as the operator really leaves them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until
from tests.product.test_argocd_health import health


def test_argo_cd_reads_the_state_of_real_objects(site: Site) -> None:
    site.install()
    wal = site.wal_cluster()
    wal.apply(site.pool(2))
    ready = wal.wait("Ready")
    # The older one owns the pool, and Kubernetes counts whole seconds; of one second, the UID decides.
    next_second = datetime.fromisoformat(ready["metadata"]["creationTimestamp"]) + timedelta(seconds=1)
    wait_until(lambda: datetime.now(UTC) >= next_second, "the next second has begun")
    conflicting_owner = site.wal_cluster("rival")
    conflicting_owner.apply(site.pool(2))
    claimed = conflicting_owner.wait("PrefixClaimed")
    silent = site.wal_cluster("silent")
    silent.apply({"prefix": f"{site.prefix}_silent"}, {"bootstrapServers": ["kafka-0.kafka.kafka:9"]})
    unreachable = silent.wait("KafkaUnreachable")

    assert health(ready)[0] == "Healthy"
    assert health(claimed)[0] == "Degraded"
    assert health(unreachable)[0] == "Progressing"
