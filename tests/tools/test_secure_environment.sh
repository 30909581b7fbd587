#!/usr/bin/env bash
# A program with more rights than its user (setuid) loads no code named by environment variables.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
((EUID == 0)) && command -v setpriv >/dev/null || { echo "only root can make a setuid program: skipped" && exit 77; }
fake=$(dirname "$program")/../tests/fake_denoiser.so
[[ -e $fake ]] || { echo "no fake_denoiser: skipped" && exit 77; }
mkdir inner
cp "$program" inner/plain
cp "$program" inner/setuid
cp "$(realpath "$fake")" inner/fake.so
cp "$source_folder"/tests/tools/box.{obj,mtl} .
chmod 755 "$scratch" inner inner/plain
chmod 4755 inner/setuid
expect_exit 0 "$program" render box.obj -q --resolution 16x12 --spp 1 -o a.pfm
chmod 644 a.pfm
mkdir -m 777 made
export KANDELA_OIDN=$scratch/inner/fake.so
setpriv --reuid 65534 --clear-groups inner/setuid --version >/dev/null 2>&1 || { echo "no setuid programs here: skipped" && exit 77; }
expect_exit 0 setpriv --reuid 65534 --clear-groups inner/plain develop a.pfm --denoise -o made/plain.pfm
expect_exit 2 setpriv --reuid 65534 --clear-groups inner/setuid develop a.pfm --denoise -o made/setuid.pfm
expect_says err "was not found"
expect_done
