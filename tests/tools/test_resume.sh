#!/usr/bin/env bash
# A resumed rendering has the same bits as an uninterrupted one, even after kill -9.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .
render=("$program" render box.obj --integrator sppm --resolution 48x48 --photons 3000 --threads 1)

expect_exit 0 "${render[@]}" --passes 12 -o whole.pfm
expect_true "no state is written without --save-every" test ! -e whole.pfm.state
expect_exit 0 "${render[@]}" --passes 6 --save-every 0 -o cut.pfm
expect_true "the state is written beside the picture" test -s cut.pfm.state
expect_true "6 passes and 12 passes give different pictures" test "$(cmp -s cut.pfm whole.pfm; echo $?)" = 1
expect_exit 0 "${render[@]}" --passes 12 --resume -o cut.pfm
expect_true "6 passes resumed to 12 equal 12 passes" cmp cut.pfm whole.pfm

"${render[@]}" --passes 1000000 --save-every 0.05 -o killed.pfm >/dev/null 2>&1 &
child=$!
for ((tries = 0; tries < 600; ++tries)); do
    [[ -s killed.pfm.state && -s killed.pfm ]] && break
    sleep 0.05
done
kill -9 $child
wait $child 2>/dev/null
expect_true "a state exists after kill -9" test -s killed.pfm.state
expect_true "a picture exists after kill -9" test -s killed.pfm
expect_exit 0 "${render[@]}" --passes 1 --resume -o killed.pfm --stats killed.json
passes=$(sed -n 's/.*"samples":[^0-9]*\([0-9]*\).*/\1/p' killed.json | head -1)
expect_exit 0 "${render[@]}" --passes "$((passes + 1))" --resume -o killed.pfm
expect_exit 0 "${render[@]}" --passes "$((passes + 1))" -o again.pfm
expect_true "a killed and resumed rendering equals an uninterrupted one" cmp killed.pfm again.pfm

expect_exit 3 "${render[@]}" --passes 12 --seed 7 --resume -o cut.pfm
expect_says err "other options"
expect_exit 3 "${render[@]}" --passes 12 --resume -o none.pfm
head -c 1000 cut.pfm.state >short.pfm.state
expect_exit 3 "${render[@]}" --passes 12 --resume -o short.pfm
expect_says err truncated
expect_done
