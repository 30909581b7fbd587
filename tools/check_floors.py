#!/usr/bin/env python3
"""usage: check_floors.py [--self-test] [ROOT]

Checks the rules of the house that a compiler does not see, from the text of all C, CUDA and header
files below ROOT (default: the tree this script lies in). Prints FILE:LINE: what is wrong, and exits
1 if anything is; 2 if there is nothing to check. --self-test proves that each rule can fail.

  floor     an include goes to the same room or to a lower floor, never up or to a sibling
  place     every source lies in a room and quoted includes name a room (a test's neighbour
            needs none); shaders/ holds headers only
  public    include/kandela/ includes kandela/ and standard C headers only
  length    at most 500 lines a file, 60 a function (from its first line to its closing brace)
  name      a file's stem belongs to one room; a header of include/kandela/ or shaders/ may share
            it, as the public face or the view of that room's noun; tests are free
"""

import os
import re
import sys
import tempfile

FLOORS = {
    "include": 0,
    "examples": 1,  # programs of a library's user: they see the public headers only
    "shaders": 1,
    "core": 2,
    "accel": 3,
    "scenes": 4,
    "photon": 5,
    "render": 6,
    "tests": 7,
    "tools": 7,
}
STANDARD = {
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits",
    "locale", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint", "stdio",
    "stdlib", "string", "tgmath", "time", "wchar", "wctype",
}  # fmt: skip
SUFFIXES = (".c", ".h", ".cu", ".cuh", ".cc")
FILE_LINES = 500
FUNCTION_LINES = 60

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]*)"|<([^>]*)>)', re.MULTILINE)
NOT_CODE = re.compile(
    r"//[^\n]*"
    r"|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
ELSE_BRANCH = re.compile(r"^[ \t]*#[ \t]*(?:else|elif)\b")


def blank(match):
    """As many lines as the match has, and nothing on them."""
    return re.sub(r"[^\n]", " ", match.group(0))


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def sources(root):
    """Paths of all sources below root, relative to it, sorted."""
    found = []
    for folder, folders, files in os.walk(root):
        here = os.path.relpath(folder, root)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and not (here == "." and name.startswith("build"))
        ]
        for name in files:
            if name.endswith(SUFFIXES):
                found.append(os.path.normpath(os.path.join(here, name)).replace(os.sep, "/"))
    return sorted(found)


def room_of(path):
    return path.split("/")[0] if "/" in path else ""


def check_includes(path, text):
    room = room_of(path)
    floor = FLOORS[room]
    text = COMMENT.sub(lambda m: m.group(1) or blank(m), text)
    for match in INCLUDE.finditer(text):
        line = line_of(text, match.start() + match.group(0).index("#"))
        quoted, angled = match.groups()
        if room == "include":
            name = quoted or angled
            if not name.startswith("kandela/") and name.removesuffix(".h") not in STANDARD:
                yield line, f"public: a public header includes {name}"
            continue
        target = room_of(quoted) if quoted is not None else room_of(angled)
        is_neighbour = room == "tests" and quoted is not None and "/" not in quoted
        if quoted is not None and target not in FLOORS and not is_neighbour:
            yield line, f'place: "{quoted}" names no room'
        elif target in FLOORS and target != room and FLOORS[target] >= floor:
            way = "up" if FLOORS[target] > floor else "sideways"
            yield line, f"floor: {room}/ includes {quoted or angled}, which goes {way}"


def without_else(text):
    """Keeps the first branch of every conditional, so that braces opened in both close once."""
    lines, depths = [], []  # depths: whether each open conditional is past its first branch
    for line in text.split("\n"):
        directive = re.match(r"[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b", line)
        if directive and directive.group(1) != "endif":
            depths.append(False)
        elif directive and depths:
            depths.pop()
        elif ELSE_BRANCH.match(line) and depths:
            depths[-1] = True
        lines.append("" if any(depths) else line)
    return "\n".join(lines)


def functions(text):
    """(first line, last line, name) of every function body, by counting braces; None if they do not
    close."""
    code = NOT_CODE.sub(blank, text)
    found, stack, begin = [], [], 0
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        in_function = any(stack)
        if match.group(0) == "{":
            header = code[begin:at]
            name = re.search(r"\b(?!__)(\w+)\s*\(", header)
            is_body = (
                not in_function
                and name is not None
                and "=" not in header
                and re.search(r"\)\s*(?:const|noexcept)?\s*$", header) is not None
            )
            start = begin + len(header) - len(header.lstrip())
            stack.append((line_of(code, start), name.group(1)) if is_body else None)
        elif match.group(0) == "}":
            if not stack:
                return None
            opened = stack.pop()
            if opened:
                found.append((opened[0], line_of(code, at), opened[1]))
        if not any(stack):
            begin = at + 1
    return None if stack else found


def check_lengths(path, text):
    count = text.count("\n") + (not text.endswith("\n"))
    if count > FILE_LINES:
        yield FILE_LINES + 1, f"length: {count} lines, at most {FILE_LINES}"
    found = functions(text)
    if found is None:
        found = functions(without_else(text))
    if found is None:
        yield 1, "length: the braces do not match, functions cannot be measured"
        return
    for first, last, name in found:
        lines = last - first + 1
        if lines > FUNCTION_LINES:
            yield first, f"length: {name} has {lines} lines, at most {FUNCTION_LINES}"


