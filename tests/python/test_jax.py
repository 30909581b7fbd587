"""kandela.jax: compiled functions and gradients, by XLA's FFI and by callbacks."""

import doctest

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import kandela  # noqa: E402
import kandela.jax  # noqa: E402


@pytest.fixture(params=["ffi", "callback"])
def way(request, monkeypatch):
    if request.param == "callback":
        monkeypatch.setattr(kandela.jax, "HAS_FFI", False)
    elif not kandela.jax.HAS_FFI:
        pytest.skip("built without the headers of jaxlib")


def cloud(n, seed, dtype=float):
    return jnp.asarray(np.random.default_rng(seed).random((n, 3)), dtype)


def soup(count, seed, dtype=float):
    draw = np.random.default_rng(seed)
    vertices = jnp.asarray(draw.random((3 * count, 3)).astype(np.float32), dtype)
    aims, away = draw.random((40, 3)).astype(np.float32), draw.normal(size=(40, 3)).astype(np.float32)
    return jnp.asarray(aims + 3 * away, dtype), jnp.asarray(-away, dtype), vertices, jnp.arange(3 * count).reshape(-1, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_is_that_of_a_tree(way, dtype):
    q, x = cloud(50, 1, dtype), cloud(300, 2, dtype)
    dist2, ids = jax.jit(lambda q, x: kandela.jax.nearest(q, x, 7, max_radius=0.2))(q, x)
    want, _ = kandela.Points(np.asarray(x)).nearest(np.asarray(q), 7, max_radius=0.2)
    assert ids.dtype == np.int32 and dist2.dtype == dtype
    assert (np.asarray(ids) == np.asarray(want).astype(np.int32)).all() and (ids < 0).any()
    assert jnp.isinf(dist2[ids < 0]).all() and jnp.isfinite(dist2[ids >= 0]).all()


def test_gradients_of_nearest_match_finite_differences():
    q, x = cloud(6, 3), cloud(20, 4)
    check_grads(lambda q, x: kandela.jax.nearest(q, x, 3)[0], (q, x), order=1, modes=["fwd", "rev"])
    missing = jax.grad(lambda q: jnp.where(kandela.jax.nearest(q, x, 3, max_radius=0.1)[1] < 0, 0,
                                           kandela.jax.nearest(q, x, 3, max_radius=0.1)[0]).sum())(q)
    assert jnp.isfinite(missing).all()


def test_vmap_and_scan():
    q, x = jnp.stack([cloud(5, 5), cloud(5, 6)]), cloud(30, 7)
    together = jax.vmap(lambda q: kandela.jax.nearest(q, x, 2)[1])(q)
    assert (together == jnp.stack([kandela.jax.nearest(one, x, 2)[1] for one in q])).all()

    @jax.jit
    def descend(q):
        return jax.lax.scan(lambda q, _: (q - 0.25 * jax.grad(lambda q: kandela.jax.nearest(q, x, 1)[0].sum())(q), None),
                            q, None, length=5)[0]
    assert kandela.jax.nearest(descend(q[0]), x, 1)[0].sum() < 0.01 * kandela.jax.nearest(q[0], x, 1)[0].sum()


@pytest.mark.parametrize("dtype, offset", [(np.float32, 0), (np.float64, 1e5)])
def test_hits_are_those_of_a_mesh(way, dtype, offset):
    origins, directions, vertices, faces = soup(60, 8, dtype)
    origins, vertices = origins + dtype(offset), vertices + dtype(offset)
    hits = jax.jit(kandela.jax.intersect)(origins, directions, vertices, faces)
    want = kandela.TriangleMesh(np.asarray(vertices), np.asarray(faces)).intersect(np.asarray(origins),
                                                                                   np.asarray(directions))
    hit = np.asarray(want.hit)
    assert 5 < hit.sum()
    assert (np.asarray(hits.triangle) == want.triangle.astype(np.int32)).all()
    np.testing.assert_allclose(hits.t[hit], want.t[hit], rtol=1e-3 if offset else 1e-4)
    assert jnp.isinf(hits.t[~hit]).all() and jnp.isinf(hits.position[~hit]).all()
    weights = np.asarray(hits.weights)
    np.testing.assert_allclose(weights[hit].sum(1), 1, rtol=1e-5)
    assert (weights[~hit] == 0).all()


def test_gradients_of_hits_match_finite_differences():
    origins, directions, vertices, faces = soup(60, 9)
    keep = kandela.jax.intersect(origins, directions, vertices, faces).weights.min(1) > 0.02
    origins, directions = origins[keep], directions[keep]
    assert keep.sum() > 3

    def values(origins, directions, vertices):
        hits = kandela.jax.intersect(origins, directions, vertices, faces)
        return hits.t, hits.position, hits.weights
    check_grads(values, (origins, directions, vertices), order=1, modes=["rev"], eps=1e-6, rtol=1e-3, atol=1e-3)


def test_bad_input_is_named(way):
    q = cloud(3, 1)
    with pytest.raises(ValueError, match="`k` is 0"):
        kandela.jax.nearest(q, q, 0)
    with pytest.raises(ValueError, match="of one type"):
        kandela.jax.nearest(q, q.astype(jnp.float32), 1)
    with pytest.raises(ValueError, match="`faces` has the shape"):
        kandela.jax.intersect(q, q, q, jnp.zeros((1, 4), int))
    with pytest.raises(Exception, match="(?i)nan|finite"):
        jax.block_until_ready(kandela.jax.nearest(q, q.at[1, 1].set(jnp.nan), 1))
    with pytest.raises(Exception, match="vert"):
        jax.block_until_ready(kandela.jax.intersect(q, q, q, jnp.full((1, 3), 3)))
    assert kandela.jax.nearest(q[:0], q, 2)[1].shape == (0, 2)
    assert (kandela.jax.nearest(q, q[:0], 2)[1] == -1).all()
    assert (kandela.jax.intersect(q, q, q[:0], jnp.zeros((0, 3), int)).triangle == -1).all()


def test_examples():
    assert doctest.testmod(kandela.jax).failed == 0
