#!/usr/bin/env bash
# Scenes whose light reaches nothing, and cameras inside objects: rendering ends with a clear
# message and without NaN.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

floor='{"quad": [[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]]}'
scene() { # NAME MESHES REST
    printf '{"kandela": 1, "meshes": [%s], "camera": {"eye": [0, 1, 3], "look_at": [0, 0.3, 0]}%s}\n' \
        "$2" "${3:+, $3}" >"$1.json"
}
render() { # CODE SCENE OPTION...: renders a small picture; no sample may be NaN
    local code=$1 name=$2
    shift 2
    expect_exit "$code" timeout 120 "$program" render "$name.json" --resolution 8x8 --spp 2 \
        --passes 2 --photons 2000 --threads 2 -o out.pfm --stats stats.json "$@"
    ((code == 0)) || return
    expect_true "$name $*: the picture has no NaN" grep -q '"nan_samples":[[:space:]]*0' stats.json
}

# All photons escape: there is no surface on which they could land twice.
scene escape "$floor" '"lights": [{"kind": "spot", "position": [0, 5, 0], "direction": [0, 1, 0], "power": 10}]'
for how in photon sppm; do
    render 0 escape --integrator $how
    expect_says err "global photon map: empty, because none of 65536 emitted photons was stored"
done
render 0 escape --integrator light
render 0 escape --integrator path

# A light without power is reported when it is read and ignored; the default sky replaces it.
scene dark "$floor" '"lights": [{"kind": "point", "position": [0, 2, 0], "power": 0}]'
for how in path photon sppm light; do
    render 0 dark --integrator $how
    expect_says err "lights[0] is black and emits no light"
done
scene night "$floor" '"environment": {"radiance": 0}, "lights": [{"kind": "point", "intensity": 0}]'
render 0 night --integrator photon
expect_says err "the environment is black and emits no light"

# A closed black box around the lamp.
scene box '{"box": {"lo": [-2, -1, -4], "hi": [2, 3, 4]}, "inward": true, "material": {"diffuse": 0}}' \
    '"lights": [{"kind": "point", "position": [0, 2, 0], "power": 10}]'
for how in path photon sppm light; do render 0 box --integrator $how; done
render 0 box --integrator photon
expect_says err "global photon map: empty, because none of 65536 emitted photons was stored"

# The camera inside glass, ink and dispersive glass.
for material in '"ior": 1.5' '"ior": 1.3, "medium": "ink"' '"cauchy": [1.5, 0.01, 0]'; do
    scene inside "$floor, {\"sphere\": {\"centre\": [0, 1, 3], \"radius\": 0.5, \"triangles\": 500},
        \"material\": {\"kind\": \"glass\", $material}}" \
        '"media": {"ink": {"absorption": [1, 2, 3], "scattering": 1}},
         "lights": [{"kind": "area", "corner": [-1, 4, -1], "edge_u": [2, 0, 0], "edge_v": [0, 0, 2], "power": 50}]'
    # only one path in 500 lands twice here, so use few photons
    for how in path sppm whitted light photon; do
        render 0 inside --photons 100 --integrator $how
    done
    expect_true "a camera inside sees light" grep -q '"media_stored":' stats.json
done

# A caustic map in a scene without specular surfaces is empty, which is not an error.
scene plain "$floor, {\"box\": {}}" '"lights": [{"kind": "point", "position": [0, 3, 0], "power": 50}]'
render 0 plain --integrator photon --caustic-photons 1000
expect_true "no caustic photons are stored" grep -q '"caustics_stored":[[:space:]]*0' stats.json

# Invalid media and indices of refraction.
expect_rejected() { # MESSAGE MESHES REST
    scene wrong "$2" "$3"
    render 3 wrong --integrator path
    expect_says err "$1"
}
expect_rejected 'unknown medium "frog", did you mean "fog"?' "$floor" '"media": {"fog": {}}, "fog": "frog"'
expect_rejected 'unknown medium "ink"; `media` has 0 entries' "{\"box\": {}, \"material\": {\"medium\": \"ink\"}}" ''
expect_rejected 'media.fog.g: found 1' "$floor" '"media": {"fog": {"g": 1}}'
expect_rejected 'media.fog.absorption: found -1' "$floor" '"media": {"fog": {"absorption": -1}}'
expect_rejected 'exactly one of `ior`, `cauchy` and `sellmeier`' \
    '{"box": {}, "material": {"kind": "glass", "ior": 1.5, "cauchy": [1.5, 0, 0]}}' ''
expect_rejected 'index must be from 0.1 to 10' \
    '{"box": {}, "material": {"kind": "glass", "sellmeier": [1, 0, 0, 0.25, 0, 0]}}' ''
expect_done
