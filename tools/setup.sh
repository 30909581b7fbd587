# shellcheck shell=bash
# Sourced by tools/quickstart, tools/check and .ci/run: installs the packages that a build needs,
# configures and builds. All output goes to stderr. Functions report failure by their status, with
# or without set -e.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# purpose, package, probe that shows that it is installed: a command, a header, a library, or a line of Python that runs
setup_table='
build  cmake           command:cmake
build  ninja-build     command:ninja
build  gcc             command:gcc
build  libc6-dev       header:stdio.h
build  g++             command:g++
build  libcjson-dev    header:cjson/cJSON.h
build  libstb-dev      header:stb/stb_image_write.h
build  libopenexr-dev  header:OpenEXR/openexr.h
build  libdeflate-dev  header:libdeflate.h
build  libjpeg-dev     header:jpeglib.h
build  libwebp-dev     header:webp/mux.h
build  libtiff-dev     header:tiffio.h
build  libassimp-dev   header:assimp/cimport.h
build  libmeshoptimizer-dev  header:meshoptimizer.h
build  libdraco-dev    header:draco/compression/decode.h
build  libxxhash-dev   header:xxhash.h
build  libmicrohttpd-dev  header:microhttpd.h
tests  libcmocka-dev   header:cmocka.h
tests  pkg-config      command:pkg-config
tests  python3         command:python3
tests  libopenmpi-dev  header:mpi/mpi.h
tests  openmpi-bin     command:mpirun
ci     clang           command:clang
ci     clang-format-14 command:clang-format-14
ci     codespell       command:codespell
ci     xz-utils        command:xz
cuda   python3         command:python3
cuda   python3-venv    python:import ensurepip, venv
denoise python3        command:python3
denoise python3-venv   python:import ensurepip, venv
python g++             command:g++
python python3-venv    python:import ensurepip, venv
python python3-dev     python:import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")
sanitizers clang              command:clang
sanitizers libclang-rt-14-dev library:libclang_rt.tsan-x86_64.a
nightly qemu-user       command:qemu-x86_64
nightly gcc-aarch64-linux-gnu  command:aarch64-linux-gnu-gcc
nightly libc6-dev-arm64-cross  header:../aarch64-linux-gnu/include/stdio.h
nightly g++-aarch64-linux-gnu  command:aarch64-linux-gnu-g++
arm64   qemu-user       command:qemu-aarch64
arm64   gcc-aarch64-linux-gnu  command:aarch64-linux-gnu-gcc
arm64   g++-aarch64-linux-gnu  command:aarch64-linux-gnu-g++
arm64   libc6-dev-arm64-cross  header:../aarch64-linux-gnu/include/stdio.h
'

setup_say() { echo "$@" >&2; }

# Runs a command as a step: says its name, then its seconds.
setup_step() { # NAME COMMAND...
    local name=$1 begin=$SECONDS status=0
    shift
    setup_say "== $name"
    "$@" || status=$?
    ((status == 0)) || { setup_say "== $name: failed after $((SECONDS - begin)) s" && return $status; }
    setup_say "== $name: $((SECONDS - begin)) s"
}

# Runs a command and shows its output only if it fails: apt-get prints many warnings that do not
# matter here.
setup_hushed() { # COMMAND...
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || status=$?
    ((status == 0)) || cat "$log" >&2
    rm -f "$log"
    return $status
}

