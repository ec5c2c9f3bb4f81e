"""The slow, plain definitions that the library is compared with."""
