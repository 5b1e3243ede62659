"""The entry point of `python -m console.cli`."""

from console.cli import main

main()
