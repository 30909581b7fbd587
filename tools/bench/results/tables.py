#!/usr/bin/env python3
"""usage: tables.py [--check]

Writes the speed tables of README.md (`summary`) and docs/speed.md (`cpu`, `gpu`) from the results
files in this folder, between the lines
    <!-- speed NAME -->  and  <!-- end of speed -->
With --check the script writes nothing. It exits with 1 if a table differs from the results files or
if no page contains it. Every row names its device and links its file under the commit measured.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
H200, PACKED, WAVES = "h200.txt", "h200-packed.txt", "h200-waves.txt"
FRAMES, PYTHON, WARP = "h200-frames.txt", "h200-jztree.txt", "h200-warp.txt"
MERGED, MAKING, EXACT = "h200-merged.txt", "h200-making.txt", "xeon-exact-build.txt"
OPENING, REQUESTS = "h200-opening.txt", "h200-requests.txt"
POINTS, EPYC = "xeon-two-threads.txt", "epyc-two-threads.txt"
RAYS, KIDDO, SCIPY = "xeon-alone-peers.txt", "xeon-kiddo.txt", "xeon-python.txt"
SPACE = r"\s+"


def line(*words, take=r"([\d.]+)"):
    """Return a regular expression for words separated by spaces; * matches any word, ? captures the
    figure."""
    parts = [{"*": r"\S+", "?": take}.get(word, re.escape(word)) for word in words]
    return "^" + SPACE.join(parts)


def build(builder, setting="rays"):
    return line("build", "blob:1000000", builder, "cuda:0", "n", "*", setting, "?")


def build_cost(builder, device, setting="rays"):
    head = line("build", "blob:1000000", builder, device, "n", "*", setting)
    return head + r".*SAH ([\d.]+),"


def within(block, pattern):
    """Return a pattern for the first line that matches `pattern` after the line `block`."""
    return "^" + re.escape(block) + r"\n(?:.*\n)*?" + pattern


# First lines of blocks in results files, then patterns for columns of the programs' output.
BUNNY, MILLION = "== bunny, now, beside Embree 4.4.0", "== compare_knn  1000000: --k 1,8, then --k 1,50"
ALONE = MILLION.replace("compare_knn ", "compare_knn --alone")
RATE = r" +([\d.]+) Mrays/s"  # in output of compare_embree
K1, K8 = r" +[\d.]+ +(\d+)", r" +[\d.]+ +\d+ +\d+ \([\d.]+\) +(\d+)"  # in output of compare_knn, for random queries
FIRST, SECOND = r" +([\d.]+)", r" +[\d.]+ +(\d+)"  # numbers after a name
POVRAY = r"^`tools/compare_povray 2`: POV-Ray [\d,]+ photons shot in [\d.]+ s \("
THREE, VERSIONS = ("CGAL", "nanoflann", "FLANN"), (r"CGAL 5\.5\.1", r"nanoflann 1\.4\.2", r"FLANN 1\.9\.2")
FOUR = ("kiddo", "kiddo flat", "kiddo blocks", "PicoTree")


# A row: task; Kandela's result (template, figures); the other libraries' results (template, figures);
# mode; device; commit; and the figure by which a cost is divided, if any. A figure is the name of a file
# and a regular expression that matches once in it; the first group is the value. Optional: the number of
# matches expected instead of one (0: any number), a factor, and the index of the match to use.
def peers(what, ours, others, names, file, begin, end, *rest):
    """Return the first columns of a row: Kandela's figure and that of each name, between two patterns.
    `rest`: of the figures."""
    mine, *theirs = ((file, begin + name + end, *rest) for name in ("kandela", *names))
    return what, ours, [mine], others, theirs


def rays(what, kind, others, names):
    """Return the first columns of a row of compare_embree, in batches and one ray per call."""
    mine, alone, *theirs = ((RAYS, within(BUNNY, f"{kind} +{name}" + RATE)) for name in ("kandela", "kandela single", *names))
    return what, "{0:.1f} M/s, one per call {1:.1f}", [mine, alone], others, theirs


GPU, XEON, AMD = "GPU: H200", "CPU: Xeon, 1 thread", "CPU: EPYC, 1 thread"
SHARED = "CPU: shared Xeon, 1 thread"
IN_MILLION, IN_ALONE = within(MILLION, ""), within(ALONE, "")  # a name follows
PYTHON_K8 = (r"^uniform +3-D float32 own +k +8 .*?\b", r" [\d.]+ ([\d.]+)")
EMBREE = "Embree 4.4: {0:.1f}, robust {1:.1f}"
SUMMARY = [
    (*peers("build a k-d tree, 1M points", "{0:.0f} ms", "kiddo {0:.0f}, PicoTree {1:.0f}",
            ("kiddo blocks", "PicoTree"), KIDDO, IN_MILLION, FIRST), "Xeon", "3fbbfc3"),
    (*peers("the same", "{0:.0f} ms", "CGAL {0:.0f}, nanoflann {1:.0f}", VERSIONS[:2], POINTS, "^", FIRST, 2), "Xeon", "4518ec5"),
    (*peers("8 nearest, one batch of random queries", "{0:.2f} M/s", "kiddo {0:.2f}, PicoTree {1:.2f}",
            ("kiddo flat", "PicoTree"), KIDDO, IN_MILLION, K8, 1, 1e-6), "Xeon", "3fbbfc3"),
    (*peers("1 nearest, one random query per call", "{0:.2f} M/s", "kiddo {0:.2f}, PicoTree {1:.2f}",
            ("kiddo flat", "PicoTree"), KIDDO, IN_ALONE, K1, 1, 1e-6), "Xeon", "3fbbfc3"),
    (*peers("8 nearest in Python, 200K points", "{0:.1f} us/query", "pynanoflann {0:.1f}, SciPy {1:.1f}",
            ("pynanoflann", "scipy"), SCIPY, *PYTHON_K8, 0), "Xeon", "4739739"),
    (*peers("diffuse rays, bunny, one batch", "{0:.1f} M/s", EMBREE, ("embree", "embree robust"),
            RAYS, within(BUNNY, "diffuse +"), RATE), "Xeon", "65e8eda"),
    ("the same, one ray per call", "{0:.1f} M/s", [(RAYS, within(BUNNY, "diffuse +kandela single" + RATE))], EMBREE,
     [(RAYS, within(BUNNY, f"diffuse +{name}" + RATE)) for name in ("embree", "embree robust")], "Xeon", "65e8eda"),
    (
        "build, then 8 nearest of all 1M points",
        "{0:.1f} ms",
        [(PYTHON, r"^uniform 1000000 k 8 kandela\.Points, CuPy: build ([\d.]+) ms, ask ([\d.]+) ms")],
        "jz-tree {0:.1f}, CuPy {1:.1f}",
        [
            (PYTHON, r"^uniform 1000000 k 8 jz-tree, build in ask: build [\d.]+ ms, ask ([\d.]+) ms"),
            (PYTHON, r"^uniform 1000000 k 8 CuPy's KDTree: build ([\d.]+) ms, ask ([\d.]+) ms"),
        ],
        "H200",
        "823278e",
    ),
]
TREE, EIGHT = "point tree of a million points", "8 nearest, random queries"
KIDDO_RATES = "kiddo {0:.2f}, flat {1:.2f}, Donnelly {2:.2f}, PicoTree {3:.2f}"
RAY_PEERS = "Embree 4.4.0: {0:.1f}, robust {1:.1f}; tinybvh {2:.1f}", ("embree", "embree robust", "tinybvh 8")
RAY_MODE = "watertight; Embree's fast and robust", SHARED, "65e8eda"
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
            "opening a million triangles in device memory, until rays can be cast",
            "{0:.1f} ms",
            [(OPENING, r"^new +trace +blob:1000000 +auto +cuda:0 +n 1002252 +open +([\d.]+) ms", 2)],
            "",
            [],
            "exact SAH below, bins above",
            GPU,
            "4db0e432",
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
        ),
        (
            "emission of 10M photons, demo scene",
            "{0:.1f} ms",
            [(REQUESTS, r"^new +photons +cornell_caustic.json +kandela +cuda:0 +n 10000000 +emission +([\d.]+) ms", 2)],
            "one thread per photon path, 0cfcbd9: {0:.1f} ms",
            [(FRAMES, r"^emission ([\d.]+)\. At f0e0e45")],
            "watertight",
            GPU,
            "397c20ad",
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
        ),
        (
            "10M lidar rays in 1,000 worlds of 12 meshes, closest hits",
            "{0:.2f} ms",
            [(WARP, r"^Kandela, 82e39a31, another run +closest +([\d.]+) ms")],
            "Warp: one mesh with groups {0:.2f}, a loop over the meshes {1:.2f}, a mesh per world {2:.2f} ms",
            [(WARP, rf"^{name}, lbvh(?:, leaves 4)? +closest +([\d.]+) ms") for name in ("one mesh with groups", "loop over instances", "a mesh per world")],
            "watertight",
            GPU,
            "82e39a31",
        ),
    ],
    "cpu": [
        (*peers(TREE, "{0:.0f} ms", "CGAL {0:.0f}, nanoflann {1:.0f}, FLANN {2:.0f}", VERSIONS, POINTS, "^", FIRST, 2),
         "exact", XEON, "4518ec5"),
        (*peers(EIGHT, "{0:.2f} M/s", "CGAL {0:.2f}, nanoflann {1:.2f}, FLANN {2:.2f}", VERSIONS, POINTS, "^", SECOND, 2, 1e-6),
         "exact", XEON, "4518ec5"),
        (*peers(TREE, "{0:.0f} ms", "kiddo {0:.0f}, flat {1:.0f}, Donnelly {2:.0f}, PicoTree {3:.0f}", FOUR, KIDDO, IN_MILLION, FIRST),
         "exact", SHARED, "3fbbfc3"),
        (*peers(EIGHT, "{0:.2f} M/s", KIDDO_RATES, FOUR, KIDDO, IN_MILLION, K8, 1, 1e-6), "exact", SHARED, "3fbbfc3"),
        (*peers("1 nearest, one random query per call", "{0:.2f} M/s", KIDDO_RATES, FOUR, KIDDO, IN_ALONE, K1, 1, 1e-6),
         "exact", SHARED, "3fbbfc3"),
        (*rays("primary rays, bunny", "primary", "Embree 4.4.0: {0:.1f}, robust {1:.1f}, packets {2:.1f}; tinybvh {3:.1f}",
               ("embree", "embree robust", "embree packets", "tinybvh 8")), *RAY_MODE),
        (*rays("diffuse rays, bunny", "diffuse", *RAY_PEERS), *RAY_MODE),
        (*rays("short occlusion rays, bunny", "ao-any", *RAY_PEERS), *RAY_MODE),
        (*rays("rays through edges and vertices, bunny", "hard", *RAY_PEERS), *RAY_MODE),
        (
            "photons shot, `cornell_caustic.json`, 2 threads",
            "{0:.2f} M/s",
            [(RAYS, POVRAY + r".*Kandela [\d,]+ in [\d.]+ s \(([\d.]+) M/s\)\.$")],
            "POV-Ray 3.7: {0:.2f} with spheres, {1:.2f} with triangles",
            [(RAYS, POVRAY + r"([\d.]+) M/s, balls as spheres\)"), (RAYS, POVRAY + r".* s with its parsing \(([\d.]+) M/s")],
            "triangles",
            "CPU: Xeon (AVX-512), 2 threads",
            "afe81a7",
        ),
        (*peers(TREE, "{0:.0f} ms", "CGAL {0:.0f}, nanoflann {1:.0f}, FLANN {2:.0f}", THREE, EPYC, "^", FIRST), "exact", AMD, "488aaca"),
        (*peers(EIGHT, "{0:.2f} M/s", "CGAL {0:.2f}, nanoflann {1:.2f}, FLANN {2:.2f}", THREE, EPYC, "^", SECOND, 1, 1e-6),
         "exact", AMD, "488aaca"),
    ],
}
PAGES = ("README.md", "docs/speed.md")
MARKS = re.compile(r"<!-- speed (\w+) -->\n(.*?)<!-- end of speed -->\n", re.DOTALL)


def figure(name, pattern, expected=1, scale=1.0, index=0):
    """Returns the number in a results file, times `scale`; of a pattern with several groups, their sum."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        found = re.findall(pattern, file.read(), re.MULTILINE)
    if not found or (expected and len(found) != expected):
        raise SystemExit(f"tools/bench/results/{name}: found {len(found)} lines that match {pattern}, expected {expected or 'some'}")
    groups = found[index] if isinstance(found[index], tuple) else (found[index],)
    return sum(float(group) for group in groups) * scale


