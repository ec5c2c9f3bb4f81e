"""Tables of the papers, ours beside theirs."""
