"""Tables and models on disk."""
