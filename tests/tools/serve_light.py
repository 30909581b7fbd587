"""usage: serve_light.py PROGRAM SCENE [DEVICE]

What the live view answers about photons, light paths, trees, and scaled lights (test_serve.sh). FAIL_LIBRARY in the
environment names fail_allocation.c as a library.
"""

import json
import math
import os
import struct
import subprocess
import sys

from serve_session import SMALL, Session, check_same

ROW = "<6fBBH4b"
OPTIONS = ["--integrator", "photon", "--photons", "2000"]


def rows_in(content):
    """Return the photons of an answer as (position, power, bounce, map, rest of the row)."""
    count, stride, _ = struct.unpack_from("<3I", content)
    assert len(content) == 12 + count * stride, (count, stride, len(content))
    rows = []
    for at in range(12, len(content), stride):
        row = struct.unpack_from(ROW, content, at)
        rows.append((row[:3], row[3:6], row[6], row[8], content[at + 32 : at + stride]))
    return rows


def rows_of(session, name, query=""):
    content = session.get(f"/api/photons?map={name}{query}")
    return rows_in(content), struct.unpack_from("<3I", content)[2]


def light_paths_of(session, name, query):
    """Return light paths as (path, light, group, points), points as (position, power, kind, stored, bounce, material)."""
    content = session.get(f"/api/light_paths?map={name}&{query}")
    paths, stride, points = struct.unpack_from("<3I", content)
    assert stride == 32 and len(content) == 12 + 16 * paths + 32 * points
    made, at = [], 12 + 16 * paths
    for i in range(paths):
        path, light, group, count = struct.unpack_from("<4I", content, 12 + 16 * i)
        rows = [struct.unpack_from("<6fBBHI", content, at + 32 * j) for j in range(count)]
        made.append((path, light, group, [(row[:3], row[3:6], *row[6:]) for row in rows]))
        at += 32 * count
    assert at == len(content)
    return made


