"""``python -m thence`` is the command line."""

from thence.cli.main import main

if __name__ == "__main__":
    main()
