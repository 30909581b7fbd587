#!/usr/bin/env bash
# Light that a picture lacks is reported in one line, and only then: power cut by the limits of the path length, caustics of
# lights without size, and what light tracing cannot show to the camera.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

floor='{"quad": [[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]]}'
ball() { # MATERIAL
    printf '{"sphere": {"centre": [0, 0.5, 0], "radius": 0.3, "triangles": 200}, "material": {%s}}' "$1"
}
scene() { # NAME MESHES REST
    printf '{"kandela": 1, "meshes": [%s], "camera": {"eye": [0, 1, 3], "look_at": [0, 0.3, 0]}%s}\n' \
        "$2" "${3:+, $3}" >"$1.json"
}
render() { # SCENE OPTION...
    local name=$1
    shift
    expect_exit 0 timeout 120 "$program" render "$name.json" --resolution 8x8 --spp 1 --passes 1 --photons 1000 \
        --threads 2 --device cpu -o out.pfm --stats stats.json "$@"
}
expect_silent() { # TEXT
    expect_true "no line with \"$1\" in: $(cat err)" test "$(grep -cF -e "$1" err)" = 0
}
figure() { # KEY: of energy_watts in stats.json
    sed -n '/"energy_watts"/,/}/p' stats.json | sed -n "s/.*\"$1\":[[:space:]]*\([-0-9.e+]*\).*/\1/p"
}

# A white box, in which a depth of 8 cuts most of the light.
scene white '{"box": {"lo": [-2, -1, -4], "hi": [2, 3, 4]}, "inward": true, "material": {"diffuse": 0.98}}' \
    '"lights": [{"kind": "area", "corner": [-0.5, 2.9, 0.5], "edge_u": [1, 0, 0], "edge_v": [0, 0, -1], "power": 10}]'
for how in photon sppm; do
    render white --integrator $how --max-depth 8
    expect_says err 'of the emitted power was cut by --max-depth 8, so the picture is too dark: raise the limit'
    expect_true "$how: more than a tenth of 10 W is cut, within what ended" \
        awk -v cut="$(figure cut)" -v ended="$(figure ended)" 'BEGIN { exit !(cut > 1 && cut <= ended + 1) }'
    render white --integrator $how
    expect_silent 'power was cut'
done
render white --integrator photon --max-depth 100 --max-specular 8
expect_says err 'was cut by --max-depth 100 or --max-specular 8, so the picture is too dark: raise the limits'

# Paths from the camera: the share is measured, here against longer paths.
for how in path whitted light; do
    render white --integrator $how
    expect_silent 'was cut'
done
render white --integrator path --max-depth 8
expect_says err ' % of the light in the picture was cut by --max-depth 8, so the picture is too dark: raise the limit'
expect_true "one line" test "$(grep -c 'was cut' err)" = 1
said=$(sed -n 's/^.*warning: \([0-9.]*\) % of the light.*/\1/p' err)
expect_true "$said % is cut, not 80 to 90 %" awk -v said="$said" 'BEGIN { exit !(said > 80 && said < 90) }'
render white --integrator light --max-depth 8
expect_says err ' % of the light in the picture was cut by --max-depth 8'
render white --integrator direct --max-depth 8
expect_silent 'was cut'
scene hall '{"box": {"lo": [-2, -1, -4], "hi": [2, 3, 4]}, "inward": true, "material": {"kind": "mirror", "specular": 0.99}}' \
    '"lights": [{"kind": "area", "corner": [-1, 2.9, 1], "edge_u": [2, 0, 0], "edge_v": [0, 0, -2], "power": 10}]'
for how in path direct whitted; do
    render hall --integrator $how
    expect_says err 'was cut by --max-depth 255 or --max-specular 32, so the picture is too dark: raise the limits'
    render hall --integrator $how --max-depth 1024 --max-specular 0
    expect_silent 'was cut'
done

# A resumed rendering reports the power of all its passes.
render white --max-depth 8 --integrator sppm --passes 1 --save-every 0
render white --max-depth 8 --integrator sppm --passes 2 --resume
sum=$(figure cut)
render white --max-depth 8 --integrator sppm --passes 2
expect_true "one pass resumed to two: $sum W, not $(figure cut) W" test "$sum" = "$(figure cut)"

# Caustics of lights without size.
bulb='"lights": [{"kind": "point", "position": [0, 2, 0], "power": 10}]'
sun='"lights": [{"kind": "directional", "irradiance": 1}]'
panel='"lights": [{"kind": "area", "corner": [-0.5, 2, 0.5], "edge_u": [0, 0, -1], "edge_v": [1, 0, 0], "power": 10}]'
said='integrator path omits the caustics of point, spot and directional lights'
for material in '"kind": "glass"' '"kind": "mirror"' '"kind": "conductor"' '"kind": "plastic"' \
    '"kind": "principled", "roughness": 0.5, "coat": 1'; do
    light=$([[ $material = *mirror* ]] && echo "$sun" || echo "$bulb")
    scene shiny "$floor, $(ball "$material")" "$light"
    render shiny --integrator path
    expect_says err "$said"
    expect_true "one line" test "$(grep -c caustics err)" = 1
