"""Test the packages of `make build` in empty environments, away from the source tree.

    python tests/try_wheel.py dist            # a smoke test, on the oldest and the newest Python
    python tests/try_wheel.py dist --tests    # the whole suite and all doctests, against the wheel

It uses the Python versions on the path and those that pyenv has installed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What the tests read beside themselves; src is not among it.
WITH_TESTS = ("tests", "benchmarks", "docs", "examples", "pyproject.toml", "README.md")
WITH_TESTS += ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff", "LICENSE")

SMOKE = """
import subprocess, sys
import numpy as np
import kmpe
assert "site-packages" in kmpe.__file__, kmpe.__file__
for name in kmpe.__all__:
    getattr(kmpe, name)
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=120)
y[:20] += 50
assert np.abs(kmpe.RobustLinearRegression().fit(X, y).coef_ - [1, 2, 3]).max() < 0.1
assert kmpe.ELMRegressor(random_state=0).fit(X, y).predict(X).shape == (120,)
assert kmpe.ELMClassifier(random_state=0).fit(X, y > 0).score(X, y > 0) > 0.8
assert kmpe.RobustPCA(2).fit(X).transform(X).shape == (120, 2)
assert kmpe.datasets.make_sinc(20, random_state=0)[0].shape == (20, 1)
shown = subprocess.run([sys.executable, "-m", "kmpe", "--version"], capture_output=True, text=True)
assert kmpe.__version__ in shown.stdout, shown
print("kmpe", kmpe.__version__, "works on Python", sys.version.split()[0])
"""


def pythons(least: tuple[int, int]) -> list[Path]:
    """Return the interpreters of at least a version, oldest first, one for each version."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders += sorted(pyenv.glob("versions/*/bin"))
    found = {sys.version_info[:2]: Path(sys.executable)}
    for folder in folders:
        for path in folder.glob("python3.*"):
            match = re.fullmatch(r"python3\.(\d+)(\.exe)?", path.name)
            version = (3, int(match[1])) if match else (0, 0)
            if version >= least and version not in found and _runs(path):
                found[version] = path
    return [found[version] for version in sorted(found)]


def _runs(python: Path) -> bool:
    try:
        command = [python, "-c", "import venv, ensurepip"]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def environment(python: Path, folder: Path, *wanted: str) -> Path:
    """Return the interpreter of a new environment with what is wanted."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [inside, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt"]
    subprocess.run([*install, *wanted], env=clean(), check=True)
    return inside


def clean() -> dict[str, str]:
    """Return the variables of this process without those that lead to the source tree."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def smoke(python: Path, package: Path) -> None:
    """Install a package into an empty environment and use it."""
    with tempfile.TemporaryDirectory() as folder:
        inside = environment(python, Path(folder) / "venv", str(package))
        subprocess.run([inside, "-W", "error", "-c", SMOKE], cwd=folder, env=clean(), check=True)
        print(f"  from {package.name}", flush=True)


def tests(wheel: Path, extra: list[str]) -> int:
    """Run the whole suite against a wheel, in a folder without src; return pytest's code."""
    with tempfile.TemporaryDirectory() as folder:
        inside = environment(Path(sys.executable), Path(folder) / "venv", f"{wheel}[test]")
        work = Path(folder) / "work"
        work.mkdir()
        for name in WITH_TESTS:
            if (ROOT / name).is_dir():
                ignore = shutil.ignore_patterns("__pycache__", "gallery", "api")
                shutil.copytree(ROOT / name, work / name, ignore=ignore)
            else:
                shutil.copy(ROOT / name, work / name)
        package = subprocess.run(
            [inside, "-c", "import kmpe; print(kmpe.__path__[0])"],
            cwd=work,
            env=clean(),
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        if "site-packages" not in package:
            raise SystemExit(f"the tests would run against {package}, not against the wheel")
        # The wheel's own doctests too; those of torch.py run in `make test-integrations`.
        command = [inside, "-m", "pytest", "-n", "auto", "-c", "pyproject.toml", "--rootdir=."]
        command += [f"--ignore={Path(package, 'torch.py')}", *(extra or ["tests", package])]
        return subprocess.run(command, cwd=work, env=clean(), check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tests", nargs="*", metavar="PATH", help="all tests, or only these")
    options = parser.parse_args()
    (wheel,) = options.folder.resolve().glob("*.whl")
    (sdist,) = options.folder.resolve().glob("*.tar.gz")
    if options.tests is not None:
        return tests(wheel, options.tests)
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("METADATA")]
        metadata = archive.read(name).decode()
    least = re.search(r"Requires-Python: >=(\d+)\.(\d+)", metadata)
    found = pythons((int(least[1]), int(least[2])))
    smoke(found[0], wheel)
    smoke(found[0], sdist)
    if found[-1] != found[0]:
        smoke(found[-1], wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
