"""The adaptive loss of a linear regression: fit, look at the residuals, choose, and again.

The residuals of a better fit show the noise more sharply, so the choice of the loss
(`kmpe.choice.loss`) and the fit are made in turns, on a sample where rows are many. Bad leverage
points of the start have no weight: a loss for heavy tails, which never rejects a row
completely, would follow them.

Noise that is independent of the inputs leaves every loss with the same slopes. Where those of the
chosen loss differ from those of the MM-estimate by more than chance, the noise does depend on the
inputs, a density of it says nothing, and the MM-estimate is taken.
"""

from dataclasses import dataclass, replace

from kmpe.arrays import Array
from kmpe.choice.loss import LOOKS, REFERENCE, Choice, choose_loss, hausman
from kmpe.choice.noise import Noise, granularity
from kmpe.choice.slope import mean_slope
from kmpe.losses import Correntropy, Loss, Squared, Tukey
from kmpe.problems.leverage import root_of_inverse
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.minimise import START_ROWS, SURE_ROWS, has_many_rows, minimise
from kmpe.solvers.record import Plain
from kmpe.solvers.walk import Begun, Chosen
from kmpe.starts.regression import BadLeverage, Inexact, Start, Status

__all__ = ["AdaptiveLoss", "Looked", "looked"]

Rule = BadLeverage | Inexact

_DEPENDENT = (
    "The slopes under the loss that suits the residuals differ from those of the MM-estimate "
    "(p = {p:.1g}): the noise depends on the inputs. The MM-estimate, {loss}, is used."
)


@dataclass(frozen=True)
class Looked:
    """What the looks have shown: the noise, and a plain robust fit beside the chosen one."""

    noise: Noise | None
    plain: Plain | None


def looked(chosen: Chosen[Ridge, Array]) -> Looked:
    """Return what the looks of a choice have shown; nothing where there were none."""
    return chosen.details if isinstance(chosen.details, Looked) else Looked(None, None)


@dataclass(frozen=True)
class AdaptiveLoss:
    """The choice of the loss by the residuals.

    A penalty is that of least squares; a loss of which rows count for less gets less of it.
    """

    max_iter: int

    def __call__(self, begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
        """Return the loss that suits the noise, and the fit with it to the sample."""
        start: Start = begun.details
        if start.scale == 0:
            return _exact(begun)
        problem, sample = begun.problem, begun.sample
        if start.status is not Status.FEW_ROWS:
            problem, sample = _without(BadLeverage.of(sample.rows, start), begun)
        # With fewer than five rows for two coefficients residuals say too little of the noise: for
        # 60 rows of 28 inputs 95% intervals of a loss that they choose cover 85 to 91%, those of
        # the plain loss 95 to 98%, and its slopes have 0.8 of the squared error
        # (`python benchmarks/coverage.py`).
        if 2 * start.n < 5 * problem.rows.n_features:
            return self._few_rows(replace(begun, problem=problem, sample=sample))
        a, theta = sample.sample_weight, begun.theta
        counts = _counted(problem, sample).a
        V = root_of_inverse(sample.gram() * (counts.sum() / a.sum()))
        leverages = sample.leverages(V)
        grain = granularity(sample.rows.T[:, 0], a)
        choice = Choice(Squared(), None)
        for _ in range(LOOKS):
            R = sample.residuals(theta)
            if not R[a > 0].any():
                return Chosen(problem, sample, theta, Squared(), caution=begun.caution)
            choice = choose_loss(R, sample_weight=counts, leverage=leverages, grain=grain)
            theta = self._fit(sample, choice.loss, theta)
        return self._checked(problem, sample, theta, choice, begun)

    def _few_rows(self, begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
        """Return the plain loss at the scale of the start: residuals say little of the noise."""
        loss = Correntropy(REFERENCE * begun.details.scale)
        theta = self._fit(begun.sample, loss, begun.theta)
        return _chosen(begun.problem, begun.sample, theta, loss, Looked(None, None), begun.caution)

    def _checked(
        self,
        problem: Ridge,
        sample: Ridge,
        theta: Array,
        choice: Choice,
        begun: Begun[Ridge, Array],
    ) -> Chosen[Ridge, Array]:
        """Return the choice, or the plain loss where slopes disagree; penalties suit the loss."""
        # Of clean data sets one in a thousand is taken for one whose noise depends on the inputs.
        level = 1e-3
        loss, caution, plain = choice.loss, begun.caution, None
        R = sample.residuals(theta)
        if sample.dim == 1 and begun.details.scale > 0:
            # From the chosen fit: good leverage points that the start had not reached stay in.
            reference = Tukey(Tukey.efficient * begun.details.scale)
            rival = self._fit(sample, reference, theta)
            R0 = sample.residuals(rival)
            p = 1.0
            if has_many_rows(sample, START_ROWS):  # fewer could not tell
                rows = _counted(problem, sample)
                p = hausman(rows, R[:, 0], loss, R0[:, 0], reference, level=level)
            if p < level:
                theta, loss = rival, reference
                caution = " ".join([caution, _DEPENDENT.format(p=p, loss=loss)]).strip()
            elif choice.noise is not None and not has_many_rows(problem, SURE_ROWS):
                plain = Plain(reference, rival, choice.noise.variance_ratio(loss, reference))
        return _chosen(problem, sample, theta, loss, Looked(choice.noise, plain), caution)

    def _fit(self, sample: Ridge, loss: Loss, theta: Array) -> Array:
        suited = _weighed_alike(sample, sample, loss, theta)
        # The cost to so much of one row's: coefficients to a tenth of their standard errors.
        tol = 0.01 / sample.rows.n
        fit = minimise(suited, suited, loss, theta, max_iter=self.max_iter, tol=tol)
        return fit.theta


def _exact(begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
    """Return least squares on the rows that the start fits exactly: they are the most."""
    problem, sample = _without(Inexact(begun.theta), begun)
    caution = begun.caution or (begun.details.sentence if begun.details.exact < 1 else "")
    return Chosen(problem, sample, begun.theta, Squared(), caution=caution)


def _without(rule: Rule, begun: Begun[Ridge, Array]) -> tuple[Ridge, Ridge]:
    """Return the problem and its sample without weight for the rows that a rule marks."""
    problem = _unweighted(begun.problem, rule)
    alone = begun.sample is begun.problem
    return problem, problem if alone else _unweighted(begun.sample, rule)


def _counted(problem: Ridge, sample: Ridge) -> Rows:
    """Return the rows of a sample as so many as were drawn, whatever they stand for."""
    rows = sample.rows
    return rows if sample is problem else replace(rows, a=rows.a * (rows.n_counted / rows.n))


def _unweighted(problem: Ridge, rule: Rule) -> Ridge:
    return replace(problem, rows=problem.rows.without(rule))


def _chosen(
    problem: Ridge, sample: Ridge, theta: Array, loss: Loss, details: Looked, caution: str
) -> Chosen[Ridge, Array]:
    """Return what was chosen, with penalties that suit the loss."""
    problem = _weighed_alike(problem, sample, loss, theta)
    sample = _weighed_alike(sample, sample, loss, theta)
    return Chosen(problem, sample, theta, loss, details=details, caution=caution)


def _weighed_alike(problem: Ridge, sample: Ridge, loss: Loss, theta: Array) -> Ridge:
    """Return the problem with the penalty that does to this loss what it does to least squares."""
    if not problem.penalised:
        return problem
    slope = mean_slope(loss, sample.squared_residuals(theta), sample.sample_weight, sample.dim)
    return replace(problem, penalties=problem.penalties * slope)
