"""What an API server has when it comes back from a backup: objects, ConfigMaps and intents of then, as new versions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from seawall.api.meta import Key
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.shards import IntentShard
from tests.fakes.intents import FakeIntentStore
from tests.fakes.kube import FakeKube


def back_up(kube: FakeKube, intents: FakeIntentStore) -> Callable[[], None]:
    """What brings all of it back."""
    objects, maps, shards = copy.deepcopy(kube._objects), dict(kube._config_maps), dict(intents._shards)

    def bring_back() -> None:
        restore_objects(kube, objects, maps)
        restore_shards(intents, shards)

    return bring_back


def restore_objects(
    kube: FakeKube, objects: Mapping[tuple[str, Key], dict[str, Any]], maps: Mapping[Key, ConfigMap]
) -> None:
    """Brings objects and ConfigMaps back; what was written since is forgotten."""
    kube._objects = copy.deepcopy(dict(objects))
    for raw in kube._objects.values():
        raw["metadata"]["resourceVersion"] = f"restored-{raw['metadata']['resourceVersion']}"
    kube._config_maps = {
        key: replace(each, resource_version=f"restored-{each.resource_version}") for key, each in maps.items()
    }


def restore_shards(intents: FakeIntentStore, shards: Mapping[Key, IntentShard]) -> None:
    """Brings the records with the intents back."""
    intents._shards = {key: replace(each, version=f"restored-{each.version}") for key, each in shards.items()}
