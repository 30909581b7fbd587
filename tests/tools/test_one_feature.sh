#!/usr/bin/env bash
# Nothing of a mesh file is lost in silence: a feature that is dropped or renamed changes the picture,
# or is named (one_feature.py).
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
expect_exit 0 python3 "$source_folder/tests/tools/one_feature.py" "$program"
expect_true "$(cat out)" test "$(wc -l <out)" = 1
expect_done
