#!/usr/bin/env python3
"""usage: fingerprint.py [--device DEVICE] [--scenes NAME,...] PROGRAM > FILE

Prints a line with a hash for each result of PROGRAM: pictures and photons of all scenes in scenes/ by
every integrator with few samples, triangle trees and point trees by every builder, ray hits by every
kernel, neighbours by every query method. If a change must not affect results, the files made before
and after it are equal (diff); so are the files of two devices, except for lines that only one of
them supports.

DEVICE is cpu (default) or cuda:0. Takes one or two minutes on two cores. Exits with 1 if a run failed.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SMALL = "--spp 2 --passes 2 --photons 4000 --caustic-photons 3000 --media-photons 3000 --final-gather 1 --resolution 48x48 --filter box --lens-radius 0"
PLACED = """{"kandela": 1, "materials": {"veil": {"diffuse": [0.5, 0.6, 0.3], "opacity": 0.5}, "glass": {"kind": "glass"}},
"meshes": [{"quad": [[-9, 0, 9], [9, 0, 9], [9, 0, -9], [-9, 0, -9]]},
{"file": "gen:blob:600", "transform": [{"scale": 0.3}], "scatter": {"count": 60, "lo": [-3, 0.3, -3], "hi": [3, 1.5, 3]}},
{"sphere": {"radius": 0.4, "triangles": 300}, "placements": [[{"translate": [1, 1, 2]}]], "material": "glass"},
{"box": {"lo": [-0.1, 0, -0.1], "hi": [0.1, 1, 0.1]}, "scatter": {"count": 20}, "material": "veil"}],
"camera": {"eye": [0, 2, 6], "look_at": [0, 0.6, 0], "fov": 35},
"lights": [{"kind": "area", "corner": [-1, 4, -1], "edge_u": [2, 0, 0], "edge_v": [0, 0, 2], "power": 160}]}"""
MODELS = "gen:blob:20000,gen:hall:5000"
SETS = "uniform,photon,clustered,stretched,sorted,ties,equal"


class Failed(Exception):
    pass


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def integrators(program):
    """Return the names that `kandela info` lists under Integrators."""
    names, inside = [], False
    for line in run([program, "info"]).splitlines():
        if inside and line.startswith("  "):
            names.append(line.split()[0])
        inside = line.startswith("Integrators") or (inside and line.startswith("  "))
    return names


def pictures(program, device, scene, folder):
    name = os.path.splitext(os.path.basename(scene))[0]
    for method in integrators(program):
        stats = os.path.join(folder, "stats.json")
        image = os.path.join(folder, "image.pfm")
        command = [program, "render", scene, "--integrator", method, "--device", device, "--quiet"]
        run(command + SMALL.split() + ["--stats", stats, "-o", image])
        with open(stats, encoding="utf-8") as file:
            statistics = json.load(file)
        yield f"picture {name} {method}", statistics["image"]["hash"]
        yield f"tree {name} {statistics['tree']['builder']} {method}", statistics["tree"]["hash"]
        if statistics.get("photons"):
            yield f"photons {name} {method}", statistics["photons"]["hash"]


def placed_pictures(program, device, folder):
    """Yield hashes of images of instanced meshes."""
    scene, stats = os.path.join(folder, "placed.json"), os.path.join(folder, "stats.json")
    with open(scene, "w", encoding="utf-8") as file:
        file.write(PLACED)
    for method in ("path", "direct", "whitted", "ao"):
        run([program, "render", scene, "--integrator", method, "--device", device, "--quiet", "--placements", "keep",
             *SMALL.split(), "--stats", stats, "-o", os.path.join(folder, "image.pfm")])
        with open(stats, encoding="utf-8") as file:
            yield f"picture placed {method}", json.load(file)["image"]["hash"]


def rows(program, folder, *arguments):
    """Yield hashes of the rows that a benchmark writes as JSON lines."""
    path = os.path.join(folder, "rows.json")
    if os.path.exists(path):
        os.remove(path)
    run([program, "bench", *arguments, "--runs", "1", "--json", path])
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            words = [str(row[key]) for key in ("bench", "case", "builder", "device", "variant", "n", "dims", "k")
                     if key in row]
            if "hash" in row:
                yield " ".join(words), row["hash"]


def benches(program, device, folder):
    every = ["--devices", device]
    yield from rows(program, folder, "build", "--models", MODELS, *every)
    builders = "sweep,parallel,zhou,median"
    yield from rows(program, folder, "trace", "--models", "gen:blob:20000", "--builders", builders, *every)
    yield from rows(program, folder, "points", "--sizes", "10000,16383,16384", "--sets", SETS, "--dims", "2,3,4", *every)
    if device != "cpu":
        yield from rows(program, folder, "knn", "--quick", "--sets", SETS, "--k", "1,8,50,100", "--radius", "0.05")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scenes", default="", help="names of scenes/, or placed (all)")
    arguments = parser.parse_args()
    wanted = [name for name in arguments.scenes.split(",") if name]
    program = os.path.abspath(arguments.program)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        parts = [pictures(program, arguments.device, scene, folder)
                 for scene in sorted(glob.glob(os.path.join(ROOT, "scenes", "*.json")))
                 if not wanted or os.path.basename(scene)[:-5] in wanted]
        if not wanted or "placed" in wanted:
            parts.append(placed_pictures(program, arguments.device, folder))
        for part in [*parts, benches(program, arguments.device, folder)]:
            try:
                for name, value in part:
                    print(name, value, flush=True)
            except Failed as failed:
                failures += 1
                print(failed, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
