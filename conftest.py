"""What pytest collects where an optional package is missing."""

from importlib.util import find_spec

# Its doctests run in `make test-integrations`.
collect_ignore = [] if find_spec("torch") else ["src/kmpe/torch.py"]
