"""The command ``kmpe``."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import kmpe

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 after an error, or 130 when stopped."""
    try:
        return _main(argv)
    except KeyboardInterrupt:
        print("kmpe: stopped; run the same command again to continue", file=sys.stderr)
        return 130


def _main(argv: Sequence[str] | None) -> int:
    extra = "paper"
    try:
        arguments = _parser().parse_args(argv)
        extra = arguments.extra
        return int(arguments.run(arguments))
    except ImportError as error:
        package = (error.name or "kmpe").partition(".")[0]
        if package == "kmpe":
            raise
        print(f"kmpe: {package} is missing: pip install 'kmpe[{extra}]'", file=sys.stderr)
        return 2


def _told(error: Exception) -> int:
    print(f"kmpe: {error}", file=sys.stderr)
    return 2


# -- the commands ------------------------------------------------------------------------------


def _reproduce(arguments: argparse.Namespace) -> int:
    from concurrent.futures.process import BrokenProcessPool

    from kmpe.datasets import DatasetError
    from kmpe.io.output import OutputError
    from kmpe.paper.run import Options, reproduce

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
        return _told(error)
    except BrokenProcessPool:
        print(
            "kmpe: a process died, perhaps out of memory: continue with --jobs 1", file=sys.stderr
        )
        return 2
    for sentence in results["missing"].values():
        print(f"missing: {sentence}")
    print(f"{options.out / 'report.html'} written in {results['run']['seconds']:.0f} s")
    return 0


def _fit(arguments: argparse.Namespace) -> int:
    from kmpe.io.output import prepare_folder
    from kmpe.table import TableError, fit, write_fit

    start = time.monotonic()
    try:
        out = prepare_folder(arguments.out)
        fitted = fit(
            arguments.table,
            arguments.target,
            model=arguments.model,
            weights=arguments.weights,
            drop=arguments.drop,
            seed=arguments.seed,
            quiet=arguments.quiet,
        )
        verdict = write_fit(fitted, out)
    except (TableError, OSError) as error:
        return _told(error)
    if not arguments.quiet:
        print(verdict)
        print(
            f"{out / 'report.html'}, model.skops and rows.csv written in "
            f"{time.monotonic() - start:.0f} s"
        )
    return 0


def _predict(arguments: argparse.Namespace) -> int:
    from kmpe.table import TableError, predict, write_csv

    try:
        found, notes = predict(arguments.model, arguments.table)
        for note in notes:
            if not arguments.quiet:
                print(f"kmpe: {note}", file=sys.stderr)
        if arguments.out is None:
            sys.stdout.write(found.to_csv())
        else:
            write_csv(found, arguments.out)
    except (TableError, OSError) as error:
        return _told(error)
    return 0


def _pca(arguments: argparse.Namespace) -> int:
    from kmpe.io.output import prepare_folder
    from kmpe.table import TableError, pca

    start = time.monotonic()
    try:
        out = prepare_folder(arguments.out)
        verdict = pca(
            arguments.table,
            out,
            components=arguments.components,
            drop=arguments.drop,
            seed=arguments.seed,
            quiet=arguments.quiet,
        )
    except (TableError, OSError) as error:
        return _told(error)
    if not arguments.quiet:
        print(verdict)
        print(
            f"{out / 'report.html'}, model.skops and rows.csv written in "
            f"{time.monotonic() - start:.0f} s"
        )
    return 0


# -- arguments ---------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kmpe", description="Robust learning with KMPE.")
    parser.add_argument("--version", action="version", version=f"kmpe {kmpe.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    _add_fit(commands)
    _add_predict(commands)
    _add_pca(commands)
    _add_reproduce(commands)
    return parser


def _add_fit(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "fit",
        help="fit a table in a file, and write a report",
        description="Fit robust models to a CSV, Parquet or Excel file and write OUT/report.html, "
        "OUT/model.skops and OUT/rows.csv.",
    )
    command.set_defaults(run=_fit, extra="table")
    command.add_argument("table", help="the file; - is standard input")
    command.add_argument("--target", required=True, help="the column to predict")
    command.add_argument(
        "--model",
        choices=("auto", "linear", "machine"),
        default="auto",
        help="the model (default: the better of the two)",
    )
    command.add_argument("--weights", help="a column of sample weights")
    _add_common(command)


def _add_predict(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "predict",
        help="predict the rows of a table with a fitted model",
        description="Print the prediction and its interval for each row of a table, as CSV.",
    )
    command.set_defaults(run=_predict, extra="table")
    command.add_argument("model", type=Path, help="model.skops, as kmpe fit writes it")
    command.add_argument("table", help="a CSV, Parquet or Excel file; - is standard input")
    command.add_argument("--out", type=Path, help="write to this CSV file instead")
    command.add_argument("--quiet", action="store_true", help="say nothing but errors")


def _add_pca(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "pca",
        help="robust principal components of a table in a file, and a report",
        description="Fit RobustPCA to the columns of numbers of a CSV, Parquet or Excel file and "
        "write OUT/report.html, OUT/model.skops and OUT/rows.csv.",
    )
    command.set_defaults(run=_pca, extra="table")
    command.add_argument("table", help="the file; - is standard input")
    command.add_argument(
        "--components", type=_positive, help="number (default: 80%% of the variance)"
    )
    _add_common(command)


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="a column to leave out"
    )
    command.add_argument("--seed", type=_seed, default=0, help="seed of the run (default 0)")
    command.add_argument("--out", type=Path, default=Path("out"), help="output folder")
    command.add_argument("--quiet", action="store_true", help="say nothing but errors")


def _add_reproduce(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "reproduce",
        help="the paper's tables and figures, beside the printed ones",
        description="Make the paper's tables and figures and write them beside the printed ones "
        "to OUT/report.html. An interrupted run continues where it stopped.",
    )
    command.set_defaults(run=_reproduce, extra="paper")
    command.add_argument(
        "names",
        nargs="*",
        type=_name,
        metavar="name",
        help="table1 to table10, fig1 to fig7; all of them by default",
    )
    size = command.add_mutually_exclusive_group()
    size.add_argument("--repeats", type=_positive, help="repeats for each mean ± sd (default 100)")
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
