#!/usr/bin/env python3
"""usage: check_rules.py TOOLS

Each rule of check_layers.py, in the folder TOOLS, detects its violation and reports file and line.
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from check_layers import DIRECTORY_FILES, check


def body(lines, head="int long_one(void)"):
    """Return a function with this number of lines."""
    return head + " {\n" + "    call();\n" * (lines - 2) + "}\n"


GOOD = {
    "include/kandela/noun.h": "#include <kandela/status.h>\n#include <stdint.h>\n",
    "shaders/noun.h": '#include "core/math/geometry.h"\n#include "accel/tree/walk.h"\n#include <math.h>\n',
    "core/math/geometry.h": "#include <math.h>\n",
    "core/noun.c": '#include "core/noun.h"\n#include <kandela/noun.h>\n#include <unistd.h>\n',
    "core/noun.h": '/* #include "render/frame/film.h" */\n',
    "core/device/cuda.cuh": '#include "core/noun.h"\n',
    "accel/tree/walk.h": '#include "core/noun.h"\n' + body(60),
    "accel/sweep/sweep.h": '#include "accel/tree/walk.h"\n',
    "accel/sweep/place.h": "",
    "accel/zhou/place.h": "",
    "accel/rays/batch_loops.cuh": '#include "core/device/cuda.cuh"\n',
    "accel/builders.c": '#include "accel/sweep/sweep.h"\n',
    "points/tree/inorder.cuh": "",
    "scenes/mesh/mesh.c": "/* " + "\n" * 496 + ' */\nchar brace = \'{\';\nconst char *s = "}{";\n',
    "scenes/mesh/mesh.h": "",
    "photon/maps/map.c": '#include "accel/tree/walk.h"\n#include "shaders/noun.h"\n',
    "photon/maps/map.h": '#include "points/tree/inorder.cuh"\n',
    "render/frame/film.c": '#include "photon/maps/map.h"\nstruct big {\n' + "    int a;\n" * 80 + "};\n"
    "#ifdef A\nint two(int a) {\n#else\nint two(void) {\n#endif\n    return 1;\n}\n",
    "render/frame/develop.c": "int kodak_open(int a) {\n    return a;\n}\n",
    "render/frame/film.h": "int kodak_open(int a);\n#define FILM_ROWS(ROW) \\\n    ROW(kodak) ROW(fuji)\n",
    "photon/density/estimators.h": "#define PHOTON_LOOKUP_ROWS(ROW) ROW(WALK, walk, true)\n",
    "tests/test.h": "",
    "tests/cases.h": "",
    "tests/core/noun.c": '#include "tests/test.h"\n#include "cases.h"\n#include "render/frame/film.h"\n',
    "tools/lab/bench/bench.c": '#include "accel/sweep/sweep.h"\n#include "core/noun.h"\n',
    "README.md": "\n" * 120,
    "core/math/README.md": "| file | what |\n|-|-|\n| `geometry.h` | three floats |\n",
    "core/device/README.md": "No table.\n",
}
# path, text, line, rule: each file, added alone to GOOD, gives exactly this violation
BAD = [
    ("core/up.c", '\n#include "render/frame/film.h"\n', 2, "layer"),
    ("core/above.c", '#include "core/math/geometry.h"\n', 1, "layer"),
    ("accel/tree/up.cu", '#include "photon/maps/map.h"\n', 1, "layer"),
    ("accel/tree/rival.c", '  #  include "accel/sweep/sweep.h"\n', 1, "layer"),
    ("tools/lab/bench/sideways.c", '#include "tests/test.h"\n', 1, "layer"),
    ("shaders/up.h", '// x\n#include "render/frame/film.h"\n', 2, "layer"),
    ("core/angled.h", "#include <render/frame/film.h>\n", 1, "layer"),
    ("render/frame/nosy.c", '#include "accel/sweep/sweep.h"\n', 1, "private"),
    ("render/frame/loops.cu", '#include "accel/rays/batch_loops.cuh"\n', 1, "cuda"),
    ("shaders/source.c", "", 1, "place"),
    ("core/near.c", '#include "near.h"\n', 1, "place"),
    ("core/attic/old.c", "", 1, "place"),
    ("python/ext/nosy.cc", '#include "core/noun.h"\n', 1, "layer"),
    ("examples/nosy.c", '#include "core/noun.h"\n', 1, "layer"),
    ("lonely.c", "", 1, "place"),
    ("include/kandela/bad.h", "#include <stdio.h>\n#include <unistd.h>\n", 2, "public"),
    ("include/kandela/worse.h", '#include "core/noun.h"\n', 1, "public"),
    ("render/frame/named.c", 'int a(void) {\n    return strcmp(of->name, "fuji");\n}\n', 2, "rows"),
    ("core/choosy.c", 'int a(void) {\n    return strcmp(name, "auto");\n}\n', 2, "rows"),
    ("core/higher.h", "\nint kodak_open(int a);\n", 2, "home"),
    ("core/device/higher.h", "KD_DEVICE_CALL(kodak_open, (int a));\n", 1, "home"),
    ("accel/tree/seen.h", "typedef struct tree_view {\n    int (*cast)(int a);\n} tree_view;\n", 1, "view"),
    ("core/knomodule.c", "/* photons */\nint photons_stored = 1;\n", 2, "words"),
    ("core/asking.c", "int a(void) {\n    return getenv(name) != 0;\n}\n", 2, "environment"),
    ("core/endless.c", "\n" * 501, 501, "length"),
    ("core/long.c", "int x;\n\n" + body(61), 3, "length"),
    ("core/wide.c", body(61, "static int\nwide(int a,\n     int b)"), 1, "length"),
    ("core/kernel.cu", body(62, "__global__ void __launch_bounds__(64) k(int a)") + "/* Data flow: none. */\n", 1,
     "length"),
    ("core/extern.c", 'extern "C" {\n' + body(61) + "}\n", 2, "length"),
    ("core/table.c", "int t[] = {\n    1,\n};\n" + body(70), 4, "length"),
    ("core/open.c", "int f(void) {\n", 1, "length"),
    ("core/kernels.cu", "/* Sorts. */\n__global__ void sort(int *list) {\n}\n", 1, "fields"),
    ("core/glued.h", "/* Sorts.\n   Source: Knuth 1973. Idea: it is sorted. */\n", 2, "fields"),
    ("core/lost.c", "/* As\n   math/geometry.h, noun.h, <unistd.h> and core/gone.cuh do. */\n#include <unistd.h>\n", 2, "files"),
    ("scenes/text/mesh.h", "", 1, "name"),
    ("core/retired.c", "\nint node_room = 1;\n", 2, "retired"),
    ("core/limits.h", "enum { NODES_MOST = 1 };\n", 1, "retired"),
    ("core/spoken.c", "/* Sorts.\n   It is for its own wing. */\n", 2, "retired"),
    ("docs/page.md", "Photons\nthat strayed.\n", 2, "retired"),
    ("core/valued.c", "/* --lookup walk\n   and --lookup index */\n", 2, "options"),
    ("docs/options.md", "`--lookup index`\n", 1, "options"),
    ("core/README.md", "\n" * 121, 121, "crowd"),
    ("core/math/unnamed.h", "", 1, "page"),
]


def write_tree(root, files):
    for path, text in files.items():
        place = os.path.join(root, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)


def self_test():
    failures = 0
    crowd = {f"core/file_{i:02}.h": "" for i in range(DIRECTORY_FILES)}
    cases = [({}, []), (crowd, [("core/noun.h", 1, "crowd")])]
    cases += [({path: text}, [(path, line, rule)]) for path, text, line, rule in BAD]
    for added, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, {**GOOD, **added})
            found, _ = check(root)
        reported = [(where, number, what.split(":")[0]) for where, number, what in found]
        # of two files with the same name, the rule may report either one
        if reported != expected and [one[2] for one in reported] != [one[2] for one in expected]:
            failures += 1
            print(f"{list(added)}: {found}, expected {expected}")
    print(f"{len(cases) - failures} of {len(cases)} cases hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(self_test())
