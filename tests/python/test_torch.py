"""kandela.torch: gradients against those of a brute-force search in torch."""

import doctest

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import kandela  # noqa: E402
import kandela.torch  # noqa: E402


def cloud(n, seed, m=3):
    return torch.tensor(np.random.default_rng(seed).random((n, m)), requires_grad=True)


@pytest.mark.parametrize("m", [2, 3, 7])
def test_gradients_match_brute_force(m):
    q, x = cloud(40, 1, m), cloud(60, 2, m)
    dist2, numbers = kandela.torch.nearest(q, x, 5)
    weights = torch.linspace(1, 2, 5, dtype=torch.float64)
    mine = torch.autograd.grad((dist2 * weights).sum(), [q, x])
    plain, order = ((q[:, None] - x[None]) ** 2).sum(-1).topk(5, largest=False)
    theirs = torch.autograd.grad((plain * weights).sum(), [q, x])
    assert torch.equal(numbers, order)
    for one, other in zip(mine, theirs):
        torch.testing.assert_close(one, other)


def test_second_derivatives_and_missing_neighbours():
    q, x = cloud(6, 3), cloud(9, 4)
    assert torch.autograd.gradgradcheck(lambda a, b: kandela.torch.nearest(a, b, 2)[0], (q, x))
    dist2, numbers = kandela.torch.nearest(q, x, 9, max_radius=0.3)
    missing = numbers < 0
    assert missing.any() and not missing.all() and torch.isinf(dist2[missing]).all()
    dist2[~missing].sum().backward()
    assert torch.isfinite(x.grad).all() and torch.isfinite(q.grad).all()


def test_chamfer_distance_decreases():
    a, b = cloud(50, 5), cloud(70, 6).detach()
    losses = []
    for _ in range(20):
        loss = kandela.torch.chamfer_distance(a, b)
        a.grad = None
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            a -= 2 * a.grad
    assert all(after < before for before, after in zip(losses, losses[1:])) and losses[-1] < losses[0] / 2


def test_mesh_distance_gradients_match_finite_differences():
    draw = np.random.default_rng(7)
    vertices = torch.tensor(draw.random((12, 3)).astype(np.float32).astype(float), requires_grad=True)
    faces = torch.tensor(draw.integers(0, 12, (9, 3)))
    points = torch.tensor((2 * draw.random((20, 3))).astype(np.float32).astype(float), requires_grad=True)
    found = kandela.torch.mesh_distance2(points, vertices, faces)
    grad_points, grad_vertices = torch.autograd.grad(found.sum(), [points, vertices])
    step = 2.0 ** -10

    def total(p, v):
        return kandela.torch.mesh_distance2(p, v, faces).sum().item()

    for given, grad, at in ((points, grad_points, (3, 1)), (points, grad_points, (11, 0)), (vertices, grad_vertices, (5, 2)),
                            (vertices, grad_vertices, (0, 0))):
        moved = [given.detach().clone() for _ in range(2)]
        moved[0][at] += step
        moved[1][at] -= step
        sums = [total(m, vertices) if given is points else total(points, m) for m in moved]
        assert abs((sums[0] - sums[1]) / (2 * step) - grad[at].item()) < 1e-2 * max(1, abs(grad[at].item()))


def test_graphs_match_numpy():
    x, batch = cloud(200, 8).detach(), torch.arange(200) // 50
    mine = kandela.torch.knn_graph(x, 4, batch)
    assert mine.dtype == torch.int64
    np.testing.assert_array_equal(mine.numpy(), kandela.knn_graph(x.numpy(), 4, batch.numpy()))
    np.testing.assert_array_equal(kandela.torch.radius_graph(x, 0.2).numpy(), kandela.radius_graph(x.numpy(), 0.2))


def soup(count, seed):
    draw = np.random.default_rng(seed)
    vertices = torch.tensor(draw.random((3 * count, 3)).astype(np.float32).astype(float), requires_grad=True)
    aims, away = draw.random((40, 3)).astype(np.float32), draw.normal(size=(40, 3)).astype(np.float32)
    rays = [torch.tensor(one.astype(float), requires_grad=True) for one in (aims + 3 * away, -away)]
    return *rays, vertices, torch.arange(3 * count).reshape(-1, 3)


def test_hits_are_those_of_a_mesh_with_gradients():
    origins, directions, vertices, faces = soup(60, 8)
    hits = kandela.torch.intersect(origins, directions, vertices, faces)
    want = kandela.TriangleMesh(vertices.detach().numpy(), faces.numpy()).intersect(origins.detach().numpy(),
                                                                                  directions.detach().numpy())
    hit = torch.tensor(want.hit)
    assert torch.equal(hits.triangle, torch.tensor(want.triangle.astype(np.int32)).long()) and 5 < hit.sum()
    torch.testing.assert_close(hits.t[hit].float(), torch.tensor(want.t)[hit], rtol=1e-4, atol=1e-4)
    assert torch.isinf(hits.t[~hit]).all() and (hits.weights[~hit] == 0).all()
    hits.t[hit].sum().backward()
    assert all(torch.isfinite(one.grad).all() for one in (origins, directions, vertices))
    inner = hits.weights.detach().min(1)[0] > 0.02
    assert inner.sum() > 3
    few = [one.detach()[inner][:4].requires_grad_() for one in (origins, directions)] + [vertices]
    assert torch.autograd.gradcheck(lambda *given: kandela.torch.intersect(*given, faces)[:3], few)
    assert torch.autograd.gradgradcheck(lambda *given: kandela.torch.intersect(*given, faces)[:2], few)


@pytest.mark.skipif(not hasattr(torch.library, "custom_op"), reason="PyTorch before 2.4")
def test_compiled_functions_give_the_same():
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    origins, directions, vertices, faces = soup(60, 9)
    q, x = cloud(40, 1), cloud(60, 2)
    for function, given in ((lambda q, x: kandela.torch.nearest(q, x, 5), (q, x)),
                            (kandela.torch.intersect, (origins, directions, vertices, faces)),
                            (kandela.torch.mesh_distance2, (q, vertices, faces)),
                            (lambda x: kandela.torch.knn_graph(x, 3), (x,)),
                            (lambda x: kandela.torch.radius_graph(x, 0.2), (x,))):
        plain, compiled = function(*given), torch.compile(function, fullgraph=True, backend="aot_eager")(*given)
        for one, other in zip(*([[out] if torch.is_tensor(out) else out for out in (plain, compiled)])):
            torch.testing.assert_close(one, other)
            if not one.requires_grad:
                continue
            weights = torch.where(torch.isfinite(one), one.detach(), torch.zeros_like(one))
            pairs = [torch.autograd.grad(out, given[0], weights, retain_graph=True)[0] for out in (one, other)]
            torch.testing.assert_close(*pairs)
    plain = [one.detach() for one in (q, x, origins, directions, vertices)]
    torch.library.opcheck(torch.ops.kandela.nearest, (plain[0], plain[1], 5, 0.5))
    torch.library.opcheck(torch.ops.kandela.first_triangle, (*plain[2:], faces))
    torch.library.opcheck(torch.ops.kandela.closest_point, (plain[0], plain[4], faces))


def test_examples_run():
    assert doctest.testmod(kandela.torch).failed == 0
