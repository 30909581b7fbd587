"""`kandela.sklearn` against scikit-learn, and scikit-learn's own checks of estimators. Skipped
without scikit-learn."""

import copy
import doctest
import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
import sklearn.cluster
import sklearn.neighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

import kandela.density
import kandela.sklearn

DRAW = np.random.default_rng(3)


@parametrize_with_checks([getattr(kandela.sklearn, name)() for name in kandela.sklearn.__all__])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("options", [{}, {"metric": "manhattan"}, {"metric": "chebyshev"}, {"p": 3},
                                     {"metric": "cosine"}, {"algorithm": "brute"}])
@pytest.mark.parametrize("dims", [1, 3, 12])
@pytest.mark.parametrize("own", [False, True])
def test_neighbours_equal_those_of_scikit_learn(own, dims, options):
    x, queries = DRAW.random((300, dims)), None if own else DRAW.random((40, dims))
    mine = kandela.sklearn.NearestNeighbors(n_neighbors=7, radius=0.4, **options).fit(x)
    other = sklearn.neighbors.NearestNeighbors(n_neighbors=7, radius=0.4, **options).fit(x)
    assert (mine._kandela is not None) == (options.get("metric") != "cosine" and "algorithm" not in options)
    for a, b in zip(mine.kneighbors(queries), other.kneighbors(queries)):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_array_equal(mine.kneighbors(queries, 3, return_distance=False),
                                  other.kneighbors(queries, 3, return_distance=False))
    found, ids = mine.radius_neighbors(queries)
    expected, expected_ids = other.radius_neighbors(queries, sort_results=True)
    for row in range(len(ids)):
        if own or options.get("metric") != "cosine":
            assert (np.diff(ids[row]) > 0).all()  # as scikit-learn without sort_results
            order = np.argsort(found[row], kind="stable")
            np.testing.assert_array_equal(ids[row][order], expected_ids[row])
    for mode in ("connectivity", "distance"):
        np.testing.assert_allclose(mine.kneighbors_graph(queries, mode=mode).toarray(),
                                   other.kneighbors_graph(queries, mode=mode).toarray())
        np.testing.assert_allclose(mine.radius_neighbors_graph(queries, mode=mode).toarray(),
                                   other.radius_neighbors_graph(queries, mode=mode).toarray())


def test_duplicates_are_neighbours_of_each_other():
    x = np.repeat(DRAW.random((5, 2)), 4, axis=0)
    found, ids = kandela.sklearn.NearestNeighbors(n_neighbors=3).fit(x).kneighbors()
    assert (found == 0).all() and (ids // 4 == np.arange(20)[:, None] // 4).all()
    assert not (ids == np.arange(20)[:, None]).any()


@pytest.mark.parametrize("dims", [1, 2, 3, 9])
@pytest.mark.parametrize("eps, least", [(0.05, 3), (0.2, 5), (5, 2)])
def test_clusters_equal_those_of_scikit_learn(eps, least, dims):
    x = DRAW.random((400, dims))
    mine = kandela.sklearn.DBSCAN(eps=eps, min_samples=least).fit(x)
    other = sklearn.cluster.DBSCAN(eps=eps, min_samples=least).fit(x)
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    np.testing.assert_array_equal(mine.core_sample_indices_, other.core_sample_indices_)
    np.testing.assert_array_equal(mine.components_, other.components_)


@pytest.mark.parametrize("kernel", kandela.density.KERNELS)
@pytest.mark.parametrize("dims", [1, 3, 10])
def test_densities_equal_those_of_scikit_learn(dims, kernel):
    x, queries, weights = DRAW.random((300, dims)), DRAW.random((40, dims)) * 1.5, DRAW.random(300)
    for options in ({}, {"bandwidth": "scott"}, {"bandwidth": 0.3, "rtol": 1e-4}):
        for w in (None, weights):
            mine = kandela.sklearn.KernelDensity(kernel=kernel, **options).fit(x, sample_weight=w)
            other = sklearn.neighbors.KernelDensity(kernel=kernel, **options).fit(x, sample_weight=w)
            found, expected = (np.exp(one.score_samples(queries)) for one in (mine, other))
            if kernel == "cosine" and dims % 2 == 0:  # not normalised by scikit-learn: see the class
                expected *= found.max() / expected.max()
            np.testing.assert_allclose(found, expected, 2e-4 if "rtol" in options else 1e-9, 1e-9 * max(1, found.max()))


@pytest.mark.parametrize("dims", [2, 12])
def test_predictions_equal_those_of_scikit_learn(dims):
    x, queries, labels = DRAW.random((300, dims)), DRAW.random((40, dims)), DRAW.integers(0, 3, 300)
    for weights in ("uniform", "distance"):
        for name in ("KNeighborsClassifier", "KNeighborsRegressor"):
            mine, other = (getattr(module, name)(weights=weights).fit(x, labels)
                           for module in (kandela.sklearn, sklearn.neighbors))
            assert mine._kandela is not None
            np.testing.assert_allclose(mine.predict(queries), other.predict(queries))


def test_copies_answer_the_same():
    x = DRAW.random((100, 3))
    near = kandela.sklearn.NearestNeighbors().fit(x)
    for again in (pickle.loads(pickle.dumps(near)), copy.deepcopy(near)):
        np.testing.assert_array_equal(again.kneighbors(x)[1], near.kneighbors(x)[1])


def test_examples():
    assert doctest.testmod(kandela.sklearn).failed == 0
