"""Generates the CRD YAML and docs/reference.md from the pydantic models, and the tables of docs/conditions.md.

`make crds` writes them, `make check` compares, nobody edits them.
"""
