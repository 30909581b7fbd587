#!/usr/bin/env python3
"""usage: check_layers.py [--list] [ROOT]

Checks rules of the project that a compiler cannot check, in the text of all C, CUDA and header files
below ROOT (default: the checkout that contains this script). Prints FILE:LINE: message for each
violation and exits with 1 if there is one, with 2 if there are no files. --list prints the directories
from the lowest layer up, with files and lines.

  layer     DIRECTORIES lists the directories from the lowest layer up. A file may include files of its
            own directory and of earlier ones; modules of tests, tools and examples do not include each
            other's files
  private   headers of PRIVATE directories are included in their module only, and by tools and tests
  cuda      a .cuh is included in its module only, except those of core and PUBLIC_CUH
  place     every source is in a directory; quoted includes name a file of the project (a test may name
            a file next to it without directory); shaders/ contains headers only
  public    include/kandela/ includes only kandela/ and standard C headers
  rows      the name of a table row (NAME_ROWS in the table's header lists them) is compared nowhere:
            other code reads a flag of the row. "auto" occurs in core/names.h only
  home      what a header declares is defined in its directory or a lower one; otherwise its includers
            would call a higher layer
  view      a struct named NAME_view contains no function pointer, through which its users could call
            a higher layer
  words     a module does not name higher ones: no identifier contains one of their words (WORDS)
  environment  only core/system/*_paths.c calls getenv, and ignores it in a program with more rights
            than its user; other files call place_variable
  length    a file has at most 500 lines, a function at most 60 (from its first line to its closing
            brace)
  fields    a field of a file's first comment (FIELDS) begins a line. A file with kernels has the field
            Data flow: who writes what, who reads it, in which order, by which threads
  crowd     a directory has at most 25 sources, a README.md at most 120 lines
  page      the README.md of a directory, if it contains a table, names each source of the directory
  files     a source file named in a comment exists, except those of other projects (FOREIGN_FILES)
            and those that the file includes by <...>
  retired   no name outside of tests contains a retired word (RETIRED), no comment and no page one of
            RETIRED_TEXT
  options   an option value in a comment or a page (--lookup walk) is valid (OPTION_TABLES)
  name      a file stem occurs in one directory of a module only, except names of stages, which
            alternative builders share
"""

import os
import re
import sys

# From the lowest layer up. The directory of a module itself contains its table and is above the directories that it names.
DIRECTORIES = """
    include/kandela include/kandela/mpi
    core/system core core/math core/parallel core/files core/device core/image core/image_processing
    distributed/ranks
    points/tree points/clouds points/papers points/select points/neighbours points/brute points/api distributed/points
    accel/tree accel/sweep accel/zhou accel/wide accel/rays accel
    shaders
    photon/emission photon/density photon/maps
    scenes/text scenes/mesh scenes/formats scenes/import
    scenes/describe scenes/sky scenes/assembly scenes/check
    render/frame render/photon_mapping render/integrators distributed/render render/api
    tools/program/serve tools/program tools/lab/bench tools/lab tools/peers
""".split()
LAYERS = {directory: layer for layer, directory in enumerate(DIRECTORIES)}
GENERATED = ("tools/commit.h", "tools/report_script.h", "tools/report_drawing_script.h", "tools/live_page.h")
ALONE = ("examples", "python", "tests")  # modules that may include any directory, but that no other module includes
PRIVATE = """
    points/papers accel/sweep accel/zhou
    scenes/text scenes/formats scenes/import
""".split()
PUBLIC_CUH = ("points/tree/inorder.cuh", "accel/wide/compressed_loops.cuh", "accel/rays/lane_closest.cuh")
MAY_SEE_PRIVATE = ("tests", "tools")  # modules that may include from private directories, to measure and to test
FIELDS = "Source|Idea|Data flow|Work|Memory|Invariants|Differs[a-z ]*"
STAGES = "large_nodes small_nodes state place bottom partition lists clip bins stages".split()
STANDARD = {
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits",
    "locale", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint", "stdio",
    "stdlib", "string", "tgmath", "time", "wchar", "wctype",
}  # fmt: skip
# Terms of higher modules that must not occur in a module's identifiers. (shaders/ may say photon:
# it emits them.)
WORDS = {
    "core": ("pointtree", "tritree", "photon", "integrator"),
    "points": ("tritree", "photon", "integrator"),
    "accel": ("photon", "integrator"),
    "shaders": ("integrator",),
}
SUFFIXES = (".c", ".h", ".cu", ".cuh", ".cc")
FOREIGN_FILES = "winsock2.h windows.h unistd.h stdio.h mpi.h src/Ipc.cpp include/linux/uaccess.h".split()
FILE_LINES = 500
FUNCTION_LINES = 60
DIRECTORY_FILES = 25
PAGE_LINES = 120

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
    """Return the match with everything but line ends blanked out."""
    return re.sub(r"[^\n]", " ", match.group(0))


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def is_left_out(here, name):
    return name.startswith(".") or (here == "." and name.startswith("build"))


