"""scikit-learn's `NearestNeighbors`, `KNeighborsClassifier`, `KNeighborsRegressor`, `DBSCAN` and
`KernelDensity` on Kandela's trees. This module must be imported explicitly and needs scikit-learn 1.6
or later (`pip install kandela[sklearn]`).

All are subclasses of scikit-learn's, with the same parameters, attributes and results.
Dense data with the metrics euclidean, manhattan, chebyshev and minkowski
(p from 1, without weights) are searched by `KDTree`, and clustered if the metric is Euclidean;
everything else is left to scikit-learn.
Distances are computed in float64; equally distant neighbours are ordered by their index.
"""

from __future__ import annotations

from typing import Any

import numbers

import numpy as np
import sklearn.cluster
import sklearn.neighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from .clouds import dbscan
from .density import kernel_density
from .kdtree import KDTree
from .points import Points

__all__ = ["NearestNeighbors", "KNeighborsClassifier", "KNeighborsRegressor", "DBSCAN", "KernelDensity"]

METRICS = {"euclidean": 2, "l2": 2, "manhattan": 1, "l1": 1, "cityblock": 1, "chebyshev": np.inf}


def _norm(metric, p, arguments):
    """Return the p of a metric that `KDTree` supports, or None."""
    if arguments:
        return None
    if metric == "minkowski":
        return None if p is not None and p < 1 else 2 if p is None else p
    return METRICS.get(metric) if isinstance(metric, str) else None


