#!/usr/bin/env bash
# tools/setup.sh names missing packages, installs them on supported systems and refuses on others. tools/check selects
# the right tests.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
# shellcheck source=tools/setup.sh
. "$source_folder/tools/setup.sh"

here=" command:cmake "
setup_installed() { [[ $here == *" $1 "* ]]; }
setup_system() { echo "$pretended"; }
# A stand-in for apt-get, which "installs" a package by making its probe succeed.
mkdir bin
printf '#!/bin/sh\necho "$@" >>%s/calls\n' "$scratch" >bin/apt-get
printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
chmod +x bin/*
PATH=$scratch/bin:$PATH

absent=$(setup_missing build | tr '\n' ' ')
expect_true "missing libraries are listed: $absent" grep -q 'libcjson-dev.*libassimp-dev' <<<"$absent"
expect_true "installed packages are not listed as missing" test "${absent/cmake/}" = "$absent"
expect_true "the tests need more packages than the build" test "$(setup_missing build tests | wc -l)" -gt \
    "$(setup_missing build | wc -l)"

for pretended in fedora-40 debian-11 ubuntu-22.04 unknown; do
    expect_exit 1 setup_packages build
    expect_says err "libassimp-dev"
    expect_says err "$pretended"
    expect_true "nothing is installed on $pretended" test ! -e calls
done

pretended=debian-12
expect_exit 1 setup_packages build # our apt-get installs nothing
expect_says err "still not found"
expect_says calls "update"
expect_says calls "ninja-build gcc"
expect_true "Draco is installed with the compiler that it needs" grep -q 'g++.*libdraco-dev' calls
expect_true "installed packages are not installed again" test "$(grep -cw cmake calls)" = 0
expect_empty out

# The output of apt-get is shown only if it fails.
setup_installed() { [[ -e calls ]]; }
rm -f calls
printf '#!/bin/sh\necho "$@" >>%s/calls\necho "debconf: unable to initialize frontend" >&2\nexit ${apt_status-0}\n' "$scratch" >bin/apt-get
expect_exit 0 setup_step "packages" setup_packages build
expect_true "nothing alarming is printed" test "$(grep -c debconf err)" = 0
expect_says err "== packages: "
rm -f calls
apt_status=1 expect_exit 1 setup_step "packages" setup_packages build
expect_says err "debconf"
expect_says err "== packages: failed after"
rm -f calls
setup_installed() { true; }
expect_exit 0 setup_packages build tests ci
expect_true "apt-get is not called if nothing is missing" test ! -e calls

# tools/check omits the nightly tests unless they are requested. It runs in a separate checkout.
mkdir -p checkout/tools
cp "$source_folder"/tools/{check,setup.sh} checkout/tools
echo 'setup_installed() { true; }' >>checkout/tools/setup.sh
printf '#!/bin/sh\nexit 0\n' >bin/cmake
printf '#!/bin/sh\necho "$@"\n' >bin/ctest
chmod +x bin/*
cp "$source_folder"/tools/quickstart checkout/tools
{
    echo 'setup_gpu_found() { false; }'
    echo 'setup_nvcc() { echo /here/nvcc; }'
    echo 'setup_build() { mkdir -p "$root/build/bin" && ln -sf "$(type -P true)" "$root/build/bin/kandela"; }'
} >>checkout/tools/setup.sh
printf '#!/bin/sh\necho "$@" >&2\n' >bin/cmake
touch box.obj
expect_exit 0 checkout/tools/quickstart --cuda-all box.obj
expect_says err "-DKD_CUDA=ON -DKD_CUDA_ARCHITECTURES=all -DCMAKE_CUDA_COMPILER=/here/nvcc"
for arguments in "--cuda box.obj" "box.obj"; do
    # shellcheck disable=SC2086
    expect_exit 0 checkout/tools/quickstart $arguments
    expect_true "KD_CUDA is not set without a GPU: $arguments" test "$(grep -c KD_CUDA err)" = 0
done
for text in "== packages: " "== configure: " "== build: "; do expect_says err "$text"; done
# A file that does not exist is reported before anything is installed or built.
for arguments in "absent.obj" "--cuda-all --quick absent.obj" "--spp 4 absent.obj -o new.png" "box.obj --env absent.hdr"; do
    # shellcheck disable=SC2086
    expect_exit 3 checkout/tools/quickstart $arguments
    expect_true "one line: $(cat err)" test "$(wc -l <err)" = 1
    expect_says err "absent."
done
for arguments in "gen:blob:100 --spp 4" "--spp 4 box.obj -o new.png"; do
    # shellcheck disable=SC2086
    expect_exit 0 checkout/tools/quickstart $arguments
done
# Without arguments: the demo, where it is, and what to do next.
expect_exit 0 checkout/tools/quickstart
expect_says err "wrote $PWD/cognac.png"
for text in "your own file" "less noise: --denoise" "larger: --resolution"; do expect_says err "$text"; done
expect_exit 0 checkout/tools/quickstart --cuda-all --help
expect_says out "usage: tools/quickstart"
printf '#!/bin/sh\nexit 0\n' >bin/cmake

for script in quickstart check; do
    expect_exit 0 checkout/tools/$script --help
    expect_says out "usage: tools/$script"
done

for arguments in "" "-L quick" "-L quick -j1"; do
    # shellcheck disable=SC2086
    expect_exit 0 checkout/tools/check $arguments
    expect_says out "-LE nightly${arguments:+ $arguments}"
done
for arguments in "-L nightly" "-R arm64"; do
    # shellcheck disable=SC2086
    expect_exit 0 checkout/tools/check $arguments
    expect_says out "$arguments"
    expect_true "no tests are excluded for: $arguments" test "$(grep -c -e -LE out)" = 0
done
# A CUDA compiler: none without a card unless requested; else the installed one; else a downloaded
# one.
setup_nvcc() { echo /somewhere/nvcc; }
setup_gpu_found() { false; }
expect_exit 0 setup_cuda nvcc
expect_empty out
expect_says err "no NVIDIA GPU found"
expect_says err "--cuda-all builds the kernels anyway"
expect_exit 0 setup_cuda nvcc always
expect_says out "/somewhere/nvcc"
setup_gpu_found() { true; }
expect_exit 0 setup_cuda nvcc
expect_says out "/somewhere/nvcc"
setup_nvcc() { false; }
python3() { # stands in for `python3 -m venv FOLDER`, whose pip records its arguments
    local parts="$3/lib/python3.0/site-packages/nvidia/cu13/bin"
    mkdir -p "$3/bin" "$parts" && touch "$parts/nvcc" && chmod +x "$parts/nvcc"
    printf '#!/bin/sh\necho "$@" >>%s/pip\n' "$scratch" >"$3/bin/pip" && chmod +x "$3/bin/pip"
}
root=$scratch
expect_exit 0 setup_cuda nvcc
expect_says out "nvidia/cu13/bin/nvcc"
expect_says err "downloading"
expect_says pip "nvidia-cuda-nvcc==13"
rm pip
expect_exit 0 setup_cuda nvcc
expect_says out "nvidia/cu13/bin/nvcc"
expect_true "a downloaded compiler is not downloaded again" test ! -e pip
expect_done
