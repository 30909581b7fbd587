"""Each public name has a docstring, each function's docstring has an example, and all examples run
as doctests."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import kandela
from kandela import _c

MODULES = [name for _, name, _ in pkgutil.iter_modules(kandela.__path__) if name not in ("_c", "jax", "torch", "trimesh", "sklearn")]


def documented():
    """Yields (name, function) for every public function and method."""
    for name in kandela.__all__:
        thing = getattr(kandela, name)
        if inspect.isfunction(thing):
            yield name, thing
        if not inspect.isclass(thing) or issubclass(thing, (Exception, tuple)):
            continue
        for member, value in vars(thing).items():
            if member[0] != "_" and not isinstance(value, property):
                value = getattr(value, "__func__", value)
                if inspect.isfunction(value):
                    yield f"{name}.{member}", value


FUNCTIONS = dict(documented())


def test_many_names_are_documented():
    assert len(FUNCTIONS) > 40 and len(MODULES) >= 10


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_description_and_example(name):
    said = inspect.getdoc(FUNCTIONS[name]) or ""
    assert len(said.split("\n")[0]) > 20 and ">>>" in said


def test_classes_properties_and_errors_have_description():
    for name in kandela.__all__:
        thing = getattr(kandela, name)
        if not inspect.isclass(thing):
            continue
        assert thing.__doc__ and not thing.__doc__.startswith(f"{name}("), name
        for member, value in vars(thing).items():
            if isinstance(value, property):
                assert value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("name", [""] + MODULES)
def test_examples_run(name):
    module = importlib.import_module(f"kandela.{name}" if name else "kandela")
    assert module.__doc__
    space = {"np": np, "kandela": kandela}
    assert doctest.testmod(module, extraglobs=space, optionflags=doctest.IGNORE_EXCEPTION_DETAIL).failed == 0


def test_stubs_are_complete():
    folder = Path(kandela.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_c.pyi").read_text()
    missing = [name for name in dir(_c) if name[0] != "_" and f" {name}" not in stub and f"\n{name}" not in stub]
    assert missing == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_types_are_annotated(name):
    missing = set(inspect.signature(FUNCTIONS[name]).parameters) - set(FUNCTIONS[name].__annotations__)
    assert "return" in FUNCTIONS[name].__annotations__ and missing <= {"self", "cls"}


USE = """
import numpy as np
import kandela
x = np.zeros((10, 3))
tree, points, mesh = kandela.KDTree(x), kandela.Points(x), kandela.TriangleMesh(x, np.zeros((1, 3), np.int32))
print(tree.query(x, 3), points.nearest(x, 3)[0], mesh.intersect(x, x).t, kandela.knn_graph(x, 3), len(points))
print(kandela.normals(x), kandela.render("gen:blob:2000", width=32).rgb, kandela.devices()[0].name)
scene = kandela.RayScene()
print(scene.add_instances(scene.add_geometry(mesh)))
scene.commit()
print(scene.intersect(*kandela.pinhole_rays(4, 4, fov=60, eye=(0, 2, 0))).t)
"""


def test_strict_type_checks_pass_and_find_unknown_attributes(tmp_path, monkeypatch):
    api, folder = pytest.importorskip("mypy.api"), Path(kandela.__file__).parent.parent
    if folder.name not in ("site-packages", "dist-packages"):
        monkeypatch.setenv("MYPYPATH", str(folder))
    for lines, found in ((USE, 0), (USE + "tree.nonsense\npoints.nonsense\nmesh.nonsense\n", 3)):
        (tmp_path / "use.py").write_text(lines)
        said = api.run(["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"),
                        str(tmp_path / "use.py")])[0]
        assert said.count("error:") == said.count("[attr-defined]") == found, said
