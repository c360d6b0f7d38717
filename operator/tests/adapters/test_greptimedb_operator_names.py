"""What greptimedb-operator names a cluster's StatefulSets and Services (`ResourceName` of its v0.6.0)."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.adapters.kube.greptimedb_cluster import _cluster
from seawall.api.meta import Key


@pytest.mark.parametrize(
    ("spec", "stateful_sets", "frontend"),
    [
        ({"datanode": {}, "frontend": {}}, ["db-datanode"], "db-frontend"),
        ({"datanode": {"name": ""}, "frontend": {"name": ""}}, ["db-datanode"], "db-frontend"),
        ({"datanode": {"name": "hot"}, "frontend": {"name": "read"}}, ["db-datanode-hot"], "db-frontend-read"),
        (
            {"datanodeGroups": [{"name": "a"}, {}], "frontendGroups": [{"name": "read"}, {"name": "write"}]},
            ["db-datanode-a", "db-datanode"],
            "db-frontend-read",
        ),
        ({"datanodeGroups": [{"name": "a"}], "frontendGroups": [{}]}, ["db-datanode-a"], "db-frontend"),
        ({}, [], None),
    ],
)
def test_a_name_is_appended_where_one_is_given(
    spec: dict[str, Any], stateful_sets: list[str], frontend: str | None
) -> None:
    found = _cluster(Key("default", "db"), spec)
    assert [each.stateful_set for each in found.datanodes] == stateful_sets
    assert found.frontend == frontend
