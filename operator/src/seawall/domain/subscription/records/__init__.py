"""Where rows go: topics of the target, where each topic of the log begins, and what applications are told (ADR 52)."""