def sources(root, suffixes=SUFFIXES):
    """Return the sorted paths of all sources below root, relative to it."""
    found = []
    for folder, folders, files in os.walk(root):
        here = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if not is_left_out(here, name)]
        for name in files:
            if name.endswith(suffixes):
                found.append(os.path.normpath(os.path.join(here, name)).replace(os.sep, "/"))
    return sorted(found)


def module_of(path):
    return path.split("/")[0]


def capacity_of(path):
    """Return the directory of a file; for tests, python and examples, the module."""
    return module_of(path) if module_of(path) in ALONE else os.path.dirname(path)


def check_public(directory, name):
    if not name.startswith("kandela/") and name.removesuffix(".h") not in STANDARD:
        yield f"public: a public header includes {name}"


def check_step(path, target):
    """Return the error in an include of the project's file `target`, or None."""
    directory, to = capacity_of(path), capacity_of(target)
    if to == directory:
        return
    if to in ALONE or (directory in ("examples", "python") and to != "include/kandela"):
        yield f"layer: {directory}/ includes {target}, which goes sideways"
    elif directory not in ALONE and LAYERS[to] > LAYERS[directory]:
        yield f"layer: {directory}/ includes {target}, which goes up"
    elif to in PRIVATE and module_of(path) not in (module_of(target), *MAY_SEE_PRIVATE):
        yield f"private: {target} is for {module_of(target)}/ alone"
    elif target.endswith(".cuh") and target not in PUBLIC_CUH:
        if module_of(path) not in (module_of(target), *MAY_SEE_PRIVATE) and module_of(target) != "core":
            yield f"cuda: {target} is for {module_of(target)}/ alone"


def check_includes(path, text, files):
    directory = capacity_of(path)
    text = COMMENT.sub(lambda m: m.group(1) or blank(m), text)
    for match in INCLUDE.finditer(text):
        line = line_of(text, match.start() + match.group(0).index("#"))
        quoted, angled = match.groups()
        name = quoted if quoted is not None else angled
        if directory == "include/kandela":
            for what in check_public(directory, name):
                yield line, what
            continue
        if name.startswith("kandela/"):
            continue
        if angled is not None and module_of(angled) not in {module_of(known) for known in LAYERS}:
            continue
        if name in files or capacity_of(name) in LAYERS:
            for what in check_step(path, name):
                yield line, what
        elif quoted is not None and name not in GENERATED and not (directory == "tests" and is_test_neighbour(path, name, files)):
            yield line, f'place: "{quoted}" names no file of the project'


def is_test_neighbour(path, name, files):
    return os.path.normpath(os.path.join(os.path.dirname(path), name)) in files or (
        "tests/" + name in files or "/" not in name
    )


ROWS = re.compile(r"#define \w+_ROWS\(ROW\)((?:[^\n]*\\\n)*[^\n]*)")
COMPARED = re.compile(r'\bstrcmp\([^;{}]*?"(\w+)"\)')


def row_names(texts):
    """Return a map from each name that a table lists to the file of the table."""
    names = {"auto": "core/names.h"}
    for path, text in texts.items():
        for match in ROWS.finditer(text):
            for words in re.findall(r"ROW\(([^)]*)\)", match.group(1)):
                for name in re.findall(r"\b[a-z]\w*", words):
                    if name not in ("true", "false"):
                        names[name] = path
    return names


