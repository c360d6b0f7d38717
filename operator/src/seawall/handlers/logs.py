"""How log lines look: for people, or one JSON object a line, for collectors."""

from __future__ import annotations

import logging

from pythonjsonlogger.json import JsonFormatter

from seawall.settings import Settings

_TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def begin_logging(settings: Settings) -> None:
    """Lets all loggers write to stderr, and kopf less than all."""
    handler = logging.StreamHandler()
    handler.setFormatter(_json() if settings.log_format == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=settings.log_level, handlers=[handler])
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)  # one line per event says nothing of our work


def _json() -> logging.Formatter:
    """Keys as Kubernetes' own components name them in their JSON logs; a traceback is a field of its line."""
    names = {"levelname": "level", "name": "logger", "message": "msg", "exc_info": "error"}
    form = "%(levelname)s %(name)s %(message)s"
    return JsonFormatter(form, rename_fields=names, json_ensure_ascii=False, timestamp="ts")
