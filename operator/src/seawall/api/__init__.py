"""The custom resources as pydantic models: the one source of the CRDs, their documentation and their validation."""
