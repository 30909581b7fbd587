#!/usr/bin/env bash
# `pip install .` into a new environment, then the first example of python/README.md. Skipped if pip
# cannot fetch the build requirements, because there is no network for example.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
skip() {
    echo "$*: skipped"
    exit 77
}
python3 -m venv v || skip "no python3-venv"
timeout 300 v/bin/pip download -q -d wheels numpy nanobind scikit-build-core >log 2>&1 || skip "pip reaches no registry"
mkdir copy
tar -C "$source_folder" --exclude='./build*' --exclude=./.git --exclude=./.cache --exclude=./.models -cf - . | tar -C copy -xf -
CMAKE_ARGS=-DKD_CUDA=OFF expect_exit 0 v/bin/pip install ./copy
cat >lines.py <<'P'
import re, sys
text = re.search(r"```python\n(.*?)```", open(sys.argv[1]).read(), re.S).group(1)
mesh = ("vertices = np.random.default_rng(1).random((300, 3), np.float32); faces = np.arange(300).reshape(-1, 3); "
        "origins, directions = x[:100], x[100:200] - 0.5\n")
names = {}
exec(text.replace("mesh = ", mesh + "mesh = ", 1), names)
assert names["distances"].shape == (1_000_000, 8) and (names["distances"][:, 0] == 0).all()
assert names["picture"].rgb.shape == (240, 320, 3)
P
expect_exit 0 v/bin/python lines.py "$source_folder/python/README.md"
# shellcheck source=tests/tools/hardened.sh
. "$source_folder/tests/tools/hardened.sh"
for file in v/lib/python3*/site-packages/kandela/_c*.so; do expect_hardened "$file"; done
expect_done
