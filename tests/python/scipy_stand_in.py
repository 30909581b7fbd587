"""A pytest plugin: SciPy's own tests of k-d trees with our class in their place.

    pytest -p scipy_stand_in --pyargs scipy.spatial.tests.test_kdtree
"""

import scipy.spatial

import kandela


class KDTree(kandela.KDTree):
    """SciPy's tests want two classes of these names; this one has leaves of 10 by default."""

    def __init__(self, data, leafsize=10, *rest, **named):
        super().__init__(data, leafsize, *rest, **named)


class cKDTree(kandela.KDTree):
    """The other one."""


scipy.spatial.KDTree, scipy.spatial.cKDTree = KDTree, cKDTree
