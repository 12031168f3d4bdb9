"""``python -m semcast``: the command line, for whoever has no ``semcast`` on the path."""

from semcast.cli import main

if __name__ == "__main__":
    main()
