"""Displays keep scikit-learn's convention, and show what they say they show."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import PredictionErrorDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kmpe import (
    KMPE,
    PCAL1,
    ELMClassifier,
    ELMRegressor,
    RobustLinearRegression,
    RobustPCA,
    Squared,
    plots,
)
from kmpe.plots.distances import robust_distances
from kmpe.plots.drawing import shown

DISPLAYS = [getattr(plots, name) for name in plots.__all__]
SCIKIT_LEARN = PredictionErrorDisplay


@pytest.fixture(autouse=True)
def no_open_figures() -> Any:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def stackloss() -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(Path(__file__).parent / "reference" / "stackloss.csv", comment="#")
    table.index = table.index + 1
    return table.iloc[:, :-1], table.iloc[:, -1]


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, 2.0, 0.0] + 0.3 * rng.normal(size=300)
    y[:20] += 9
    X[20:30] += 12  # good leverage points
    y[20:30] = X[20:30] @ [1.0, 2.0, 0.0]
    return X, y


def drawn(display: type, data: tuple[Any, Any], **options: Any) -> Any:
    X, y = data
    model: Any = RobustLinearRegression()
    if display is plots.ScreeDisplay:
        model = RobustPCA(2, random_state=0)
    if display is plots.RelevanceDisplay:
        X, y, model = X[:60], y[:60], ELMRegressor()
    return display.from_estimator(model.fit(X, y), X, y, **options)


# -- the convention ------------------------------------------------------------------------------


@pytest.mark.parametrize("display", [*DISPLAYS, SCIKIT_LEARN])
def test_signatures_are_those_of_scikit_learn(display: Any) -> None:
    assert display.__name__.endswith("Display")
    stored = list(inspect.signature(display.__init__).parameters.values())[1:]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in stored)
    _, ax, *options = inspect.signature(display.plot).parameters.values()
    assert (ax.name, ax.default, ax.kind) == ("ax", None, ax.POSITIONAL_OR_KEYWORD)
    assert all(option.kind is option.KEYWORD_ONLY for option in options)
    makers = {"from_estimator": ["estimator", "X", "y"], "from_predictions": ["y_true", "y_pred"]}
    for name, given in makers.items():
        if not hasattr(display, name):
            continue
        assert inspect.ismethod(getattr(display, name)), "a classmethod"
        parameters = inspect.signature(getattr(display, name)).parameters
        positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert positional == given
        assert parameters["ax"].default is None
        for option in options:  # what plot takes, these take, with the same default
            assert parameters[option.name].default == option.default
            assert parameters[option.name].kind is option.KEYWORD_ONLY


@pytest.mark.parametrize("display", DISPLAYS)
def test_every_parameter_is_kept_under_its_name(display: Any, data: tuple[Any, Any]) -> None:
    made = drawn(display, data)
    stored = list(inspect.signature(display.__init__).parameters)[1:]
    again = display(**{name: getattr(made, name) for name in stored})
    assert all(getattr(again, name) is getattr(made, name) for name in stored)
    assert again.plot() is again


@pytest.mark.parametrize("display", DISPLAYS)
def test_it_draws_on_the_given_axes_or_on_new_ones(display: Any, data: tuple[Any, Any]) -> None:
    figure, ax = plt.subplots()
    made = drawn(display, data, ax=ax)
    assert isinstance(made, display)
    assert made.ax_ is ax
    assert made.figure_ is figure
    assert drawn(display, data).ax_ is not ax
    assert made.plot() is made
    assert made.ax_ is not ax
    assert made.plot(ax).ax_ is ax
    figure.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_every_parameter_and_attribute_is_documented(display: Any) -> None:
    for function in (display.__init__, display.plot, display.from_estimator):
        where = display.__doc__ if function is display.__init__ else function.__doc__
        for name in inspect.signature(function).parameters:
            assert name in ("self", "cls") or name in where
    assert all(name in display.__doc__ for name in ("ax_, figure_", "Examples"))


def test_matplotlib_is_imported_when_a_display_is_drawn() -> None:
    code = """
import sys, numpy as np
from kmpe import RobustLinearRegression, plots
assert "matplotlib" not in sys.modules
sys.modules["matplotlib.pyplot"] = sys.modules["matplotlib"] = None
try:
    plots.ConvergenceDisplay(history=np.ones(3)).plot()
except ImportError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == (
        "ConvergenceDisplay.plot requires matplotlib: pip install 'kmpe[plot]'\n"
    )


@pytest.mark.parametrize("display", DISPLAYS)
def test_an_estimator_that_is_not_fitted_is_refused(display: Any, data: tuple[Any, Any]) -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        display.from_estimator(RobustLinearRegression(), *data)


