"""`kernel_density` against sums over all pairs, and its integral over space."""

import numpy as np
import pytest

import kandela
from kandela.density import KERNELS

DRAW = np.random.default_rng(12)


def log_kernel(kernel, u):
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"gaussian": -u * u / 2, "exponential": -u, "tophat": np.where(u < 1, 0.0, -np.inf),
                "epanechnikov": np.where(u < 1, np.log(1 - u * u), -np.inf),
                "linear": np.where(u < 1, np.log(1 - u), -np.inf),
                "cosine": np.where(u < 1, np.log(np.cos(np.pi * u / 2)), -np.inf)}[kernel]


def log_sums(kernel, x, q, bandwidth, weights):
    logs = log_kernel(kernel, np.sqrt(((q[:, None].astype(np.float64) - x) ** 2).sum(-1)) / bandwidth)
    most = np.maximum(logs.max(1), -1e300)
    with np.errstate(divide="ignore"):
        return np.log((weights * np.exp(logs - most[:, None])).sum(1)) + most


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("points", ["uniform", "clusters", "equal", "one", "far", "lattice"])
@pytest.mark.parametrize("dims", [1, 3, 12])
def test_densities_equal_sums_over_all_pairs(dims, points, kernel):
    x = {"uniform": DRAW.random((700, dims)), "equal": np.full((100, dims), 0.3), "one": DRAW.random((1, dims)),
         "clusters": np.repeat(DRAW.random((5, dims)), 60, 0) + 1e-4 * DRAW.normal(size=(300, dims)),
         "far": DRAW.random((300, dims)) + 1e6, "lattice": np.round(DRAW.random((300, dims)) * 4) / 4}[points]
    q = np.concatenate([DRAW.random((30, dims)) + (1e6 if points == "far" else 0), x[:5]])
    q[-1] += 40
    weights = DRAW.integers(0, 4, len(x)) / 2 + (len(x) < 5)
    for bandwidth in (0.05, 0.5, 3):
        for w in (None, weights):
            expected = log_sums(kernel, x, q, bandwidth, np.ones(len(x)) if w is None else w)
            logs = kandela.kernel_density(x, q, bandwidth, kernel, weights=w, log=True)
            norm = kandela.density._log_norm(kernel, dims, bandwidth) + np.log(len(x) if w is None else w.sum())
            finite = np.isfinite(expected)
            np.testing.assert_array_equal(np.isfinite(logs), finite)
            np.testing.assert_allclose(logs[finite], (expected - norm)[finite], rtol=1e-12, atol=1e-10)
            density = kandela.kernel_density(x, q, bandwidth, kernel, weights=w)
            np.testing.assert_array_equal(density, np.exp(logs))
            scale = density.max()
            for atol, rtol in ((0, 0.01), (0.01 * scale, 0), (1e-4 * scale, 1e-4)):
                rough = kandela.kernel_density(x, q, bandwidth, kernel, weights=w, atol=atol, rtol=rtol)
                assert (abs(rough - density) <= atol + rtol * density + 1e-12 * scale).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dims", [1, 2])
def test_densities_integrate_to_one(dims, kernel):
    step = 0.02 if dims == 1 else 0.1
    steps = np.arange(-14 if kernel != "exponential" else -20, 20, step)
    grid = np.stack(np.meshgrid(*[steps] * dims), -1).reshape(-1, dims)
    total = kandela.kernel_density(DRAW.random((3, dims)), grid, 1.1, kernel).sum() * step**dims
    assert abs(total - 1) < 0.02


def test_types_and_wrong_arguments():
    x, q = DRAW.random((50, 3)), DRAW.random((4, 3))
    expected = kandela.kernel_density(x, q, 0.3)
    np.testing.assert_array_equal(kandela.kernel_density(np.asfortranarray(x), q[::-1], 0.3)[::-1], expected)
    np.testing.assert_array_equal(kandela.kernel_density(x.tolist(), q, 0.3), expected)
    assert kandela.kernel_density(np.arange(6).reshape(3, 2), [[1, 2]], 1).shape == (1,)
    assert kandela.kernel_density(x, q[:0], 0.3).shape == (0,)
    bad = x.copy()
    bad[7, 1] = np.nan
    for wrong in (lambda: kandela.kernel_density(bad, q, 0.3), lambda: kandela.kernel_density(x, bad, 0.3)):
        with pytest.raises(kandela.InputError, match="point 7 is nan"):
            wrong()
    bad[7, 1] = np.inf
    for message, call in (
            ("point 7 is inf", lambda: kandela.kernel_density(bad, q, 0.3)),
            ("no points", lambda: kandela.kernel_density(x[:0], q, 0.3)),
            ("`bandwidth`", lambda: kandela.kernel_density(x, q, 0)),
            ("`bandwidth`", lambda: kandela.kernel_density(x, q, np.inf)),
            ("`rtol`", lambda: kandela.kernel_density(x, q, 1, rtol=-1)),
            ("`kernel` is 'box'", lambda: kandela.kernel_density(x, q, 1, "box")),
            ("`queries` has 2", lambda: kandela.kernel_density(x, q[:, :2], 1)),
            ("`x` has the shape", lambda: kandela.kernel_density(x[:, :0], q, 1)),
            ("`weights` has the shape", lambda: kandela.kernel_density(x, q, 1, weights=np.ones(3))),
            ("`weights` have the sum", lambda: kandela.kernel_density(x, q, 1, weights=np.zeros(50))),
            ("weight 0 is -1", lambda: kandela.kernel_density(x, q, 1, weights=np.r_[-1.0, np.ones(49)]))):
        with pytest.raises(ValueError, match=message):
            call()
