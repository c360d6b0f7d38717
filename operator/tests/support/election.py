"""A process as an election meets it: all that `Operator._elect` needs, and nothing that a story does not say."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from types import SimpleNamespace
from typing import Any, cast

from seawall.handlers.operator import Operator


def candidate(elector: Executor, queues: Any, **parts: Any) -> Operator:
    """Watches, leads as its `lease` says, and begins no new term, unless a part says otherwise. Call it in a loop."""
    found = {
        "watcher": SimpleNamespace(is_watching=lambda: True),
        "telemetry": SimpleNamespace(lead=lambda **_: None, measure_clocks=lambda _: None),
        "clock": SimpleNamespace(trusted=lambda: None),
        "terms": SimpleNamespace(renew=lambda: False),
        **parts,
    }
    own = {f"_{name}": part for name, part in found.items()}
    return cast("Operator", SimpleNamespace(_loop=asyncio.get_running_loop(), _elector=elector, _queues=queues, **own))
