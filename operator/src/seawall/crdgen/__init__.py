"""Generates the CRD YAML from the pydantic models: `make crds` writes it, `make check` compares, nobody edits it."""
