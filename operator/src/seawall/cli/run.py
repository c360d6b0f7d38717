"""`seawall run`: the operator itself, which has its settings from the environment; `__main__` runs it."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """None: settings are environment variables."""
    parser.description = "Needs the operator's libraries: pip install 'seawall[operator]'; its image has them."
