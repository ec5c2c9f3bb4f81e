"""The commands: each reads a table, calls one function of the library and prints the result."""
