#!/usr/bin/env bash
# The wheel for arm64 Linux, built by tools/package/wheel_arm64: an arm64 Python under qemu imports
# it, runs the tests of points and documentation, and renders the same bytes as the native program.
# Needs what cmake/arm64.cmake and pip need, a network, and Python 3.11 or 3.13 (python3, or the one
# named by KANDELA_ARM64_HOST_PYTHON).
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
unset CFLAGS LDFLAGS CC CXX
skip() {
    echo "$*: skipped"
    exit 77
}
for tool in qemu-aarch64 aarch64-linux-gnu-g++; do
    command -v $tool >/dev/null || skip "no $tool (packages qemu-user, g++-aarch64-linux-gnu)"
done
python=${KANDELA_ARM64_HOST_PYTHON:-python3}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || skip "no $python"
[[ $version == 3.11 || $version == 3.13 ]] || skip "$python is $version, and Debian has 3.11 and 3.13 for arm64"
"$python" -m venv v && timeout 300 v/bin/pip download -q -d wheels nanobind scikit-build-core build >log 2>&1 || skip "pip reaches no registry"
mkdir copy
tar -C "$source_folder" --exclude='./build*' --exclude=./.git --exclude=./.cache --exclude=./.models -cf - . | tar -C copy -xf -
expect_exit 0 copy/tools/package/wheel_arm64 "$python"
((expect_failures == 0)) || expect_done
name=(copy/dist/kandela-*_aarch64.whl)
expect_true "the name of the wheel contains aarch64" test -e "${name[0]}"
expect_exit 0 "$python" -m zipfile -e "${name[0]}" unpacked
expect_true "the wheel contains type hints" test -s unpacked/kandela/_c.pyi
run=$PWD/copy/.cache/arm64/python-$version/run
export PYTHONPATH=$PWD/unpacked:$source_folder/tests/python
# without auditwheel the wheel does not contain them
libraries=$PWD/copy/.cache/arm64/libraries/root/usr/lib/aarch64-linux-gnu
sed -i "s|LD_LIBRARY_PATH=|&$libraries:|" "$run"
expect_exit 0 "$run" -c "import kandela, platform; print(platform.machine()); kandela.render(
    '$source_folder/scenes/cornell_diffuse.json', width=48, height=48, spp=2, integrator='path', device='cpu', threads=2).save('there.pfm')"
expect_says out aarch64
# Omits the test that forks a process with threads: qemu 7.2 fails there with an assertion.
expect_exit 0 timeout 3000 "$run" -m pytest -q -p no:cacheprovider "$source_folder/tests/python/test_points.py" \
    "$source_folder/tests/python/test_docs.py" -k "not forked"
((expect_failures == 0)) || tail -30 out
expect_exit 0 "$program" render "$source_folder/scenes/cornell_diffuse.json" --resolution 48x48 --spp 2 --integrator path --device cpu \
    --threads 2 --quiet -o here.pfm
cmp here.pfm there.pfm || expect_fail "results on arm64 have the same bytes"
expect_done