def check_light_paths(session, name):
    """A photon lies on its light path, to the bit, with its power and bounce."""
    photons, total = rows_of(session, name, "&limit=2000000&paths=1")
    assert total >= len(photons) > 0
    for position, power, bounce, _, rest in photons[:: max(1, len(photons) // 20)]:
        (path,) = struct.unpack("<I", rest[-4:])
        ((same, _, group, points),) = light_paths_of(session, name, f"path={path}")
        assert same == path and group < len(session.state()["lights"])
        assert points[0][2] == 0 and all(point[2] != 0 for point in points[1:])
        stored = [point for point in points if point[3]]
        assert any(point[:2] == (position, power) and point[4] == bounce for point in stored), (position, stored)
    some = light_paths_of(session, name, "count=50")
    assert 10 < len(some) <= 50 and len({one[0] for one in some}) == len(some)
    assert some == light_paths_of(session, name, "count=50")
    assert session.ask(f"/api/light_paths?map={name}&path=4294967295")[0] == 400
    return photons


def check_planes(session, name, count):
    """The nodes of a level hold all photons below it; the nodes of a pixel end at a leaf."""
    (levels,) = [one["levels"] for one in session.state()["photon_maps"] if one["name"] == name]
    assert 2 ** (levels - 1) <= count < 2**levels

    def planes(query):
        content = session.get(f"/api/planes?map={name}&{query}")
        listed, stride, total = struct.unpack_from("<3I", content)
        assert stride == 40 and total >= listed and len(content) == 12 + 40 * listed
        return [struct.unpack_from("<7fBBHII", content, 12 + 40 * i) for i in range(listed)]

    (root,) = planes("level=0")
    assert root[-2:] == (0, count) and root[8:10] == (0, 0) and root[root[7]] <= root[6] <= root[3 + root[7]]
    left, right = planes("level=1")
    assert left[-1] + right[-1] == count - 1 and left[3 + root[7]] == root[6] == right[root[7]]
    for level in range(levels):
        assert sum(node[-1] for node in planes(f"level={level}")) == count - (2**level - 1)
    assert planes("level=200") == []
    nodes = planes("x=24&y=24")
    assert [node[9] for node in nodes] == list(range(len(nodes))) and nodes[-1][8] in (0, 1) and nodes[-1][-1] <= 2
    assert session.ask(f"/api/planes?map={name}&level=1000")[0] == 400


def check_tree(session):
    """Levels and leaves of the triangle tree add up to its own figures."""
    tree = json.loads(session.get("/api/tree"))
    assert math.isclose(sum(level["cost"] for level in tree["levels"]), tree["cost"], rel_tol=1e-9)
    assert sum(level["inner"] + level["leaves"] for level in tree["levels"]) == tree["nodes"]
    assert sum(tree["leaves"]) == tree["leaf_count"] and tree["leaves"][0] == tree["empty_leaves"]
    assert sum(level["triangles"] for level in tree["levels"]) == tree["references"]
    assert len(tree["levels"]) == tree["depth"] + 1 == session.state()["tree_levels"]


def check_pixel(session, pixels, fewest=1):
    """The photons of discs lie in them, on the light paths that they name."""
    found = 0
    for x, y in pixels:
        pixel = json.loads(session.get(f"/api/pixel?x={x}&y={y}"))
        for one in pixel["photons"]:
            assert math.dist(one["position"], pixel["position"]) <= pixel["radius"] * 1.00001
        found += len(pixel["photons"])
        tiles = pixel.get("tiles", [])
        if tiles:
            assert all(one["part"] > 0 and one["weight"] != 0 and len(one["corners"]) == 3 for one in tiles)
            assert sum(one["part"] for one in tiles) < math.pi, "parts of a disc of radius 1"
            lo, hi = ([side([corner[k] for one in tiles for corner in one["corners"]]) for k in range(3)] for side in (min, max))
            assert all(low - 1e-5 <= at <= high + 1e-5 for low, at, high in zip(lo, pixel["position"], hi)), (lo, pixel["position"], hi)
        for one in pixel["photons"][:2]:
            ((_, light, group, points),) = light_paths_of(session, one["map"], f"path={one['path']}")
            assert light & 0xFFFF == one["light"] and group == one["group"]
            near = [point for point in points if math.dist(point[0], one["position"]) < 1e-5]
            assert near and near[0][3] == 1 and near[0][4] == one["bounce"], (one, points)
    assert found >= fewest, found


def check_surfaces(session):
    """The channels of surfaces are what the answers about single pixels say."""
    channels = {name: session.picture(name) for name in ("triangle", "material", "cost", "radius", "density")}
    for x, y in ((24, 26), (24, 16), (0, 0), (47, 31)):
        pixel = json.loads(session.get(f"/api/pixel?x={x}&y={y}"))
        seen = {name: values[y * width + x] for name, (width, _, _, values) in channels.items()}
        assert seen["cost"] == json.loads(session.get(f"/api/ray?x={x}&y={y}"))["steps"], seen
        if "triangle" not in pixel:
            assert math.isinf(seen["triangle"]) and math.isinf(seen["radius"]), seen
            continue
        assert seen["triangle"] == pixel["triangle"] % 2048 and seen["material"] == pixel["material"] % 2048, (seen, pixel)
        assert math.isclose(seen["radius"], pixel["radius"], rel_tol=1e-3), (seen, pixel["radius"])
        if "density" in seen and pixel["photons"]:
            area = math.pi * pixel["radius"] ** 2
            assert math.isclose(seen["density"], len(pixel["photons"]) / area, rel_tol=1e-2), (seen, pixel["radius"], len(pixel["photons"]))


def write_scene():
    """A room full of fog with a lamp and a glass ball."""
    meshes = [
        {"quad": [[-2, 0, 2], [2, 0, 2], [2, 0, -2], [-2, 0, -2]], "material": "grey"},
        {"quad": [[-2, 0, -2], [2, 0, -2], [2, 3, -2], [-2, 3, -2]], "material": "grey"},
        {"quad": [[-0.5, 3, -0.5], [0.5, 3, -0.5], [0.5, 3, 0.5], [-0.5, 3, 0.5]], "material": "lamp"},
        {"sphere": {"centre": [0, 1.2, 0], "radius": 0.5, "triangles": 200}, "material": "glass"},
    ]
    materials = {"grey": {"diffuse": 0.5}, "lamp": {"emission": [5, 4, 3]}, "glass": {"kind": "glass", "ior": 1.5}}
    fog = {"media": {"fog": {"scattering": 0.2, "absorption": 0.02}}, "fog": "fog"}
    camera = {"eye": [0, 1.2, 5], "look_at": [0, 1, 0]}
    with open("foggy.json", "w", encoding="utf-8") as file:
        json.dump({"kandela": 1, "materials": materials, "meshes": meshes, "camera": camera, **fog}, file)
    del materials["lamp"]
    materials.update(warm={"emission": [5, 2, 1]}, cold={"emission": [1, 2, 5]})
    for x, material in ((-1.5, "warm"), (0.5, "cold")):
        meshes.append({"quad": [[x, 3, -0.5], [x + 1, 3, -0.5], [x + 1, 3, 0.5], [x, 3, 0.5]], "material": material})
    with open("lamps.json", "w", encoding="utf-8") as file:
        json.dump({"kandela": 1, "materials": materials, "meshes": [mesh for mesh in meshes if mesh["material"] != "lamp"], "camera": camera}, file)


def check_light_groups(session):
    """The scales of two lamps act on a picture at once, and undone they leave no trace."""
    lights = [light["name"] for light in session.state()["lights"]]
    assert lights == ["warm", "cold"], lights

    def scaled(*scales):
        before = session.state()
        status, content = session.ask("/api/lights", [{"name": name, "scale": scale} for name, scale in zip(lights, scales)])
        assert status == 200, content
        state = session.wait(lambda state: state["picture"] > before["picture"])
        assert state["generation"] == before["generation"] and state["status"] == "done", "no new rendering"
        return session.picture()[3]

    moved = ["--eye", "0,1.2,4"]
    few = {"photons": 2000, "passes": 2}
    for method, settings, options in (
        ("path", {}, []),
        ("direct", {}, moved),
        ("photon", few, [*moved, *OPTIONS]),
        ("photon", {"estimator": "adaptive"}, [*moved, *OPTIONS, "--estimator", "adaptive"]),
        ("sppm", {"estimator": "nearest"}, [*moved, "--photons", "2000", "--passes", "2"]),
    ):
        if method != "path":
            session.post("/api/settings", {"integrator": method, **settings})
        assert session.state()["light_groups"] == "sum"
        whole = check_same(session, *options, "--integrator", method, scene="lamps.json")
        warm, cold, both, double = scaled(1, 0), scaled(0, 1), scaled(1, 1), scaled(2, 0.5)
        assert both == whole and max(warm[0::3]) > max(warm[2::3]) and max(cold[0::3]) < max(cold[2::3])
        for one, other, all_, sum_ in zip(warm, cold, whole, double):
            assert math.isclose(one + other, all_, rel_tol=2e-3, abs_tol=1e-6) and math.isclose(2 * one + 0.5 * other, sum_, rel_tol=2e-3, abs_tol=1e-6)
        pixel = json.loads(session.get("/api/pixel?x=24&y=26"))["value"]
        assert math.isclose(pixel[0], double[3 * (26 * 48 + 24)], rel_tol=1e-3), "all answers are of the scaled picture"
        if "global" in maps_of(session):
            check_light_paths(session, "global")
            doubled = sum(row[1][0] for row in rows_of(session, "global")[0])
            scaled(1, 0.5)
            assert sum(row[1][0] for row in rows_of(session, "global")[0]) < 0.7 * doubled
            scaled(2, 0.5)
        state = session.post("/api/camera", {"eye": [0, 1.2, 4]})
        assert [light["scale"] for light in state["lights"]] == [2, 0.5] and session.picture()[3] != whole
        scaled(1, 1)
    session.post("/api/settings", {"integrator": "photon", "final_gather": 4})
    for settings, reason in (({}, "final gather"), ({"integrator": "path", "clamp": 1}, "clamped"), ({"integrator": "vcm", "clamp": 0}, "method")):
        state = session.post("/api/settings", settings)
        assert state["light_groups"] == "rendering" and reason in state["light_groups_reason"], (settings, state)


def check_lack_of_memory(library):
    """Without memory for the films of two lamps, the picture begins anew with scaled lamps, and the log and the page say so."""
    bytes_ = 48 * 32 * 2 * 3 * 8
    environment = {**os.environ, "LD_PRELOAD": library, "FAIL_BYTES": str(bytes_)}
    session = Session("serve", "lamps.json", *SMALL, "--integrator", "path", stderr=subprocess.PIPE, env=environment)
    try:
        whole = session.wait(lambda state: state["status"] == "done") and session.picture()[3]
        for scale in (0.5, 0.25):
            state = session.post("/api/lights", [{"name": "warm", "scale": scale}, {"name": "cold", "scale": scale}])
            assert state["light_groups"] == "rendering" and "no memory" in state["light_groups_reason"], state
            for one, all_ in zip(session.picture()[3], whole):
                assert math.isclose(one, scale * all_, rel_tol=2e-3, abs_tol=1e-6), (one, all_)
        assert session.end() == 0
        said = session.program.stderr.read()
        assert said.count("no memory for a picture of each light") == 1 and f"{bytes_} bytes" in said, said
    finally:
        session.program.kill()


def maps_of(session):
    return {one["name"]: one["count"] for one in session.state()["photon_maps"]}


def main():
    write_scene()
    session = Session("serve", "lamps.json", *SMALL, "--integrator", "path")
    try:
        state = session.wait(lambda state: state["status"] == "done")
        assert state["light_groups"] == "rendering", "films cost time, so they begin with the first change"
        session.post("/api/lights", [{"name": "warm", "scale": 1}])
        check_light_groups(session)
        assert session.end() == 0
    finally:
        session.program.kill()
    if os.environ.get("FAIL_LIBRARY"):
        check_lack_of_memory(os.environ["FAIL_LIBRARY"])
    device = sys.argv[3] if len(sys.argv) > 3 else "cpu"
    session = Session("serve", "foggy.json", *SMALL, *OPTIONS, "--device", device)
    try:
        session.wait(lambda state: state["status"] == "done")
        maps = maps_of(session)
        assert list(maps) == ["global", "caustic", "volume"], maps
        check_tree(session)
        check_surfaces(session)
        check_pixel(session, [(24, 26)])
        assert device != "cpu" or json.loads(session.get("/api/pixel?x=24&y=26"))["tiles"]
        for name, count in maps.items():
            photons = check_light_paths(session, name)
            assert len(photons) == count and {one[3] for one in photons} == {list(maps).index(name)}
            check_planes(session, name, count)
        photons = session.get("/api/photons?map=global")
        for eye in ([0.5, 1.2, 5], [0, 1.2, 4]):
            session.post("/api/camera", {"eye": eye})
            check_same(session, *OPTIONS, "--device", device, "--eye", ",".join(map(str, eye)), scene="foggy.json")
            assert session.get("/api/photons?map=global") == photons, "photons do not depend on the camera"
        (lamp,) = session.state()["lights"]
        session.post("/api/lights", [{"name": lamp["name"], "scale": 2}])
        brighter, _ = rows_of(session, "global")
        assert [row[1] for row in brighter] == [tuple(2 * power for power in row[1]) for row in rows_in(photons)]
        session.post("/api/lights", [{"name": lamp["name"], "scale": 1}])
        assert session.get("/api/photons?map=global") == photons
        session.post("/api/settings", {"media": "beams", "integrator": "sppm", "passes": 2})
        maps = maps_of(session)
        assert list(maps) == ["global", "caustic", "beams"], maps
        check_light_paths(session, "global")
        check_surfaces(session)
        beams, _ = rows_of(session, "beams", "&limit=2000000")
        assert len(beams) >= maps["beams"], "the last path is traced to its end"
        lengths = [math.dist(one[0], struct.unpack("<3f", one[4])) for one in beams]
        assert min(lengths) > 0 and {one[3] for one in beams} == {3}
        assert len(light_paths_of(session, "beams", "count=20")) == 20
        assert session.ask("/api/planes?map=beams&level=0")[0] == 409
        session.post("/api/settings", {"integrator": "vcm", "spp": 2})
        assert maps_of(session) == {"vertices": 48 * 32}
        vertices = check_light_paths(session, "vertices")
        check_pixel(session, [(x, y) for y in (24, 27) for x in range(18, 31, 2)], 5)  # below the glass ball
        few, total = rows_of(session, "vertices", "&limit=200")
        assert 50 < len(few) <= 200 and 0.5 < total / len(vertices) < 2
        everything = {one[:3] for one in vertices}
        assert all(one[:3] in everything for one in few)
        session.post("/api/settings", {"integrator": "path"})
        assert maps_of(session) == {} and session.ask("/api/photons")[0] == 409
        assert "density" not in session.state()["channels"] and session.ask("/api/picture?channel=density")[0] == 409
        assert session.ask("/api/light_paths?count=1")[0] == 409 and session.ask("/api/light_paths?count=0")[0] == 400
        assert session.ask("/api/photons?map=none")[0] == 400
        assert session.end() == 0
    finally:
        session.program.kill()


main()
