"""``python -m translucid`` is the same command as ``translucid``."""

from translucid.cli.main import main

if __name__ == "__main__":
    main()
