#!/usr/bin/env python3
"""usage: tables.py [--check]

Writes README.md's speed tables from the results files in this folder, between the lines
    <!-- speed NAME -->  and  <!-- end of speed -->
--check writes nothing and ends with 1 if a table is not what the files say, or if a page has a table
that nobody writes. Every row names what it ran on, the commit and the mode.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
H200, PACKED, WAVES = "h200.txt", "h200-packed.txt", "h200-waves.txt"
FRAMES, PYTHON = "h200-frames.txt", "h200-jztree.txt"
MERGED, MAKING, EXACT = "h200-merged.txt", "h200-making.txt", "xeon-exact-build.txt"
POINTS, RAYS, EPYC = "xeon-two-threads.txt", "xeon-rays.txt", "epyc-two-threads.txt"
SPACE = r"\s+"


def line(*words, take=r"([\d.]+)"):
    """A regular expression of words with any space between; * is one word, ? the figure taken."""
    parts = [{"*": r"\S+", "?": take}.get(word, re.escape(word)) for word in words]
    return "^" + SPACE.join(parts)


def build(builder, setting="rays"):
    return line("build", "blob:1000000", builder, "cuda:0", "n", "*", setting, "?")


def build_cost(builder, device, setting="rays"):
    head = line("build", "blob:1000000", builder, device, "n", "*", setting)
    return head + r".*SAH ([\d.]+),"


# what, ours (template, figures), beside it (template, figures), mode, on, commit. A figure is a file
# and a regular expression that matches there once, whose first group it is; then how many matches are
# expected instead, a factor, and which of them is taken. Last: what a cost is divided by, or None.
GPU, XEON, AMD = "GPU: H200", "CPU: Xeon, 1 thread", "CPU: EPYC, 1 thread"
TABLES = {
    "gpu": [
        (
            "tree of a million triangles, `binned`",
            "{0:.1f} ms at {1:.3f} x the exact tree's SAH cost",
            [(H200, build("kandela")), (H200, build_cost("kandela", "cuda:0"))],
            "exact, 1 thread of a Xeon: {0:.0f} ms",
            [(EXACT, r"^  AVX-512 least +[\d.]+ median +([\d.]+) ms", 0)],
            "exact SAH below, bins above",
            GPU,
            "449d7b0",
            (POINTS, build_cost("sweep", "cpu"), 2),
        ),
        (
            "the same, `zhou`",
            "{0:.1f} ms at {1:.2f} x",
            [(H200, build("zhou")), (H200, build_cost("zhou", "cuda:0"))],
            "",
            [],
            "spatial median above, SAH below",
            GPU,
            "449d7b0",
            (POINTS, build_cost("sweep", "cpu"), 2),
        ),
        (
            "primary rays, bunny",
            "{0:.0f} M/s",
            [(MERGED, r"^now +trace +bunny primary +kandela +cuda:0 +n \d+ +watertight +[\d.]+ ms +([\d.]+) M/s", 3, 1.0, 1)],
            "nodes of the k-d tree: {0:.0f} M/s",
            [(MERGED, r"^now +trace +bunny primary +kandela +cuda:0 +n \d+ +nodes-tiles +[\d.]+ ms +([\d.]+) M/s", 3, 1.0, 2)],
            "watertight",
            GPU,
            "c434993",
            None,
        ),
        (
            "diffuse rays, a million triangles",
            "{0:.0f} M/s",
            [(MAKING, r"^gen:blob:1000000 +form .*diffuse (\d+) ", 0, 1.0, -1)],
            "nodes of the k-d tree, 0cfcbd9: {0:.0f} M/s",
            [(PACKED, r"^\| blob 1M diffuse \| (\d+) \|")],
            "watertight",
            GPU,
            "667c810",
            None,
        ),
        (
            "`path`, Sponza, 1920 x 1080, 16 samples",
            "{0:.2f} s",
            [(WAVES, line("sponza.obj", "render", "?"), 0)],
            "one thread per pixel: {0:.2f} s",
            [(WAVES, line("sponza.obj", "_base", "render", "?"), 0)],
            "watertight",
            GPU,
            "70946b2",
            None,
        ),
        (
            "emission of 10M photons, demo scene",
            "{0:.1f} ms",
            [(FRAMES, r"^frame +cornell_caustic-tiles +sppm +cuda:0 +n 10000000 +emission +k 50 +([\d.]+) ms")],
            "one thread per photon path: {0:.1f} ms",
            [(FRAMES, r"^emission ([\d.]+)\. At f0e0e45")],
            "watertight",
            GPU,
            "0cfcbd9",
            None,
        ),
        (
            "a pass of `sppm`, 1920 x 1080, a million new photons",
            "{0:.1f} ms",
            [(MERGED, r"^now +frame +cornell_caustic.json +sppm +cuda:0 +n 1000000 +whole pass +k 50 +([\d.]+) ms", 2)],
            "",
            [],
            "watertight",
            GPU,
            "c434993",
            None,
        ),
        (
            "8 nearest of each of a million points, CuPy arrays: build, query",
            "{0:.2f}, {1:.2f} ms",
            [(PYTHON, r"^uniform 1000000 k 8 kandela\.Points, CuPy: build ([\d.]+) ms"), (PYTHON, r"^uniform 1000000 k 8 kandela\.Points, CuPy: build [\d.]+ ms, ask ([\d.]+) ms")],
            "CuPy's KDTree: {0:.1f}, {1:.1f} ms; jz-tree, both in one: {2:.1f} ms",
            [(PYTHON, r"^uniform 1000000 k 8 CuPy's KDTree: build ([\d.]+) ms"), (PYTHON, r"^uniform 1000000 k 8 CuPy's KDTree: build [\d.]+ ms, ask ([\d.]+) ms"), (PYTHON, r"^uniform 1000000 k 8 jz-tree, build in ask: build [\d.]+ ms, ask ([\d.]+) ms")],
            "exact",
            GPU,
            "823278e",
            None,
        ),
    ],
    "cpu": [
        (
            "point tree of a million points",
            "{0:.0f} ms",
            [(POINTS, line("kandela", "?"), 2)],
            "CGAL {0:.0f}, nanoflann {1:.0f}, FLANN {2:.0f}",
            [
                (POINTS, r"^CGAL 5\.5\.1 +([\d.]+)", 2),
                (POINTS, r"^nanoflann 1\.4\.2 +([\d.]+)", 2),
                (POINTS, r"^FLANN 1\.9\.2 +([\d.]+)", 2),
            ],
            "exact",
            XEON,
            "4518ec5",
            None,
        ),
        (
            "8 nearest, random queries",
            "{0:.2f} M/s",
            [(POINTS, line("kandela", "*", "?"), 2, 1e-6)],
            "CGAL {0:.2f}, nanoflann {1:.2f}, FLANN {2:.2f}",
            [
                (POINTS, r"^CGAL 5\.5\.1 +[\d.]+ +(\d+)", 2, 1e-6),
                (POINTS, r"^nanoflann 1\.4\.2 +[\d.]+ +(\d+)", 2, 1e-6),
                (POINTS, r"^FLANN 1\.9\.2 +[\d.]+ +(\d+)", 2, 1e-6),
            ],
            "exact",
            XEON,
            "4518ec5",
            None,
        ),
        (
            "diffuse rays, bunny, measured twice",
            "{0:.1f}, {1:.1f} M/s",
            [(RAYS, line("diffuse", "kandela", "?", "Mrays/s"), 8, 1, turn) for turn in (0, 4)],
            "Embree 3.13, one at a time: {0:.1f}, {1:.1f} M/s",
            [(RAYS, line("diffuse", "embree", "?", "Mrays/s"), 8, 1, turn) for turn in (0, 4)],
            "watertight; Embree's fast",
            XEON,
            "449d7b0",
            None,
        ),
        (
            "point tree of a million points",
            "{0:.0f} ms",
            [(EPYC, line("kandela", "?"))],
            "CGAL {0:.0f}, nanoflann {1:.0f}, FLANN {2:.0f}",
            [(EPYC, line("CGAL", "?")), (EPYC, line("nanoflann", "?")), (EPYC, line("FLANN", "?"))],
            "exact",
            AMD,
            "488aaca",
            None,
        ),
        (
            "8 nearest, random queries",
            "{0:.2f} M/s",
            [(EPYC, line("kandela", "*", "?"), 1, 1e-6)],
            "CGAL {0:.2f}, nanoflann {1:.2f}, FLANN {2:.2f}",
            [
                (EPYC, line("CGAL", "*", "?"), 1, 1e-6),
                (EPYC, line("nanoflann", "*", "?"), 1, 1e-6),
                (EPYC, line("FLANN", "*", "?"), 1, 1e-6),
            ],
            "exact",
            AMD,
            "488aaca",
            None,
        ),
    ],
}
PAGES = ("README.md",)
MARKS = re.compile(r"<!-- speed (\w+) -->\n(.*?)<!-- end of speed -->\n", re.DOTALL)


def figure(name, pattern, expected=1, scale=1.0, index=0):
    """The number in a results file; `expected` 0: as many matches as there are, the one at `index`."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        found = re.findall(pattern, file.read(), re.MULTILINE)
    if not found or (expected and len(found) != expected):
        raise SystemExit(f"tools/bench/results/{name}: {len(found)} lines match {pattern}, expected {expected or 'some'}")
    return float(found[index]) * scale