def check_rows(path, text, names):
    if module_of(path) in ALONE:
        return
    for match in COMPARED.finditer(text):
        if names.get(match.group(1), path) != path:
            where = names[match.group(1)]
            yield line_of(text, match.start()), f'rows: "{match.group(1)}" is a row of {where}'


DEFINED = re.compile(
    r"^(?!static\b|typedef\b|return\b|else\b)\w[\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE
)
DECLARED = re.compile(
    r"^(?!static\b|typedef\b|return\b|else\b|extern\b)"
    r"(?:KD_DEVICE_CALL\((\w+),|KD_DEVICE_ANSWER\([\w *]+?,\s*(\w+),|\w[\w \t*]*?\b(\w+)\([^;{}]*\);)",
    re.MULTILINE,
)
VIEW = re.compile(r"\bstruct (\w+_view) \{([^}]*)\}")


def definitions(texts):
    """Return a map from each function with external linkage to the directory that defines it."""
    homes = {}
    for path, text in texts.items():
        if path.endswith((".c", ".cu")) and capacity_of(path) in LAYERS:
            for match in DEFINED.finditer(NOT_CODE.sub(blank, text)):
                homes.setdefault(match.group(1), capacity_of(path))
    return homes


def check_homes(path, text, homes):
    directory = capacity_of(path)
    if not path.endswith(".h") or directory not in LAYERS or directory == "include/kandela":
        return
    code = NOT_CODE.sub(blank, text)
    for match in DECLARED.finditer(code):
        name = next(group for group in match.groups() if group)
        home = homes.get(name, directory)
        if LAYERS[home] > LAYERS[directory]:
            yield line_of(code, match.start()), f"home: {name} is defined in {home}/, above"
    for match in VIEW.finditer(code):
        if "(*" in match.group(2):
            yield line_of(code, match.start()), f"view: {match.group(1)} holds a function pointer"


def check_words(path, text):
    strange = WORDS.get(module_of(path))
    if not strange:
        return
    code = NOT_CODE.sub(blank, text)
    for match in re.finditer(r"\b\w*(?:" + "|".join(strange) + r")\w*\b", code):
        yield line_of(code, match.start()), f"words: {match.group(0)} is a word of a module above {module_of(path)}/"


def check_environment(path, text):
    if module_of(path) in ALONE or os.path.basename(path) in ("posix_paths.c", "windows_paths.c"):
        return
    for match in re.finditer(r"(?<![\w_])(?:secure_)?getenv\s*\(", NOT_CODE.sub(blank, text)):
        yield line_of(text, match.start()), "environment: getenv is called, expected place_variable"


def without_else(text):
    """Remove all but the first branch of each preprocessor conditional, so that braces match."""
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
    """Return (first line, last line, name) of each function body; None if braces do not match."""
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


def check_fields(path, text):
    first = re.match(r"/\*.*?\*/", text, re.DOTALL)
    for number, line in enumerate(first.group(0).split("\n") if first else [], 1):
        glued = re.search(rf"[.;:)\"] ({FIELDS}):", line)
        if glued:
            yield number, f"fields: {glued.group(1)} does not begin a line"
    if path.endswith((".cu", ".cuh")) and "__global__" in text and "Data flow:" not in text:
        yield 1, "fields: a file of kernels does not say its Data flow"


SOURCE_NAME = re.compile(r"(?<![\w./-])[\w./-]*\w\.(?:cuh|cu|cpp|cc|c|hpp|h|inc|py|sh|cmake)\b")


def tails(paths):
    """Return every path suffix by which a comment may refer to one of the files."""
    return {path.split("/", n)[-1] for path in paths for n in range(path.count("/") + 1)}


def check_comment_files(path, text, named):
    included = {match.group(2) for match in INCLUDE.finditer(text)}
    for comment in COMMENT.finditer(text):
        if comment.group(1):
            continue
        for match in SOURCE_NAME.finditer(comment.group(0)):
            name = match.group(0).removeprefix("./")
            if name not in named and name not in included and name not in FOREIGN_FILES:
                yield line_of(text, comment.start() + match.start()), f"files: {name} does not exist"