@pytest.mark.parametrize(
    ("display", "message"),
    [
        (plots.WeightsDisplay, "has no row weights"),
        (plots.CoefficientDisplay, "has no slopes of one target"),
        (plots.ScreeDisplay, "has no variances"),
        (plots.RelevanceDisplay, "has no relevances of its inputs"),
        (plots.LossDisplay, "has no loss"),
        (plots.ConvergenceDisplay, "has no history"),
    ],
)
def test_an_estimator_that_has_nothing_to_show_is_refused(
    display: Any, message: str, data: tuple[Any, Any]
) -> None:
    with pytest.raises(ValueError, match=f"LinearRegression {message}"):
        display.from_estimator(LinearRegression().fit(*data), *data)


# -- the outlier map -----------------------------------------------------------------------------


def test_stack_loss_has_four_rows_beyond_the_limit(
    stackloss: tuple[pd.DataFrame, pd.Series],
) -> None:
    X, y = stackloss
    _, ax = plt.subplots()
    model = RobustLinearRegression().fit(X, y)
    display = plots.OutlierMapDisplay.from_estimator(model, X, y, ax=ax)
    assert X.index[display.outliers].tolist() == [1, 3, 4, 21]
    assert sorted(int(text.get_text()) for text in display.texts_) == [1, 3, 4, 21]
    points = display.outliers_scatter_.get_offsets()
    assert len(points) == 4
    assert (np.abs(points[:, 1]) > display.residual_limit).all()
    assert len(display.scatter_.get_offsets()) == 17
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.outliers, model.outliers_)


def test_leverage_points_lie_to_the_right(data: tuple[Any, Any]) -> None:
    X, y = data
    display = plots.OutlierMapDisplay.from_estimator(RobustLinearRegression().fit(X, y), X, y)
    far = display.distances > display.distance_limit
    assert far[20:30].all()
    assert not display.outliers[20:30].any()
    assert np.mean(far[30:]) < 0.08
    assert display.outliers[:20].all()


def test_a_pipeline_has_the_map_of_its_last_step(data: tuple[Any, Any]) -> None:
    X, y = data
    alone = plots.OutlierMapDisplay.from_estimator(RobustLinearRegression().fit(X, y), X, y)
    piped = make_pipeline(StandardScaler(), RobustLinearRegression()).fit(X, y)
    display = plots.OutlierMapDisplay.from_estimator(piped, X, y)
    np.testing.assert_allclose(display.residuals, alone.residuals, atol=1e-6)
    np.testing.assert_allclose(display.distances, alone.distances, rtol=1e-6)


def test_any_regressor_and_any_predictions_have_a_map(data: tuple[Any, Any]) -> None:
    X, y = data
    model = LinearRegression().fit(X, y)
    one = plots.OutlierMapDisplay.from_estimator(model, X, y)
    other = plots.OutlierMapDisplay.from_predictions(y, model.predict(X), X=X)
    np.testing.assert_array_equal(one.residuals, other.residuals)
    r = y - model.predict(X)
    mad = np.median(np.abs(r)) / stats.norm.ppf(0.75)  # ours is one of two middle values
    np.testing.assert_allclose(one.residuals, r / mad, rtol=1e-2)


def test_targets_are_needed_and_one_at_a_time(data: tuple[Any, Any]) -> None:
    X, y = data
    model = RobustLinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="needs y"):
        plots.OutlierMapDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match="one target at a time"):
        plots.ResidualQQDisplay.from_predictions(np.ones((9, 2)), np.ones((9, 2)))


def test_outliers_are_never_subsampled_away(data: tuple[Any, Any]) -> None:
    X, y = data
    model = RobustLinearRegression().fit(X, y)
    for display, options in (
        (plots.OutlierMapDisplay, {"random_state": 0}),
        (plots.WeightsDisplay, {"random_state": 0}),
        (plots.ResidualQQDisplay, {}),
    ):
        made = display.from_estimator(model, X, y, subsample=50, **options)
        assert len(made.outliers_scatter_.get_offsets()) == model.outliers_.sum()
        assert len(made.scatter_.get_offsets()) <= 50 + 30  # far rows of the map


def test_rows_to_show() -> None:
    outliers = np.arange(100) % 10 == 0
    assert len(shown(outliers, None, 0)) == 100
    assert len(shown(outliers, 0.5, 0)) == 10 + 45
    np.testing.assert_array_equal(shown(outliers, 20, 3), shown(outliers, 20, 3))
    assert set(np.flatnonzero(outliers)) <= set(shown(outliers, 1, 0))
    for wrong in (0, -3, 1.5, 0.0):
        with pytest.raises(ValueError, match="subsample="):
            shown(outliers, wrong, 0)


