"""``python -m recdemo``."""

from recdemo.cli import main

if __name__ == "__main__":  # processes that we start import this file
    main()
