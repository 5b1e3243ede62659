"""The file that the programs' settings name.

The file is run by its path and finds its package relative to this path. A file in the agent's folder therefore cannot
replace a module of the package.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from inferact_client.hook.command import main

    sys.exit(main())