def check_names(paths):
    owners = {}
    for path in paths:
        directory = capacity_of(path)
        stem = os.path.splitext(os.path.basename(path))[0]
        if directory not in LAYERS or directory == "include/kandela" or stem in STAGES or module_of(path) == "tools":
            continue
        owner = owners.setdefault((module_of(path), stem), directory)
        if owner != directory:
            yield path, 1, f"name: {owner}/ has a file of the stem {stem} too"


def check_crowds(root, paths):
    directories = {}
    for path in paths:
        directories.setdefault(os.path.dirname(path), []).append(path)
    for directory, files in sorted(directories.items()):
        if len(files) > DIRECTORY_FILES:
            yield files[-1], 1, f"crowd: {directory}/ has {len(files)} sources, at most {DIRECTORY_FILES}"
    for folder, folders, files in os.walk(root):
        here = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if not is_left_out(here, name)]
        if "README.md" in files:
            path = os.path.normpath(os.path.join(here, "README.md"))
            with open(os.path.join(root, path), encoding="utf-8") as file:
                lines = file.read().count("\n")
            if lines > PAGE_LINES:
                yield path, PAGE_LINES + 1, f"crowd: {lines} lines, at most {PAGE_LINES}"


def check_pages(root, paths):
    pages = {}
    for path in paths:
        directory, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
        page = f"{directory}/README.md"
        if directory in LAYERS and os.path.exists(os.path.join(root, page)):
            text = pages.setdefault(page, read(root, page))
            if re.search(r"^\|", text, re.M) and not re.search(rf"\b{stem}\b", text):
                yield path, 1, f"page: {page} does not name it"


# Words that must not occur in identifiers, and the standard term for each.
RETIRED = {
    "caster": "ray", "doubts": "uncertain", "grief": "error", "haze": "volume", "parcel": "bundle",
    "passage": "transmittance", "pile": "buffer", "placement": "instance", "room": "capacity", "rooms": "capacities",
    "spoilt": "truncated", "squeeze": "eta_scale", "strayed": "in_volume", "verb": "command", "verbs": "commands",
    "waking": "context_init", "watched": "job", "MOST": "MAX", "LEAST": "MIN",
    "askers": "holders", "asked": "queries or request", "asks": "queries", "ASKED": "QUERIES", "heard": "received",
    "hears": "listener", "nobody": "none", "looks": "lookups", "told": "reported", "TOLD": "REPORTED",
    "unheard": "discarded", "untold": "omitted", "theirs": "peer", "who": "indices", "whom": "indices", "whose": "owner",
    "wish": "filter", "ask": "query", "tell": "report",
}  # fmt: skip
KEPT_NAMES = """
    AT_LEAST_0 ROOM_BEAMS ROOM_BLOBS ROOM_RAYS room_beam room_camera room_camera_is_room room_materials room_share
    room_shell
""".split()
RETIRED_TEXT = re.compile(
    r"\b(?:wings?|casters?|parcels?|strayed|came to grief|rooms? of (?:the|this) (?:house|project)|(?:of|in) this house"
    r"|its own room|above this room)\b",
    re.IGNORECASE,
)
NOTES = ("docs/notebook/", "CHANGELOG.md", "debian/changelog")  # pages about older versions, which keep their wording
OPTION_TABLES = {
    "lookup": ("PHOTON_LOOKUP",), "media": ("PHOTON_MEDIA",), "estimator": ("PHOTON_ESTIMATOR",),
    "kernel": ("PHOTON_KERNEL",), "integrator": ("INTEGRATOR",),
    "builder": ("TRITREE_BUILDER", "TRITREE_BUILDER_CUDA", "POINTTREE_BUILDER", "POINT_BUILDER_CUDA"),
}  # fmt: skip
OPTION_VALUE = re.compile(r"(?<![\w-])--(" + "|".join(OPTION_TABLES) + r")[ =]([a-z_]+)\b")


def retired_words(text):
    for match in RETIRED_TEXT.finditer(text):
        yield match.start(), f"retired: {match.group(0)} is not a word of the field"


