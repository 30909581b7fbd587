"""Memory leaks: the resident size after thousands of calls of each kind, and nanobind's leak report
when Python exits."""

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
def test_repeated_calls_do_not_leak(call):
    for _ in range(CALLS[call] // 10):  # fill pools and caches first
        call()
    gc.collect()
    before = resident()
    for _ in range(CALLS[call]):
        call()
    gc.collect()
    grown = resident() - before
    assert grown < 2 << 20, f"{grown} bytes more after {CALLS[call]} calls"


GROWTH = """
import gc, os, sys
import numpy as np, kandela
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
draw = np.random.default_rng(3)
count, dims, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if kind == "mesh":
    v = (draw.random((count, 1, 3), np.float32) + 0.01 * draw.random((count, 3, 3), np.float32)).reshape(-1, 3)
    f = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    make = lambda part: kandela.TriangleMesh(v[:3 * part], f[:part])
else:
    x = draw.random((count, dims)).astype(kind)
    make = lambda part: kandela.Points(x[:part])
make(1000)  # threads are there
before = resident()
tree = make(count)
grown = resident() - before
print(tree.nbytes, grown)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc")
@pytest.mark.parametrize("count,dims,kind", [(500_000, 3, "float32"), (500_000, 3, "float64"), (200_000, 8, "float32"),
                                             (100_000, 3, "mesh")])
def test_nbytes_matches_memory_growth(count, dims, kind):
    done = subprocess.run([sys.executable, "-c", GROWTH, str(count), str(dims), kind], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"})  # freed scratch memory is returned to the system at once
    assert done.returncode == 0, done.stderr
    said, grown = map(int, done.stdout.split())
    print(f"{kind} {dims}: {said / count:.1f} bytes an item said, {grown / count:.1f} grown")
    assert abs(grown - said) < 0.15 * said + (2 << 20), (said / count, grown / count)


def test_no_objects_leak_at_exit():
    lines = ("import numpy as np, kandela; x = np.random.default_rng(0).random((500, 3)); t = kandela.KDTree(x); t.query(x);"
             "m = kandela.TriangleMesh(x, np.arange(300).reshape(-1, 3)); m.intersect(x, x); kandela.dbscan(x, 0.1)")
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "leak" not in done.stderr, done.stderr
