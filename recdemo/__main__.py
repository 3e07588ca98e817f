"""``python -m recdemo``."""

from recdemo.cli import main

main()
