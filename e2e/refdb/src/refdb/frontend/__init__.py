"""The role that speaks SQL over HTTP."""
