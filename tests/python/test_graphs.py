"""Bipartite neighbour graphs and outlier masks against their definitions."""

import numpy as np
import pytest

import kandela

DRAW = np.random.default_rng(5)


def expected_pairs(x, y, batch_x, batch_y, keep):
    """Pairs (query, point), nearest first; `keep` maps sorted distances and ranks to a mask."""
    pairs = []
    for q in range(len(y)):
        d = ((x - y[q]) ** 2).sum(1)
        d[(batch_x != batch_y[q])] = np.inf
        order = np.argsort(d, kind="stable")
        pairs += [(q, i) for i in order[np.isfinite(d[order]) & keep(d[order], np.arange(len(x)))]]
    return np.array(pairs, np.int64).reshape(-1, 2).T


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize("dims", [1, 3, 7, 12])
@pytest.mark.parametrize("clouds", [1, 4])
def test_bipartite_graphs_equal_brute_force(clouds, dims, scalar):
    x, y = DRAW.integers(0, 64, (150, dims)) / 8, DRAW.integers(0, 64, (70, dims)) / 8
    x, y = x.astype(scalar), y.astype(scalar)
    batch_x, batch_y = DRAW.integers(0, clouds, 150), DRAW.integers(0, clouds + 1, 70)
    given = (batch_x, batch_y) if clouds > 1 else (None, None)
    batch_x, batch_y = (batch_x, batch_y) if clouds > 1 else (np.zeros(150), np.zeros(70))
    np.testing.assert_array_equal(kandela.knn(x, y, 5, *given),
                                  expected_pairs(x, y, batch_x, batch_y, lambda d, rank: rank < 5))
    np.testing.assert_array_equal(kandela.knn(x, y, 500, *given),
                                  expected_pairs(x, y, batch_x, batch_y, lambda d, rank: rank < 500))
    for most in (None, 3, 32):
        np.testing.assert_array_equal(
            kandela.radius(x, y, 3, *given, max_num_neighbors=most),
            expected_pairs(x, y, batch_x, batch_y, lambda d, rank: (d <= 9) & (rank < (most or 150))))


def test_empty_sides_and_wrong_arguments():
    x, none = DRAW.random((5, 3)), np.empty((0, 3))
    for a, b in ((x, none), (none, x), (none, none)):
        assert kandela.knn(a, b, 2).shape == kandela.radius(a, b, 1).shape == (2, 0)
    with pytest.raises(ValueError, match="`y` has 2 dimensions; expected 3"):
        kandela.knn(x, x[:, :2], 1)
    with pytest.raises(ValueError, match="both or neither"):
        kandela.radius(x, x, 1, batch_x=np.zeros(5, int))
    with pytest.raises(ValueError, match="`batch_y`"):
        kandela.knn(x, x, 1, np.zeros(5, int), np.zeros(4, int))
    with pytest.raises(kandela.InputError):
        kandela.knn(x, np.full((1, 3), np.nan), 1)


@pytest.mark.parametrize("k, ratio", [(1, 0), (8, 1), (20, 2), (900, 0.5)])
def test_statistical_outliers_equal_the_definition(k, ratio):
    x = np.concatenate([DRAW.normal(size=(400, 3)), 8 * DRAW.random((20, 3))])
    d = np.sort(np.sqrt(((x[:, None] - x) ** 2).sum(-1)), 1)[:, :k].mean(1)
    np.testing.assert_array_equal(kandela.statistical_outliers(x, k, ratio),
                                  d > d.mean() + ratio * d.std(ddof=1))
    assert kandela.statistical_outliers(np.zeros((0, 3))).shape == (0,)
    assert not kandela.statistical_outliers(np.zeros((50, 3))).any()


def test_radius_outliers_equal_the_definition():
    x = DRAW.integers(0, 12, (300, 2)).astype(float)
    others = (((x[:, None] - x) ** 2).sum(-1) <= 4).sum(1) - 1
    for least in (0, 3, 20):
        np.testing.assert_array_equal(kandela.radius_outliers(x, 2, least), others < least)
    with pytest.raises(ValueError, match="`radius`"):
        kandela.radius_outliers(x, -1, 1)
