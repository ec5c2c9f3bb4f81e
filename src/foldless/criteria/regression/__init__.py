"""What regression criteria need to know: the noise variance, norms of the error."""
