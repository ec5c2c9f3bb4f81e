"""Where kernel, machine, criterion and search meet."""
