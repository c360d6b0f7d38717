"""Does a server keep the contract of databases (docs/any-database.md)? Asked from outside, as Seawall asks it."""