setup_installed() { # PROBE
    local name=${1#*:} file
    case $1 in
    command:*) command -v "$name" >/dev/null ;;
    python:*) python3 -c "$name" 2>/dev/null ;;
    header:*)
        for file in {/usr,/usr/local}/include/"$name" /usr/include/*-linux-gnu*/"$name"; do
            [[ -e $file ]] && return
        done
        return 1
        ;;
    library:*)
        for file in /usr/lib/{llvm-*/lib,*-linux-gnu*}/"$name" /usr/lib/"$name" \
            /usr/lib/llvm-*/lib/clang/*/lib/linux/"$name"; do
            [[ -e $file ]] && return
        done
        return 1
        ;;
    esac
}

setup_missing() { # PURPOSE...: prints the missing packages, one per line
    local purpose package probe
    while read -r purpose package probe; do
        [[ -n $purpose && " $* " == *" $purpose "* ]] || continue
        [[ $package != libclang-rt-14-dev || $(setup_system) != ubuntu-24.04 ]] || package=libclang-rt-18-dev # for its version of clang
        setup_installed "$probe" || echo "$package"
    done <<<"$setup_table"
}

setup_system() { # "debian-12", "ubuntu-24.04", ...
    ( # shellcheck disable=SC1091
        . /etc/os-release 2>/dev/null && echo "${ID:-unknown}-${VERSION_ID:-unknown}"
    ) || echo unknown
}

# Installs the missing packages for the given purposes, on systems with these package names.
setup_packages() { # PURPOSE...
    local missing system as_root=()
    mapfile -t missing < <(setup_missing "$@")
    ((${#missing[@]})) || return 0
    system=$(setup_system)
    if [[ $system != debian-12* && $system != ubuntu-24.04 ]]; then
        setup_say "cannot install packages on $system (only on Debian 12 and Ubuntu 24.04); install these" \
            "(Debian's names): ${missing[*]}"
        return 1
    fi
    if ((EUID != 0)); then
        if ! command -v sudo >/dev/null; then
            setup_say "cannot install packages without root or sudo; missing: ${missing[*]}"
            return 1
        fi
        as_root=(sudo)
    fi
    setup_say "installing ${missing[*]}"
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    setup_hushed "${as_root[@]}" apt-get update -q &&
        setup_hushed "${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}" ||
        return
    mapfile -t missing < <(setup_missing "$@")
    if ((${#missing[@]})); then
        setup_say "installed, but still not found: ${missing[*]}"
        return 1
    fi
}

setup_gpu_found() { [[ -e /proc/driver/nvidia/version || -e /dev/nvidia0 || -e /dev/dxg ]]; }

setup_nvcc() { # prints the path of an installed CUDA compiler, or nothing
    command -v nvcc || { [[ -x /usr/local/cuda/bin/nvcc ]] && echo /usr/local/cuda/bin/nvcc; }
}

# The parts of CUDA 13.0 that a build needs, as Python packages.
setup_cuda_parts='nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
    nvidia-cuda-runtime==13.0.88 nvidia-cuda-cccl==13.0.85'

# Prints the CUDA compiler to build with, or nothing without a GPU. Downloads one (271 MB) if there
# is a GPU but no compiler; with "always" also without a GPU.
setup_cuda() { # FOLDER (relative to the root) [always]
    local folder=$root/$1 found
    if [[ ${2-} != always ]] && ! setup_gpu_found; then
        setup_say "no NVIDIA GPU found: building without CUDA (--cuda-all builds the kernels anyway)"
        return 0
    fi
    found=$(setup_nvcc) && echo "$found" && return
    found=("$folder"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
    if [[ ! -x ${found[0]} ]]; then
        setup_say "no nvcc found: downloading that of CUDA 13.0 (271 MB, Python packages) into $folder;" \
            "the program will need a driver of release 580 or later"
        # shellcheck disable=SC2086 # $setup_cuda_parts is a list of words
        setup_packages cuda && python3 -m venv "$folder" >&2 &&
            "$folder/bin/pip" install --quiet $setup_cuda_parts >&2 || return
        found=("$folder"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
    fi
    [[ -x ${found[0]} ]] && echo "${found[0]}"
}

# Downloads Open Image Denoise, which Debian and Ubuntu lack, as a Python package into a directory
# next to build/, where the program searches for it.
setup_denoise() { # FOLDER (relative to the root)
    local folder=$root/$1 found
    found=("$folder"/lib/python3*/site-packages/pyoidn/oidn/lib/libOpenImageDenoise.so.2)
    [[ -e ${found[0]} ]] && return
    setup_say "downloading Open Image Denoise (88 MB, Python package pyoidn 2.5.1) into $folder"
    setup_packages denoise && python3 -m venv "$folder" >&2 &&
        "$folder/bin/pip" install --quiet pyoidn==2.5.1.0 >&2
}

# Configures FOLDER (relative to the root) with further CMake arguments. KANDELA_WERROR=ON turns
# warnings into errors.
setup_configure() { # FOLDER [CMAKE_ARGUMENT...]
    local folder=$root/$1
    shift
    cmake -S "$root" -B "$folder" -G Ninja ${KANDELA_WERROR:+"-DKD_WERROR=$KANDELA_WERROR"} "$@" >&2 </dev/null
}

setup_build() { # FOLDER [TARGET...]; no target: everything
    local folder=$root/$1
    shift
    cmake --build "$folder" ${1:+--target "$@"} >&2 </dev/null
}