def test_the_map_of_a_pca_marks_rows_beyond_either_limit() -> None:
    display = plots.OutlierMapDisplay(
        distances=np.array([1.0, 9.0, 1.0, 4.0]),
        residuals=np.array([0.1, 0.2, 3.0, 0.3]),
        distance_limit=3.0,
        residual_limit=2.0,
        labels=np.array(["a", "b", "c", "d"]),
        kind="pca",
    ).plot()
    assert display.outliers.tolist() == [False, True, True, True]
    assert [text.get_text() for text in display.texts_] == ["b", "c", "d"]
    assert len(display.lines_) == 2
    assert display.ax_.get_ylabel() == "Orthogonal distance"


def test_the_map_of_hawkins_bradu_kass_shows_its_fourteen_outliers() -> None:
    table = pd.read_csv(Path(__file__).parent / "reference" / "hbk.csv", comment="#")
    table.index = table.index + 1
    X = table.iloc[:, :3]
    pca = RobustPCA(2).fit(X)
    display = plots.OutlierMapDisplay.from_estimator(pca, X)
    assert X.index[display.outliers].tolist() == list(range(1, 15))
    np.testing.assert_allclose(display.residuals, pca.orthogonal_distances_)
    np.testing.assert_allclose(display.distances, pca.score_distances_)
    few = plots.OutlierMapDisplay.from_estimator(pca, X.tail(5))
    assert not few.outliers.any()
    with pytest.raises(ValueError, match="PCAL1 has no score distances"):
        plots.OutlierMapDisplay.from_estimator(PCAL1(2).fit(X), X)


# -- robust distances ----------------------------------------------------------------------------


def test_distances_of_gaussian_rows_have_their_limit() -> None:
    X = np.random.default_rng(1).normal(size=(5000, 4)) @ np.diag([1, 10, 1e6, 1e-6])
    found = robust_distances(X)
    assert np.mean(found.values > found.limit) == pytest.approx(0.025, abs=0.01)


def test_a_cluster_far_out_does_not_hide_itself() -> None:
    X = np.random.default_rng(1).normal(size=(200, 3))
    X[:60] += 10
    found = robust_distances(X)
    assert (found.values[:60] > found.limit).all()


def test_distances_leave_out_columns_without_a_robust_scale() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    dummies = (rng.random((200, 2)) < 0.1).astype(float)
    with_dummies = robust_distances(np.column_stack([X, dummies]))
    np.testing.assert_array_equal(with_dummies.values, robust_distances(X).values)


@pytest.mark.parametrize(
    ("X", "why"),
    [
        (np.ones((30, 2)), "no column varies"),
        (np.eye(3)[:, :2] * 3 + np.arange(3)[:, None], "3 rows are too few"),
    ],
)
def test_where_no_distance_can_be_told_the_map_says_so(X: Any, why: str) -> None:
    found = robust_distances(X)
    assert np.isnan(found.values).all()
    assert why in found.note
    display = plots.OutlierMapDisplay.from_predictions(np.arange(len(X)), np.zeros(len(X)), X=X)
    assert why in display.note


def test_dependent_columns_have_finite_distances() -> None:
    x = np.random.default_rng(1).normal(size=(100, 1))
    assert np.isfinite(robust_distances(np.hstack([x, 2 * x, -x])).values).all()


# -- the others ----------------------------------------------------------------------------------


def test_gaussian_residuals_lie_in_the_envelope_and_heavy_tails_do_not() -> None:
    rng = np.random.default_rng(0)
    shares = []
    for noise in (rng.normal(size=400), rng.standard_t(2, size=400)):
        display = plots.ResidualQQDisplay(residuals=noise).plot(subsample=None)
        vertices = display.envelope_.get_paths()[0].vertices
        x = stats.norm.ppf((np.arange(1, 401) - 0.5) / 400)
        ends = np.array([np.ptp(vertices[np.isclose(vertices[:, 0], at), 1]) for at in x])
        assert (ends > 0).all()
        low = np.array([vertices[np.isclose(vertices[:, 0], at), 1].min() for at in x])
        shares.append(np.mean((np.sort(noise) >= low) & (np.sort(noise) <= low + ends)))
    assert shares[0] > 0.85
    assert shares[1] < 0.8