class _Search:
    """Search by Kandela in front of a class of scikit-learn."""

    def _fit(self, X, y=None):
        super()._fit(X, y)
        data, self._kandela = self._fit_X, None
        norm = _norm(self.metric, self.p, self.metric_params)
        if isinstance(data, np.ndarray) and norm is not None and self.algorithm != "brute":
            self._kandela = KDTree(data.astype(np.float64)), norm
        return self

    def _queries(self, X):
        """Return the queries as float64; None if scikit-learn has to search."""
        check_is_fitted(self)
        if self._kandela is None:
            return None
        if X is None:
            return self._fit_X.astype(np.float64)
        X = validate_data(self, X, ensure_all_finite=True, accept_sparse="csr", reset=False, order="C")
        return X.astype(np.float64) if isinstance(X, np.ndarray) else None

    def kneighbors(self, X: Any = None, n_neighbors: Any = None, return_distance: bool = True) -> Any:
        """Find the nearest neighbours of each query, as scikit-learn's method.

        Parameters
        ----------
        X : array_like, (q, m), optional
            None: the points themselves, of which none is its own neighbour.
        n_neighbors : int, optional
        return_distance : bool, optional

        Returns
        -------
        distances : ndarray, (q, n_neighbors)
            Only if `return_distance`.
        indices : ndarray, (q, n_neighbors)
        """
        queries = self._queries(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        more = X is None
        if queries is None or not isinstance(k, numbers.Integral) or not 0 < k <= self.n_samples_fit_ - more:
            return super().kneighbors(X, n_neighbors, return_distance)
        tree, norm = self._kandela
        found, ids = tree.query(queries, np.arange(1, k + more + 1), p=norm)
        if more:  # drop the point itself, or the last if it is not among equal ones
            drop = ids == np.arange(len(ids))[:, None]
            drop[~drop.any(1), -1] = True
            found, ids = found[~drop].reshape(-1, k), ids[~drop].reshape(-1, k)
        return (found, ids) if return_distance else ids


class NearestNeighbors(_Search, sklearn.neighbors.NearestNeighbors):
    """`sklearn.neighbors.NearestNeighbors`, searched by `kandela.KDTree`.

    Parameters
    ----------
    n_neighbors, radius, algorithm, leaf_size, metric, p, metric_params, n_jobs : optional
        As for scikit-learn. `algorithm`, `leaf_size` and `n_jobs` have an effect only where
        scikit-learn searches; "brute" always does.

    Examples
    --------
    >>> import numpy as np
    >>> from kandela.sklearn import NearestNeighbors
    >>> near = NearestNeighbors(n_neighbors=2).fit(np.array([[0.], [1.], [5.]]))
    >>> near.kneighbors([[0.9]])
    (array([[0.1, 0.9]]), array([[1, 0]]))
    """

    def radius_neighbors(self, X: Any = None, radius: Any = None, return_distance: bool = True,
                         sort_results: bool = False) -> Any:
        """Find the neighbours of each query within a radius, as scikit-learn's method.

        Parameters
        ----------
        X : array_like, (q, m), optional
            None: the points themselves, of which none is its own neighbour.
        radius : float, optional
        return_distance : bool, optional
        sort_results : bool, optional
            Sort each row by distance; False: by index.

        Returns
        -------
        distances : ndarray of arrays, (q,)
            Only if `return_distance`.
        indices : ndarray of arrays, (q,)
        """
        queries = self._queries(X)
        radius = self.radius if radius is None else radius
        if queries is None or (sort_results and not return_distance):
            return super().radius_neighbors(X, radius, return_distance, sort_results)
        tree, norm = self._kandela
        offsets, ids, found = tree.query_radius(queries, radius, norm)
        if not sort_results:
            order = np.lexsort((ids, np.repeat(np.arange(len(queries)), np.diff(offsets))))
            ids, found = ids[order], found[order]
        if X is None:
            keep = ids != np.repeat(np.arange(len(queries)), np.diff(offsets))
            ids, found = ids[keep], found[keep]
            offsets = np.concatenate([[0], np.cumsum(keep)])[offsets]
        distances, rows = np.empty(len(queries), object), np.empty(len(queries), object)
        for i in range(len(queries)):
            distances[i], rows[i] = found[offsets[i]:offsets[i + 1]], ids[offsets[i]:offsets[i + 1]]
        return (distances, rows) if return_distance else rows


class KNeighborsClassifier(_Search, sklearn.neighbors.KNeighborsClassifier):
    """`sklearn.neighbors.KNeighborsClassifier`, whose `kneighbors` is Kandela's.

    Parameters
    ----------
    n_neighbors, weights, algorithm, leaf_size, p, metric, metric_params, n_jobs : optional
        As for scikit-learn, and `NearestNeighbors`.

    Examples
    --------
    >>> import numpy as np
    >>> from kandela.sklearn import KNeighborsClassifier
    >>> KNeighborsClassifier(1).fit(np.array([[0.], [1.], [5.]]), ["a", "b", "c"]).predict([[0.9], [7.]]).tolist()
    ['b', 'c']
    """


class KNeighborsRegressor(_Search, sklearn.neighbors.KNeighborsRegressor):
    """`sklearn.neighbors.KNeighborsRegressor`, whose `kneighbors` is Kandela's.

    Parameters
    ----------
    n_neighbors, weights, algorithm, leaf_size, p, metric, metric_params, n_jobs : optional
        As for scikit-learn, and `NearestNeighbors`.

    Examples
    --------
    >>> import numpy as np
    >>> from kandela.sklearn import KNeighborsRegressor
    >>> KNeighborsRegressor(2).fit(np.array([[0.], [1.], [5.]]), [1., 2., 9.]).predict([[0.4]])
    array([1.5])
    """


class KernelDensity(sklearn.neighbors.KernelDensity):
    """`sklearn.neighbors.KernelDensity`, whose `score_samples` is `kandela.kernel_density`.

    Parameters
    ----------
    bandwidth, algorithm, kernel, metric, atol, rtol, breadth_first, leaf_size, metric_params : optional
        As for scikit-learn. `algorithm`, `breadth_first` and `leaf_size` have no effect on densities;
        other metrics than the Euclidean are left to scikit-learn.

    Notes
    -----
    Densities integrate to 1. Those of scikit-learn do not for "cosine" in an even number of dimensions,
    and where compact kernels are 0 they may be as large as rounding errors.

    Examples
    --------
    >>> import numpy as np
    >>> from kandela.sklearn import KernelDensity
    >>> np.exp(KernelDensity(kernel="tophat").fit(np.array([[0.], [1.]])).score_samples([[0.5]]))
    array([0.5])
    """

    def score_samples(self, X: Any) -> Any:
        """Compute the logarithm of the density at each query, as scikit-learn's method.

        Parameters
        ----------
        X : array_like, (q, m)

        Returns
        -------
        ndarray, (q,)
        """
        check_is_fitted(self)
        if _norm(self.metric, 2, self.metric_params) != 2:
            return super().score_samples(X)
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        return kernel_density(np.asarray(self.tree_.data), X, float(self.bandwidth_), self.kernel,
                              weights=self.tree_.sample_weight, atol=self.atol, rtol=self.rtol, log=True)


class DBSCAN(sklearn.cluster.DBSCAN):
    """`sklearn.cluster.DBSCAN`, clustered by `kandela.dbscan`.

    Parameters
    ----------
    eps, min_samples, metric, metric_params, algorithm, leaf_size, p, n_jobs : optional
        As for scikit-learn. Kandela clusters by the Euclidean metric, without weights of the
        samples, unless `algorithm` is "brute"; scikit-learn does everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from kandela.sklearn import DBSCAN
    >>> DBSCAN(eps=1.5, min_samples=2).fit_predict(np.array([[0., 0], [0, 1], [0, 2], [9, 9]]))
    array([ 0,  0,  0, -1])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Cluster the points, as scikit-learn's method.

        Parameters
        ----------
        X : array_like, (n, m)
        y : optional
            Ignored.
        sample_weight : array_like, (n,), optional

        Returns
        -------
        DBSCAN
            Itself, with `labels_`, `core_sample_indices_` and `components_`.
        """
        if (sample_weight is not None or self.algorithm == "brute" or
                _norm(self.metric, self.p, self.metric_params) != 2):
            return super().fit(X, y, sample_weight)
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr")
        if not isinstance(X, np.ndarray):
            return super().fit(X, y)
        points = np.ascontiguousarray(X, np.float64)
        self.labels_ = dbscan(points, float(self.eps), self.min_samples).astype(np.intp)
        core = Points(points, device="cpu").count_within(points, float(self.eps)) >= self.min_samples
        self.core_sample_indices_ = np.flatnonzero(core)
        self.components_ = X[core].copy() if core.any() else np.empty((0, X.shape[1]))
        return self
