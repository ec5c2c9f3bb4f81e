"""``python -m foldless`` is the command line."""

from foldless.cli.main import main

if __name__ == "__main__":
    main()
