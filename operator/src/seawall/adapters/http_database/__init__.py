"""Any database that serves the contract of docs/any-database.md over HTTP: what is on the wire, and who asks for it."""