def check_names(paths):
    owners = {}
    for path in paths:
        room = room_of(path)
        stem = os.path.splitext(os.path.basename(path))[0]
        if room in ("include", "shaders", "tests") or room not in FLOORS:
            continue
        folder = os.path.dirname(path)
        owner = owners.setdefault(stem, folder)
        if owner != folder:
            yield path, 1, f"name: {owner}/ has a file of the stem {stem} too"


def check(root):
    """All violations as (path, line, text), sorted, and the number of files."""
    paths = sources(root)
    found = list(check_names(paths))
    for path in paths:
        room = room_of(path)
        if room not in FLOORS:
            found.append((path, 1, "place: lies in no room: " + ", ".join(FLOORS)))
            continue
        if room == "shaders" and not path.endswith((".h", ".cuh")):
            found.append((path, 1, "place: shaders/ holds headers only"))
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        for line, what in [*check_includes(path, text), *check_lengths(path, text)]:
            found.append((path, line, what))
    return sorted(found), len(paths)


def body(lines, head="int long_one(void)"):
    """A function of so many lines."""
    return head + " {\n" + "    call();\n" * (lines - 2) + "}\n"


GOOD = {
    "include/kandela/noun.h": "#include <kandela/status.h>\n#include <stdint.h>\n",
    "shaders/noun.h": '#include "shaders/vec3.h"\n#include <math.h>\n',
    "core/noun.c": '#include "core/noun.h"\n#include <kandela/noun.h>\n#include <unistd.h>\n',
    "core/noun.h": '#include "shaders/noun.h"\n/* #include "render/later.h" */\n',
    "accel/tree.c": '#include "core/noun.h"\n' + body(60),
    "scenes/mesh.c": "/* " + "\n" * 496 + ' */\nchar brace = \'{\';\nconst char *s = "}{";\n',
    "photon/map.c": '#include "accel/tree.h"\n#include "scenes/mesh.h"\n',
    "render/film.c": '#include "photon/map.h"\nstruct big {\n' + "    int a;\n" * 80 + "};\n"
    "#ifdef A\nint two(int a) {\n#else\nint two(void) {\n#endif\n    return 1;\n}\n",
    "tests/core/noun.c": '#include "tests/test.h"\n#include "cases.h"\n#include "render/film.h"\n',
    "tools/verb.c": '#include "tools/verb.h"\n#include "core/noun.h"\n',
}
# path, text, line, rule: each added alone to GOOD gives this one violation
BAD = [
    ("core/up.c", '\n#include "render/film.h"\n', 2, "floor"),
    ("accel/up.cu", '#include "photon/map.h"\n', 1, "floor"),
    ("accel/sideways.c", '  #  include "scenes/mesh.h"\n', 1, "floor"),
    ("tools/sideways.c", '#include "tests/test.h"\n', 1, "floor"),
    ("shaders/up.h", '// x\n#include "core/status.h"\n', 2, "floor"),
    ("shaders/angled.h", "#include <core/status.h>\n", 1, "floor"),
    ("shaders/source.c", "", 1, "place"),
    ("core/near.c", '#include "near.h"\n', 1, "place"),
    ("attic/old.c", "", 1, "place"),
    ("examples/nosy.c", '#include "core/memory.h"\n', 1, "floor"),
    ("lonely.c", "", 1, "place"),
    ("include/kandela/bad.h", "#include <stdio.h>\n#include <unistd.h>\n", 2, "public"),
    ("include/kandela/worse.h", '#include "core/status.h"\n', 1, "public"),
    ("core/endless.c", "\n" * 501, 501, "length"),
    ("core/long.c", "int x;\n\n" + body(61), 3, "length"),
    ("core/wide.c", body(61, "static int\nwide(int a,\n     int b)"), 1, "length"),
    ("core/kernel.cu", body(62, "__global__ void __launch_bounds__(64) k(int a)"), 1, "length"),
    ("core/extern.c", 'extern "C" {\n' + body(61) + "}\n", 2, "length"),
    ("core/table.c", "int t[] = {\n    1,\n};\n" + body(70), 4, "length"),
    ("core/open.c", "int f(void) {\n", 1, "length"),
    ("render/mesh.h", "", 1, "name"),
]


def write_tree(root, files):
    for path, text in files.items():
        place = os.path.join(root, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)


def self_test():
    failures = 0
    cases = [(None, None, None, None), *BAD]
    for path, text, line, rule in cases:
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, GOOD if path is None else {**GOOD, path: text})
            found, _ = check(root)
        # the later of two files of one name is the one reported
        reported = [(where, number, what.split(":")[0]) for where, number, what in found]
        expected = [] if path is None else [(path, line, rule)]
        if rule == "name":
            expected = [("scenes/mesh.c", 1, rule)]
        if reported != expected:
            failures += 1
            print(f"self-test: {path or 'the good tree'}: {found}, expected {expected}")
    print(f"self-test: {len(cases) - failures} of {len(cases)} cases hold")
    return 1 if failures else 0


def main(arguments):
    if "-h" in arguments or "--help" in arguments:
        print(__doc__.strip())
        return 0
    if "--self-test" in arguments:
        return self_test()
    root = arguments[0] if arguments else os.path.join(os.path.dirname(__file__), "..")
    found, count = check(root)
    for path, line, what in found:
        print(f"{path}:{line}: {what}")
    if not count:
        print(f"check_floors.py: no sources below {root}", file=sys.stderr)
        return 2
    if not found:
        print(f"{count} files keep to their floors")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