def check_retired(path, text):
    for comment in COMMENT.finditer(text):
        if not comment.group(1):
            for at, what in retired_words(comment.group(0)):
                yield line_of(text, comment.start() + at), what
    if module_of(path) in ("tests", "examples"):
        return
    code = NOT_CODE.sub(blank, text)
    for match in re.finditer(r"\b[A-Za-z_]\w*", code):
        for part in match.group(0).split("_"):
            if part in RETIRED and match.group(0) not in KEPT_NAMES:
                yield line_of(code, match.start()), f"retired: {match.group(0)}, expected {RETIRED[part]} for {part}"


def option_values(texts):
    """Return the values that each option of OPTION_TABLES accepts, from the rows of its tables."""
    values = {option: {"auto"} for option in OPTION_TABLES}
    for text in texts.values():
        for table, rows in re.findall(r"#define (\w+)_ROWS\(ROW\)((?:[^\n]*\\\n)*[^\n]*)", text):
            for option, tables in OPTION_TABLES.items():
                if table in tables:
                    for words in re.findall(r"ROW\(([^)]*)\)", rows):
                        values[option].update(re.findall(r"\b[a-z]\w*", words))
    return values


def wrong_values(text, values):
    for match in OPTION_VALUE.finditer(text):
        option, value = match.groups()
        if len(values[option]) > 1 and value not in values[option]:
            yield match.start(), f"options: --{option} takes no {value}"


def check_options(path, text, values):
    for comment in COMMENT.finditer(text):
        if not comment.group(1):
            for at, what in wrong_values(comment.group(0), values):
                yield line_of(text, comment.start() + at), what


def check_documents(root, values):
    for path in sources(root, (".md",)):
        if not path.startswith(NOTES):
            text = read(root, path)
            for at, what in [*retired_words(text), *wrong_values(text, values)]:
                yield path, line_of(text, at), what


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def check(root):
    """Return the sorted violations as (path, line, text), and the number of files."""
    paths = sources(root)
    files = set(paths)
    texts = {path: read(root, path) for path in paths}
    names = row_names(texts)
    homes = definitions(texts)
    named = tails(sources(root, (*SUFFIXES, ".cpp", ".hpp", ".inc", ".py", ".sh", ".cmake")))
    named.update(GENERATED)
    values = option_values(texts)
    found = [*check_names(paths), *check_crowds(root, paths), *check_pages(root, paths), *check_documents(root, values)]
    for path, text in texts.items():
        directory = capacity_of(path)
        if directory not in LAYERS and directory not in ALONE:
            found.append((path, 1, "place: lies in no directory: " + ", ".join(DIRECTORIES)))
            continue
        if directory == "shaders" and not path.endswith((".h", ".cuh")):
            found.append((path, 1, "place: shaders/ holds headers only"))
        checks = [check_includes(path, text, files), check_rows(path, text, names), check_lengths(path, text)]
        checks += [check_homes(path, text, homes), check_words(path, text), check_environment(path, text), check_fields(path, text)]
        checks.append(check_comment_files(path, text, named))
        checks += [check_retired(path, text), check_options(path, text, values)]
        for line, what in [one for each in checks for one in each]:
            found.append((path, line, what))
    return sorted(found), len(paths)


def print_directories(root):
    """Print the numbers of files and lines of each directory, from the lowest layer up."""
    print(f"{'directory':28}files  lines")
    counts = {}
    for path in sources(root):
        files, lines = counts.get(capacity_of(path), (0, 0))
        counts[capacity_of(path)] = files + 1, lines + read(root, path).count("\n")
    for directory in [*DIRECTORIES, *ALONE]:
        if directory in counts:
            print(f"{directory + '/':28}{counts[directory][0]:5}{counts[directory][1]:7}")


def main(arguments):
    if "-h" in arguments or "--help" in arguments:
        print(__doc__.strip())
        return 0
    listed = "--list" in arguments
    arguments = [word for word in arguments if word != "--list"]
    root = arguments[0] if arguments else os.path.join(os.path.dirname(__file__), "..")
    if listed:
        print_directories(root)
        return 0
    found, count = check(root)
    for path, line, what in found:
        print(f"{path}:{line}: {what}")
    if not count:
        print(f"check_layers.py: no sources below {root}", file=sys.stderr)
        return 2
    if not found:
        print(f"{count} files keep to their layers")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
