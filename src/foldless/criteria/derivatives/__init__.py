"""Total derivatives of what criteria read, one file per kind of machine."""
