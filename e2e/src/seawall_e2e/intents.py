"""How far the operator means to delete, as it wrote it down; and to see that it writes, at once."""

from __future__ import annotations

import base64
import subprocess
import threading
from collections.abc import Iterable

from seawall.domain.ledger.intents import decode_shard, name_hash
from seawall_e2e.commands import Object
from seawall_e2e.objects import items
from seawall_e2e.waiting import BOUND, WaitedInVain

_LABEL = "app.kubernetes.io/component=intents"
_SHARD = "shard"


def intents_of(objects: Iterable[Object], topics: Iterable[str]) -> dict[str, int]:
    """Topic → intent, of the topics of which there is one, found among the objects of a namespace."""
    shards = (each.get("binaryData", {}).get(_SHARD) for each in objects if each["kind"] == "ConfigMap")
    known = {name: intent for shard in shards if shard for name, intent in _decoded(shard).items()}
    return {topic: known[name_hash(topic)] for topic in topics if name_hash(topic) in known}


def read_intents(namespace: str, topics: Iterable[str]) -> dict[str, int]:
    """The same, read now."""
    return intents_of(items(namespace, "configmaps", labels=_LABEL), topics)


def wait_for_a_new_intent(namespace: str, topics: Iterable[str]) -> None:
    """Returns some milliseconds after the operator has written that it is about to delete more of any of the topics."""
    hashes = {name_hash(topic): intent for topic, intent in read_intents(namespace, topics).items()}
    template = "jsonpath={.binaryData." + _SHARD + '}{"\\n"}'
    command = ("kubectl", "-n", namespace, "get", "configmaps", "-l", _LABEL, "--watch", "-o", template)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as watch:
        late = threading.Timer(BOUND, watch.kill)
        late.start()
        try:
            for line in watch.stdout or ():
                seen = _decoded(line).items()
                if any(intent > hashes.get(name, intent) for name, intent in seen):
                    return
                hashes |= dict(seen)
        finally:
            late.cancel()
            watch.kill()
    raise WaitedInVain(f"no intent rose within {BOUND:g} s")


def _decoded(shard: str) -> dict[bytes, int]:
    return {name: record.intent for name, record in decode_shard(base64.b64decode(shard)).items()}