def row(what, ours, figures, beside, others, mode, on, commit, base=None):
    values = [figure(*each) for each in figures]
    if base:  # the last figure is a cost; the table shows its ratio to that of `base`
        values[-1] /= figure(*base)
    files = sorted({each[0] for each in figures})
    text = beside.format(*(figure(*each) for each in others))
    links = ", ".join(f"[{commit}](../tools/bench/results/{name})" for name in files)
    return f"| {what} | {ours.format(*values)} | {text} | {mode} | {on} | {links} |"


def summary():
    """Returns README's table, whose rows have at most 100 columns, with its links defined below it."""
    lines, links = ["| task | Kandela | others | device | measured at |", "|-|-|-|-|-|"], {}
    for what, ours, figures, beside, others, on, commit in SUMMARY:
        mine, theirs = (text.format(*(figure(*each) for each in values)) for text, values in ((ours, figures), (beside, others)))
        links[commit] = figures[0][0]
        lines.append(f"| {what} | {mine} | {theirs} | {on} | [{commit}] |")
    return "\n".join(lines + [""] + [f"[{commit}]: tools/bench/results/{name}" for commit, name in links.items()]) + "\n"


def table(name):
    if name == "summary":
        return summary()
    if name not in TABLES:
        raise SystemExit(f"unknown table {name}")
    lines = ["| task | Kandela | others | mode | device | measured at |", "|-|-|-|-|-|-|"]
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
                stale.append(f"{page}: the table {name} differs from the results files")
            return f"<!-- speed {name} -->\n{made}<!-- end of speed -->\n"

        text = MARKS.sub(written, text)
        if "--check" not in sys.argv and stale:
            with open(path + ".tmp", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".tmp", path)
    missing = [f"no page has the table {name}" for name in ("summary", *TABLES) if name not in seen]
    if "--check" in sys.argv and stale + missing:
        print("\n".join(stale + missing))
        print("run tools/bench/results/tables.py to write them")
        return 1
    print(f"{len(seen)} tables agree with the results files" if not stale else f"{len(stale)} tables written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
