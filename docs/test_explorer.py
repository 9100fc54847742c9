"""The loss explorer in Chromium: what it shows is what kmpe computes."""

import json
from pathlib import Path

import numpy as np
import pytest

import kmpe

PAGE = Path(__file__).parents[1] / "out" / "site" / "explorer.html"
if not PAGE.exists():
    pytest.skip("there is no site yet: make docs", allow_module_level=True)
LOSSES = ["KMPE", "Correntropy", "Tukey", "Cauchy", "Huber", "MPE", "Squared"]


@pytest.fixture(params=[{"width": 1280, "height": 900}, {"width": 390, "height": 800}], ids=str)
def page(browser, request):
    page = browser.new_page(viewport=request.param, has_touch=request.param["width"] < 500)
    page.set_default_timeout(120_000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(PAGE.as_uri())
    yield page
    page.close()
    assert not errors


def shown(page):
    """Return intercept, slope and weights as the page has them."""
    data = page.eval_on_selector("[data-part=line]", "line => ({...line.dataset})")
    return float(data["intercept"]), float(data["slope"]), np.array(json.loads(data["weights"]))


def fitted(state):
    """Return the same by kmpe, with steps until nothing changes."""
    loss = getattr(kmpe, state["loss"])
    names = set(loss.__dataclass_fields__) & {"p", "sigma"}
    loss = loss(**{name: float(state[name]) for name in names})
    points = np.array(state["points"])
    model = kmpe.RobustLinearRegression(loss, max_iter=3000, tol=1e-15)
    model.fit(points[:, :1], points[:, 1])
    return model.intercept_, model.coef_[0], model.weights_


def assert_agrees(page):
    state = page.evaluate("explorer.get()")
    a, b, weights = shown(page)
    ours, slope, theirs = fitted(state)
    assert [a, b] == pytest.approx([ours, slope], abs=1e-6), state
    # Below p = 2 the weights of points next to the line have no bound, and few digits.
    if state["loss"] not in ("KMPE", "MPE") or state["p"] >= 2:
        np.testing.assert_allclose(weights, theirs, rtol=1e-4, atol=1e-6, err_msg=str(state))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # tol is 1e-15
@pytest.mark.filterwarnings("ignore::kmpe.estimators.inputs.RobustnessWarning")
def test_twenty_random_settings_agree_with_kmpe(page):
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(8, 31))
        x = rng.uniform(0, 10, n)
        y = 1 + 0.6 * x + 0.5 * rng.normal(size=n)
        bad = int(rng.integers(0, n // 3))
        y[:bad] += rng.uniform(-6, 6, bad)
        state = {
            "loss": str(rng.choice(LOSSES)),
            "p": round(float(rng.uniform(1, 10)), 1),
            "sigma": round(float(rng.uniform(0.3, 5)), 2),
            "points": np.column_stack([x, y]).round(2).tolist(),
        }
        page.evaluate("state => explorer.set(state)", state)
        assert_agrees(page)


def middle(page, i):
    box = page.locator(".point .dot").nth(i).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_fit_follows_a_dragged_point(page):
    before, moved = page.evaluate("explorer.get()"), 15
    page.locator(".point").nth(moved).scroll_into_view_if_needed()
    x, y = middle(page, moved)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 10, y + 30, steps=5)
    page.mouse.up()
    after = page.evaluate("explorer.get()")
    assert after["points"][moved][0] < before["points"][moved][0]
    assert after["points"][moved][1] < before["points"][moved][1]
    assert after["points"][:moved] == before["points"][:moved]
    assert_agrees(page)
    # The drawn circle is where the pointer left it.
    assert middle(page, moved) == pytest.approx((x - 10, y + 30), abs=1.5)


def test_points_and_controls_obey_the_keyboard(page):
    before = page.evaluate("explorer.get()")
    page.locator(".point").nth(2).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("ArrowRight")
    after = page.evaluate("explorer.get()")
    moved = np.subtract(after["points"][2], before["points"][2])
    np.testing.assert_allclose(moved, [0.1, -0.9], atol=1e-9)
    page.locator("[data-part=sigma]").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("explorer.get().sigma") == pytest.approx(before["sigma"] + 0.05)
    page.locator("[data-part=loss]").select_option("Tukey")
    assert page.locator("[data-part=p]").is_disabled()
    assert "Tukey(sigma=1.05)" in page.locator("[data-part=python]").inner_text()
    assert_agrees(page)


def test_scenes_put_the_points_back(page):
    page.get_by_role("button", name="leverage points").click()
    page.locator("[data-part=loss]").select_option("Huber")
    _, huber, _ = shown(page)
    page.locator("[data-part=loss]").select_option("KMPE")
    _, ours, weights = shown(page)
    assert ours > 0.7 > huber + 0.1
    assert weights[15] < 1e-6
