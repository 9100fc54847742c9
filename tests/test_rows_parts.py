"""Parts of collections: what is looked at when they are loaded, and blocks that share memory."""

import numpy as np
import pytest

from kmpe.rows import parts, tasks
from kmpe.rows.parts import Numbers, _load, _looked_through
from kmpe.rows.standardised import Standardised

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 5))


@pytest.fixture(params=[1, 64, 1 << 18], ids="tiles of {} bytes".format)
def _tiles(request, monkeypatch):
    monkeypatch.setattr(parts, "_TILE_BYTES", request.param)


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_checksum_depends_on_every_value_and_its_place(dtype):
    values = X.astype(dtype)
    largest, checksum = _looked_through(values)
    assert largest == np.abs(values).max()
    changed = values.copy()
    changed[611, 3] = np.nextafter(changed[611, 3], dtype(9))
    rows, columns = values.copy(), values[:, [0, 1, 3, 2, 4]]
    rows[[4, 650]] = rows[[650, 4]]
    others = [_looked_through(np.ascontiguousarray(v))[1] for v in (changed, rows, columns)]
    assert len({checksum, *others}) == 4
    assert _looked_through(values.copy()) == (largest, checksum)


def test_a_checksum_does_not_depend_on_the_tiles(monkeypatch):
    found = set()
    for size in (1, 64, 4096, 1 << 18):
        monkeypatch.setattr(parts, "_TILE_BYTES", size)
        found.add(_looked_through(X))
    assert len(found) == 1


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e200])
def test_one_bad_value_is_refused(value):
    bad = X.copy()
    bad[650, 2] = value
    with pytest.raises(ValueError, match="too large to square" if value == -1e200 else "NaN"):
        _load([bad], [X[:, 0]], [None], Numbers(), 0)


def test_blocks_that_share_memory_give_the_same_values_and_sums():
    part = _load([X], [X[:, 0]], [None], Numbers(), 0)
    standard = Standardised(X.mean(axis=0), X.std(axis=0), np.ones(5, dtype=bool), intercept=True)
    held = part, part.a, part.checksum, tasks.View(standard, np.zeros(1)), None
    np.testing.assert_array_equal(tasks.values(lambda block: block.H, 90, *held), standard(X))
    (total,) = tasks.total(lambda block: (block.H.sum(axis=0),), 90, *held)
    np.testing.assert_allclose(total, standard(X).sum(axis=0), atol=1e-10)
