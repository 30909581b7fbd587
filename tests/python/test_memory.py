"""Nothing stays behind: resident memory after thousands of calls of each kind, and what nanobind counts when Python ends."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import kandela

DRAW = np.random.default_rng(11)
X = DRAW.random((300, 3))
V, F = DRAW.random((90, 3), np.float32), DRAW.integers(0, 90, (60, 3)).astype(np.int32)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def points():
    tree = kandela.KDTree(X)
    tree.query(X[:50], k=5)
    tree.query_ball_point(X[:5], 0.2)
    kandela.Points(X.astype(np.float32)).within(X[:9].astype(np.float32), 0.3)


def changes():
    tree = kandela.Points(X)
    tree.insert(X[:20] + 1)
    tree.remove(np.arange(10))
    tree.update(X[:100])


def triangles():
    mesh = kandela.TriangleMesh(V, F)
    mesh.intersect(V, -V)
    mesh.closest_point(V)


def refusals():
    for wrong in (X[:, :1, None], np.full((3, 3), np.nan), X.astype(complex), "points"):
        with pytest.raises((ValueError, TypeError)):
            kandela.KDTree(wrong)
    with pytest.raises(kandela.InputError):
        kandela.Points.load("/nowhere/at/all")


CALLS = {points: 10_000, changes: 2_000, triangles: 2_000, refusals: 2_000}


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_many_calls_leave_nothing(call):
    for _ in range(CALLS[call] // 10):  # pools and caches are filled
        call()
    gc.collect()
    before = resident()
    for _ in range(CALLS[call]):
        call()
    gc.collect()
    grown = resident() - before
    assert grown < 2 << 20, f"{grown} bytes more after {CALLS[call]} calls"


def test_nothing_is_left_at_the_end():
    lines = ("import numpy as np, kandela; x = np.random.default_rng(0).random((500, 3)); t = kandela.KDTree(x); t.query(x);"
             "m = kandela.TriangleMesh(x, np.arange(300).reshape(-1, 3)); m.intersect(x, x); kandela.dbscan(x, 0.1)")
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "leak" not in done.stderr, done.stderr