def row(what, ours, figures, beside, others, mode, on, commit, base):
    values = [figure(*each) for each in figures]
    if base:  # the last of ours is a cost, said as a ratio
        values[-1] /= figure(*base)
    files = sorted({each[0] for each in figures})
    text = beside.format(*(figure(*each) for each in others))
    links = ", ".join(f"[{commit}](tools/bench/results/{name})" for name in files)
    return f"| {what} | {ours.format(*values)} | {text} | {mode} | {on} | {links} |"


def table(name):
    if name not in TABLES:
        raise SystemExit(f"no table is named {name}")
    lines = ["| | Kandela | compared with | mode | device | commit, file |", "|-|-|-|-|-|-|"]
    return "\n".join(lines + [row(*each) for each in TABLES[name]]) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    stale, seen = [], set()
    for page in PAGES:
        path = os.path.join(ROOT, page)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        def written(match):
            name, made = match.group(1), table(match.group(1))
            seen.add(name)
            if match.group(2) != made:
                stale.append(f"{page}: the table {name} is not what the results say")
            return f"<!-- speed {name} -->\n{made}<!-- end of speed -->\n"

        text = MARKS.sub(written, text)
        if "--check" not in sys.argv and stale:
            with open(path + ".tmp", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".tmp", path)
    missing = [f"no page has the table {name}" for name in TABLES if name not in seen]
    if "--check" in sys.argv and stale + missing:
        print("\n".join(stale + missing))
        print("tools/bench/results/tables.py writes them")
        return 1
    print(f"{len(seen)} tables are what the results say" if not stale else f"{len(stale)} tables written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
