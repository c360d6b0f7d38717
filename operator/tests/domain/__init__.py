"""Tests of what decides: tables, properties and a transcript; no mocks."""
