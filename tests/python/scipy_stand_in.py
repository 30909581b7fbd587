"""A pytest plugin that runs SciPy's own tests of k-d trees on kandela.KDTree.

    pytest -p scipy_stand_in --pyargs scipy.spatial.tests.test_kdtree
"""

import scipy.spatial

import kandela


class KDTree(kandela.KDTree):
    """SciPy's tests use two classes of these names; this one has a default leaf size of 10."""

    def __init__(self, data, leafsize=10, *rest, **named):
        super().__init__(data, leafsize, *rest, **named)


class cKDTree(kandela.KDTree):
    """The second class, with the default leaf size of kandela.KDTree."""


scipy.spatial.KDTree, scipy.spatial.cKDTree = KDTree, cKDTree
