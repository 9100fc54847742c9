"""``python -m kmpe`` is the command ``kmpe``."""

import sys

from kmpe.cli import main

if __name__ == "__main__":
    sys.exit(main())
