"""With verbose=1 a fit says how far it has come, and is silent otherwise."""

import re

import numpy as np
import pytest

from kmpe import ELMClassifier, ELMRegressor, RobustLinearRegression, RobustPCA

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) * [3.0, 2.0, 1.0]
Y = X @ [1.0, 2.0, 3.0] + RNG.normal(size=300)
MODELS = [
    RobustLinearRegression(),
    RobustPCA(1),
    ELMRegressor(n_hidden=5, activation="sigmoid", random_state=0),
    ELMClassifier(n_hidden=5, activation="sigmoid", random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_tells_its_stations_when_it_is_asked_to(model, capsys):
    y = Y > 0 if isinstance(model, ELMClassifier) else Y
    model.set_params(verbose=0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=1).fit(X, y)
    out, told = capsys.readouterr()
    assert out == ""
    line = rf"{type(model).__name__}: (\w+)[\w ]*, \d+\.\d s(, \d+ steps, cost [-\d.e+]+)?(, done)?"
    found = [re.fullmatch(line, some) for some in told.splitlines()]
    assert all(found)
    # A slow machine may have lines of steps between them.
    assert list(dict.fromkeys(some[1] for some in found)) == ["start", "choice", "passes"]
    assert found[-1][3]


def test_a_machine_that_tunes_itself_says_so(capsys):
    ELMRegressor(verbose=1).fit(X[:40], Y[:40])
    assert "ELMRegressor: widths on a sample" in capsys.readouterr().err


def test_a_terminal_has_one_line_that_is_written_over(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    RobustLinearRegression(verbose=1).fit(X, Y)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.count("\r") >= 3


def test_verbose_is_a_number():
    with pytest.raises(ValueError, match="verbose='yes' must be 0, for silence, or 1"):
        RobustLinearRegression(verbose="yes").fit(X, Y)
