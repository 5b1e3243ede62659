"""The file that the programs' settings name.

Run by its path, it finds its package by its own place, so that no file in the agent's folder replaces a module of it.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from inferact_client.hook.command import main

    sys.exit(main())
