"""The command ``kmpe``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 after an error, or 130 when stopped."""
    try:
        return _main(argv)
    except KeyboardInterrupt:
        print("kmpe: stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _main(argv: Sequence[str] | None) -> int:
    try:
        arguments = _parser().parse_args(argv)
        from concurrent.futures.process import BrokenProcessPool

        from kmpe.datasets import DatasetError
        from kmpe.report.files import OutputError
        from kmpe.paper.run import Options, reproduce
    except ImportError as error:
        if (error.name or "").startswith("kmpe"):
            raise
        print(f"kmpe: {error.name} is missing: pip install 'kmpe[paper]'", file=sys.stderr)
        return 2
    options = Options(
        names=arguments.names,
        repeats=arguments.repeats,
        seed=arguments.seed,
        data_dir=arguments.data_dir,
        jobs=arguments.jobs or Options.jobs,
        out=arguments.out,
        quick=arguments.quick,
        tune=arguments.tune,
    )
    try:
        results = reproduce(options)
    except (DatasetError, OutputError) as error:
        print(f"kmpe: {error}", file=sys.stderr)
        return 2
    except BrokenProcessPool:
        print(
            "kmpe: a process died, perhaps for want of memory: go on with --jobs 1", file=sys.stderr
        )
        return 2
    for sentence in results["missing"].values():
        print(f"missing: {sentence}")
    print(f"{options.out / 'report.html'} written in {results['run']['seconds']:.0f} s")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kmpe", description="Robust learning with KMPE.")
    commands = parser.add_subparsers(required=True, metavar="command")
    command = commands.add_parser(
        "reproduce",
        help="the paper's tables and figures, beside the printed ones",
        description="Make the paper's tables and figures and write them beside the printed ones "
        "to OUT/report.html. A run that was stopped goes on where it stopped.",
    )
    command.add_argument(
        "names",
        nargs="*",
        type=_name,
        metavar="name",
        help="table1 to table10, fig1 to fig7; all of them by default",
    )
    size = command.add_mutually_exclusive_group()
    size.add_argument(
        "--repeats", type=_positive, help="repeats behind each mean ± sd (default 100)"
    )
    size.add_argument("--quick", action="store_true", help="20 repeats instead of 100")
    command.add_argument("--seed", type=_seed, default=0, help="seed of the run (default 0)")
    command.add_argument("--data-dir", help="folder with data files (default $KMPE_DATA)")
    command.add_argument("--jobs", type=_positive, help="processes (default: one per core)")
    command.add_argument("--out", type=Path, default=Path("out"), help="output folder")
    command.add_argument(
        "--tune",
        action="store_true",
        help="choose parameters by five-fold cross-validation instead of the printed ones",
    )
    return parser


def _name(text: str) -> str:
    # Imported here, and not for --help: it needs scikit-learn and matplotlib.
    from kmpe.paper.report import ARTEFACTS

    tables = [artefact.name for artefact in ARTEFACTS if artefact.is_table]
    figures = [artefact.name for artefact in ARTEFACTS if not artefact.is_table]
    if text not in tables + figures:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of {tables[0]} to {tables[-1]}, {figures[0]} to {figures[-1]}"
        )
    return text


def _positive(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _seed(text: str) -> int:
    if not (text.isdecimal() and int(text) < 2**32):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^32 - 1")
    return int(text)