done
for how in whitted direct; do
    render shiny --integrator $how
    expect_says err "integrator $how omits caustics"
done
for how in photon light; do
    render shiny --integrator $how
    expect_silent caustics
done
scene panel "$floor, $(ball '"kind": "glass"')" "$panel"
render panel --integrator path
expect_silent caustics
for material in '"kind": "conductor", "roughness": 0.3' '"kind": "diffuse"' '"kind": "glass", "roughness": 0.3' \
    '"kind": "principled", "roughness": 0.5'; do
    scene rough "$floor, $(ball "$material")" "$bulb"
    render rough --integrator direct
    expect_silent caustics
    render rough --integrator light
    expect_silent 'shows only'
done

# Caustics of a small lamp through glass, and of the sun in a sky.
lamp='"lights": [{"kind": "area", "corner": [-0.05, 2, 0.05], "edge_u": [0.1, 0, 0], "edge_v": [0, 0, -0.1], "power": 10}]'
said='the caustics that a small light casts through glass are noisy with integrator path; use vcm'
scene small "$floor, $(ball '"kind": "glass"')" "$lamp"
render small --integrator path
expect_says err "$said"
expect_true "one line about caustics" test "$(grep -c caustics err)" = 1
render small --integrator photon
expect_silent caustics
scene small "$floor, $(ball '"kind": "diffuse"')" "$lamp"
render small --integrator path
expect_silent caustics
for disc in true false; do
    scene small "$floor, $(ball '"kind": "glass"')" '"environment": {"sky": {"sun": [1, 1, 1], "disc": '$disc'}}'
    render small --integrator path
    if [[ $disc = true ]]; then expect_says err "$said"; else expect_silent caustics; fi
done

# Rough metal and rough glass without what they reflect.
for material in '"kind": "conductor", "roughness": 0.1' '"kind": "glass", "roughness": 0.1' \
    '"kind": "principled", "metallic": 1, "roughness": 0.2'; do
    scene glossy "$floor, $(ball "$material")" "$panel"
    for how in whitted direct; do
        render glossy --integrator $how
        expect_says err "integrator $how shows only lights in rough metal and rough glass"
    done
    render glossy --integrator path
    expect_silent 'rough metal'
done
scene glossy "$floor, $(ball '"kind": "principled", "roughness": 0.2'), $(ball '"kind": "mirror"')" "$panel"
render glossy --integrator direct
expect_silent 'rough metal'

# What light tracing cannot show to the camera.
scene sky "$floor" '"environment": {"radiance": 1}'
render sky --integrator light
expect_silent 'shows only'
scene all "$floor, $(ball '"kind": "glass"'), $(ball '"kind": "mirror"')" '"environment": {"radiance": 1}'
render all --integrator light
expect_says err 'light shows only lights and the sky in mirrors and through smooth glass'
render all --integrator path
expect_silent 'shows only'
render panel --integrator light
expect_says err 'light shows only lights and the sky through smooth glass'

# Discs at infinity, and lights that the camera does not see.
scene disc "$floor" '"lights": [{"kind": "directional", "direction": [0, -1, 0], "irradiance": 3, "angle_degrees": 5}]'
render disc --integrator vcm
scene unseen "$floor" '"lights": [{"kind": "point", "position": [0, 1, 0], "intensity": 1, "radius": 0.1, "camera_visible": false}]'
render unseen --integrator vcm
render unseen --integrator light

# Integrators that no longer exist are answered with their replacement.
expect_exit 2 "$program" render panel.json --integrator ppm
expect_says err '--integrator ppm no longer exists: use sppm'
scene former "$floor" '"render": {"integrator": "ppm"}'
expect_exit 3 "$program" render former.json --device cpu
expect_says err 'render.integrator: "ppm" no longer exists: use sppm'

# Without --integrator, a scene gets the one that suits it, and a line says why if it has glass or mirrors.
render panel
expect_says err 'integrator vcm: some surfaces are glass, mirrors or smooth metal'
expect_says err 'vcm on '
expect_true "the statistics name vcm" grep -q '"integrator":.*"vcm"' stats.json
expect_silent caustics
expect_silent passes
render panel --quick
expect_says err 'vcm on '
render rough
expect_says err 'path on '
expect_silent 'integrator path:'
render disc
expect_silent 'integrator path:'
scene disc "$floor, $(ball '"kind": "glass"')" \
    '"lights": [{"kind": "directional", "direction": [0, -1, 0], "irradiance": 3, "angle_degrees": 5}]'
render disc
expect_says err 'integrator vcm: some surfaces are glass'
render panel --spp 2 --save-every 0
render panel --spp 3 --resume
cp out.pfm resumed.pfm
render panel --spp 3 --integrator vcm
expect_true "a resumed picture has the bits of vcm" cmp out.pfm resumed.pfm

# Scenes of the project: their own integrator shows everything, and none of their light is cut.
for one in cornell_caustic cornell_fog prism; do
    expect_exit 0 "$program" render "$source_folder/scenes/$one.json" --resolution 16x12 --spp 1 --photons 2000 \
        --caustic-photons 2000 --media-photons 1000 --final-gather 0 --device cpu -o out.pfm
    expect_silent omits
    expect_silent 'power was cut'
done
expect_done
