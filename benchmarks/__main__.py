"""Run the comparisons: python -m benchmarks [NAME ...]; all of them without a name.

Tables are printed; tables, JSON and plots are left in out/bench. Ends with 1 if a promise is
not kept.
"""

import argparse
import importlib
import sys

from benchmarks.measure import OUT, write

NAMES = ("ridge", "elm", "small", "stream", "growth", "crossover", "out_of_core", "peers")
#: Studies that take hours; they have options of their own, and run when they are named.
STUDIES = ("tables", "labels", "anything", "cluster", "devices")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME", help=", ".join(NAMES))
    given, options = parser.parse_known_args()
    names = given.names
    unknown = set(names) - {*NAMES, *STUDIES}
    if unknown:
        parser.error(f"{sorted(unknown)[0]!r} is none of {', '.join([*NAMES, *STUDIES])}")
    if options and not (len(names) == 1 and names[0] in STUDIES):
        parser.error(f"{options[0]!r} is an option of none of {', '.join(names)}")
    kept = True
    for name in names:
        module = importlib.import_module(f"benchmarks.{name}")
        lines = module.run(options) if name in STUDIES else module.run()
        print(write(name, lines), flush=True)
        kept &= all(line.met is not False for line in lines)
    print(f"tables, JSON and plots are in {OUT}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