def test_the_envelope_covers_order_statistics_as_it_says() -> None:
    rng = np.random.default_rng(0)
    display = plots.ResidualQQDisplay(residuals=rng.normal(size=20)).plot(level=0.8)
    vertices = display.envelope_.get_paths()[0].vertices
    draws = np.sort(rng.normal(size=(4000, 20)), axis=1)
    x = stats.norm.ppf((np.arange(1, 21) - 0.5) / 20)
    for i in (0, 4, 19):
        ends = vertices[np.isclose(vertices[:, 0], x[i]), 1]
        covered = np.mean((draws[:, i] >= ends.min()) & (draws[:, i] <= ends.max()))
        assert covered == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("model", [RobustLinearRegression(), ELMRegressor(random_state=0)])
def test_weights_are_drawn_from_0_to_1(model: Any, data: tuple[Any, Any]) -> None:
    X, y = data
    display = plots.WeightsDisplay.from_estimator(model.fit(X, y))
    assert display.weights.max() == 1
    assert display.weights.min() >= 0
    assert display.ax_.get_ylabel() == ("Trust" if hasattr(model, "trust_") else "Weight")


def test_a_classifier_and_a_pca_have_weights_and_convergence() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    for model in (ELMClassifier(random_state=0), RobustPCA(2, random_state=0)):
        model.fit(X, X[:, 0] > 0)
        assert plots.WeightsDisplay.from_estimator(model).weights.shape == (60,)
        history = plots.ConvergenceDisplay.from_estimator(model).line_.get_ydata()
        np.testing.assert_array_equal(history, model.history_ - model.history_[-1])


def test_coefficients_stand_beside_those_of_least_squares(data: tuple[Any, Any]) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = RobustLinearRegression().fit(frame, y)
    display = plots.CoefficientDisplay.from_estimator(model, frame, y)
    assert display.names == ["a", "b", "c"]
    np.testing.assert_allclose(
        display.least_squares[:, 0], LinearRegression().fit(X, y).coef_, atol=1e-8
    )
    np.testing.assert_array_equal(display.coef[:, 1:], model.confidence_intervals()[:3])
    middle = display.errorbars_[0].lines[0].get_xdata()
    np.testing.assert_allclose(middle, model.coef_ * display.units)
    assert [
        t.get_text()
        for t in drawn(plots.CoefficientDisplay, data, n_features=1).ax_.get_yticklabels()
    ] == ["x1"]


def test_inputs_that_matter_come_first_with_their_names() -> None:
    X = pd.DataFrame(np.random.default_rng(0).uniform(-3, 3, (120, 3)), columns=["a", "b", "c"])
    model = ELMRegressor().fit(X, np.sin(2 * X["c"]) + 0.1 * X["a"])
    display = plots.RelevanceDisplay.from_estimator(model, n_features=2)
    assert display.names == ["a", "b", "c"]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["c", "a"]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_array_equal(widths, -np.sort(-model.input_relevances_)[:2])


def test_a_random_layer_has_no_relevance_to_draw(data: tuple[Any, Any]) -> None:
    model = ELMRegressor(activation="sigmoid", n_hidden=5, random_state=0).fit(*data)
    with pytest.raises(ValueError, match=r'ELMRegressor has no relevances .* activation="auto"'):
        plots.RelevanceDisplay.from_estimator(model)


def test_the_scree_adds_up(data: tuple[Any, Any]) -> None:
    for model in (RobustPCA(random_state=0), PCAL1()):
        model.fit(data[0])
        display = plots.ScreeDisplay.from_estimator(model)
        np.testing.assert_allclose(
            display.line_.get_ydata(), np.cumsum(model.explained_variance_ratio_)
        )


def test_curves_of_the_loss_are_those_of_the_loss() -> None:
    y = np.array([-4.0, 0.0, 1.0, 2.0])
    display = plots.LossDisplay.from_predictions(y, np.zeros(4), loss=KMPE(p=2, sigma="mad"))
    assert isinstance(display.loss.sigma, float)
    r = display.lines_[0].get_xdata()
    assert (r[0], r[-1]) == (-4, 4)
    for line, values in zip(
        display.lines_,
        (display.loss.rho(r**2), display.loss.psi(r), display.loss.weight(r**2)),
        strict=True,
    ):
        np.testing.assert_allclose(line.get_ydata(), values / np.abs(values).max())
    flat = plots.LossDisplay(loss=Squared(), residuals=np.zeros(3)).plot()
    assert flat.rug_.get_xdata().tolist() == [0]
    many = plots.LossDisplay(loss=Squared(), residuals=np.linspace(-1, 1, 10**5)).plot()
    assert len(many.rug_.get_xdata()) < 2000
