"""Fitted models as skops files: a file names its types, and loading it runs no code from it.

The file is skops' own (a zip archive) with one member more, `kmpe.json`: the version of this
format, and of the packages that wrote it.
"""

import importlib.metadata
import io
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kmpe

__all__ = ["FORMAT", "TYPES", "ModelFileError", "load", "save"]

#: The version of the format. A change that older versions of this package cannot read raises it.
FORMAT = 1
_MEMBER = "kmpe.json"
_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")

#: The types that a fitted model may contain besides those that skops trusts: types of this package,
#: which run no code from a file, and data types of arrays.
TYPES = (
    "kmpe.choice.labels.LabelNoise",
    "kmpe.choice.noise.Noise",
    "kmpe.estimators.conformal.ConformalRegressor",
    "kmpe.estimators.elm.classifier.ELMClassifier",
    "kmpe.estimators.elm.fitting.Unit",
    "kmpe.estimators.elm.opening.Opening",
    "kmpe.estimators.elm.regressor.ELMRegressor",
    "kmpe.estimators.formula.Formula",
    "kmpe.estimators.imputer.RobustImputer",
    "kmpe.estimators.linear.RobustLinearRegression",
    "kmpe.estimators.pca.RobustPCA",
    "kmpe.estimators.pca_l1.PCAL1",
    "kmpe.estimators.robust.classifier.RobustClassifier",
    "kmpe.estimators.robust.regressor.RobustRegressor",
    "kmpe.inference.pca.OutlierMap",
    "kmpe.losses.blend.Blend",
    "kmpe.losses.density.LogDensity",
    "kmpe.losses.kernel.Correntropy",
    "kmpe.losses.kernel.KMPE",
    "kmpe.losses.robust.Cauchy",
    "kmpe.losses.robust.Huber",
    "kmpe.losses.robust.MPE",
    "kmpe.losses.robust.RiskSensitive",
    "kmpe.losses.robust.Squared",
    "kmpe.losses.robust.Trimmed",
    "kmpe.losses.robust.Tukey",
    "kmpe.problems.pca.distances.Limits",
    "kmpe.rows.hidden_layer.HiddenLayer",
    "kmpe.rows.kernel_nodes.Kernel",
    "kmpe.rows.kernel_nodes.KernelNodes",
    "kmpe.rows.kernel_nodes.Scaling",
    "kmpe.rows.source.Rows",
    "kmpe.solvers.stream.Stream",
    "kmpe.solvers.stream._Group",
    "numpy.dtype",
)


class ModelFileError(ValueError):
    """A file does not contain a model that can be loaded safely.

    See Also
    --------
    load : Raises it.

    Examples
    --------
    >>> import tempfile
    >>> from kmpe import io
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         io.load(file.name)
    ...     except io.ModelFileError:
    ...         print("no model")
    no model
    """


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator to a file.

    Parameters
    ----------
    estimator : estimator
        One of this package, or a pipeline or meta-estimator of scikit-learn that contains one.
    path : path
        The file, usually with the ending ``.skops``. It is written whole or not at all.

    See Also
    --------
    load : Reads the file.
    to_onnx : A graph for other programs.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from kmpe import RobustLinearRegression, io
    >>> X = np.arange(20.0)[:, None]
    >>> model = RobustLinearRegression().fit(X, 3 * X[:, 0] + np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     io.save(model, f"{folder}/model.skops")
    ...     again = io.load(f"{folder}/model.skops")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    content = io.BytesIO(_skops().dumps(estimator, compression=zipfile.ZIP_DEFLATED))
    about = {
        "format": FORMAT,
        "kmpe": kmpe.__version__,
        "packages": {name: importlib.metadata.version(name) for name in _PACKAGES},
    }
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_MEMBER, json.dumps(about))
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_bytes(content.getbuffer())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def load(path: str | Path, *, trusted: Sequence[str] = ()) -> Any:
    """Return the estimator in a file written by `save`.

    A file with a type that is neither of this package, nor of those of scikit-learn and NumPy that
    skops knows to be harmless, is rejected before any of it is imported or created.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str
        Further types to allow, by their full names. Allow only types that you trust.

    Raises
    ------
    ModelFileError
        If the file is not a model, was written by a later version of this package, or contains a
        type that is not allowed.

    See Also
    --------
    save : Writes the file.

    Examples
    --------
    >>> import tempfile
    >>> from kmpe import PCAL1, io
    >>> model = PCAL1(1).fit([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     io.save(model, f"{folder}/model.skops")
    ...     again = io.load(f"{folder}/model.skops")
    >>> bool((again.components_ == model.components_).all())
    True
    """
    content = Path(path).read_bytes()
    skops = _skops()
    _check_format(content, path)
    allowed = [*TYPES, *trusted]
    try:
        strange = sorted(set(skops.get_untrusted_types(data=content)) - set(allowed))
        if not strange:
            return skops.loads(content, trusted=allowed)
    # The reader does not check for damaged files and may raise anything.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelFileError(f"{path} is damaged ({reason}): save the model again") from error
    raise ModelFileError(
        f"{path} contains the type {strange[0]}, which may run any code: if you trust the author "
        f"of the file, load it with trusted={strange!r}"
    )


def _check_format(content: bytes, path: str | Path) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            about = json.loads(archive.read(_MEMBER))
        version, writer = int(about["format"]), str(about["kmpe"])
    except Exception as error:
        raise ModelFileError(f"{path} is not a model written by kmpe.io.save") from error
    if version > FORMAT:
        raise ModelFileError(
            f"{path} was written by kmpe {writer} in format {version}; kmpe {kmpe.__version__} "
            f"reads formats up to {FORMAT}: pip install --upgrade kmpe"
        )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("model files need skops: pip install 'kmpe[io]'", name="skops") from error
    return skops.io
