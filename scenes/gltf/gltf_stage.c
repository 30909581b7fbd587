/* Cameras and lights where the nodes put them.
   Idea: glTF's lights are in candela and lux, its emission in candela a square metre; ours are in
         watts. One watt is taken for one lumen, so that lights and emission keep their shares; but
         for files that Blender wrote: it multiplies its watts by 683 lm/W, and its emission not. */
#include "core/memory.h"
#include "scenes/gltf/gltf_parts.h"

static const double pi = 3.14159265358979323846, blender_lumens_a_watt = 683;

static vec3 way_of(const transform *by, double x, double y, double z) {
    double to[3], length = 0;
    for (int row = 0; row < 3; ++row) {
        to[row] = by->m[row][0] * x + by->m[row][1] * y + by->m[row][2] * z;
        length += to[row] * to[row];
    }
    length = sqrt(length);
    if (!(length > 0) || !isfinite(length)) return vec3_all(0);
    return vec3_make((float)(to[0] / length), (float)(to[1] / length), (float)(to[2] / length));
}

static vec3 place_of(const transform *by) {
    return vec3_make((float)by->m[0][3], (float)by->m[1][3], (float)by->m[2][3]);
}

/* --- cameras ---------------------------------------------------------------------------------- */

static const char *name_of(const gltf_file *of, const gltf_placement *at) {
    const cJSON *holders[] = {gltf_item(of, GLTF_NODES, at->node),
                              gltf_item(of, GLTF_CAMERAS, at->camera)};
    for (int i = 0; i < 2; ++i) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(holders[i], "name");
        if (cJSON_IsString(name) && name->valuestring[0]) return name->valuestring;
    }
    return "camera";
}

/* Its volume is twice as tall as ymag says, whatever the picture's shape. */
static kd_status parallel_read(gltf_file *of, const json_place *at, const cJSON *lens,
                               float *tall) {
    double half = 1;
    KD_TRY(gltf_number(of, at, lens, "ymag", -1e30, 1e30, &half));
    *tall = (float)(2 * fabs(half));
    if (!(*tall > 0))
        return gltf_fail(of, "bad-value", at, "found a ymag of %g, expected one that is not 0",
                         half);
    return KD_OK;
}

static kd_status camera_read(gltf_file *of, const gltf_placement *from, mesh_camera *out,
                             bool *usable) {
    const json_place at = gltf_place(of, GLTF_CAMERAS, from->camera);
    const json_place lens_place = json_place_key(&at, "perspective");
    const json_place parallel_place = json_place_key(&at, "orthographic");
    const cJSON *lens = NULL, *parallel = NULL;
    double angle = pi / 4;
    *usable = false;
    KD_TRY(gltf_inner(of, &at, gltf_item(of, GLTF_CAMERAS, from->camera), "perspective", false,
                      &lens));
    KD_TRY(gltf_inner(of, &at, gltf_item(of, GLTF_CAMERAS, from->camera), "orthographic", false,
                      &parallel));
    if (!lens && !parallel) {
        gltf_warn(of, "unsupported", &at, "found no perspective and no orthographic; left out");
        return KD_OK;
    }
    if (lens) KD_TRY(gltf_number(of, &lens_place, lens, "yfov", 1e-4, 3.1, &angle));
    if (!lens) KD_TRY(parallel_read(of, &parallel_place, parallel, &out->view.tall));
    out->view.eye = place_of(&from->world);
    const vec3 forward = way_of(&from->world, 0, 0, -1);
    out->view.look_at = vec3_add(out->view.eye, forward);
    out->view.up = way_of(&from->world, 0, 1, 0);
    out->view.fov_degrees = (float)(angle * 180 / pi);
    *usable = vec3_is_finite(out->view.eye) && !vec3_is_zero(forward) &&
              !vec3_is_zero(out->view.up) &&
              !vec3_is_zero(vec3_sub(out->view.look_at, out->view.eye));
    if (!*usable)
        gltf_warn(of, "bad-value", &at, "found a node that squeezes the camera flat; left out");
    return KD_OK;
}

static kd_status camera_add(gltf_file *of, const gltf_placement *from, mesh *into) {
    mesh_camera made;
    bool usable = false;
    memset(&made, 0, sizeof made);
    KD_TRY(camera_read(of, from, &made, &usable));
    if (!usable) return KD_OK;
    const char *name = name_of(of, from);
    KD_TRY(KD_GROW(into->cameras, into->camera_count, (uint64_t)into->camera_count + 1));
    KD_TRY(KD_RESERVE(made.name, strlen(name) + 1));
    memcpy(made.name, name, strlen(name) + 1);
    into->cameras[into->camera_count++] = made;
    return KD_OK;
}

/* --- lights ----------------------------------------------------------------------------------- */

static double watts_a_lumen(const gltf_file *of) {
    return gltf_is_blenders(of) ? 1 / blender_lumens_a_watt : 1;
}

static kd_status spot_read(gltf_file *of, const json_place *at, const cJSON *from, light *out) {
    const cJSON *spot = NULL;
    const json_place place = json_place_key(at, "spot");
    double inner = 0, outer = pi / 4;
    KD_TRY(gltf_inner(of, at, from, "spot", false, &spot));
    if (spot) {
        KD_TRY(gltf_number(of, &place, spot, "innerConeAngle", 0, pi / 2, &inner));
        KD_TRY(gltf_number(of, &place, spot, "outerConeAngle", 0, pi / 2 + 1e-6, &outer));
    }
    out->cos_inner = (float)cos(inner);
    out->cos_outer = (float)cos(fmax(outer, inner));
    if (!(out->cos_outer < out->cos_inner)) out->cos_outer = out->cos_inner - 1e-6f;
    return KD_OK;
}

static kd_status light_read(gltf_file *of, const gltf_placement *from, light *out) {
    static const struct {
        const char *name;
        light_kind kind;
    } kinds[] = {{"point", LIGHT_POINT}, {"spot", LIGHT_SPOT}, {"directional", LIGHT_DIRECTIONAL}};
    const json_place at = gltf_place(of, GLTF_LIGHTS, from->light);
    const cJSON *item = gltf_item(of, GLTF_LIGHTS, from->light);
    const char *type = "";
    double intensity = 1;
    vec3 colour = vec3_all(1);
    KD_TRY(gltf_text(of, &at, item, "type", &type));
    KD_TRY(gltf_number(of, &at, item, "intensity", 0, 1e30, &intensity));
    KD_TRY(gltf_colour(of, &at, item, "color", &colour));
    out->kind = -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(type, kinds[i].name) == 0) out->kind = (int32_t)kinds[i].kind;
    if (out->kind < 0)
        return gltf_fail(of, "bad-value", &at,
                         "found the type \"%.20s\", expected point, spot or directional", type);
    if (out->kind == LIGHT_SPOT) KD_TRY(spot_read(of, &at, item, out));
    out->position = place_of(&from->world);
    out->direction = way_of(&from->world, 0, 0, -1);
    out->emitted = vec3_scale(colour, (float)(intensity * watts_a_lumen(of)));
    return KD_OK;
}

static kd_status light_add(gltf_file *of, const gltf_placement *from, mesh *into) {
    light made;
    memset(&made, 0, sizeof made);
    made.triangle = KD_NONE;
    KD_TRY(light_read(of, from, &made));
    const json_place at = gltf_place(of, GLTF_LIGHTS, from->light);
    const bool usable = vec3_is_finite(made.position) && vec3_is_finite(made.emitted) &&
                        (made.kind == LIGHT_POINT || !vec3_is_zero(made.direction));
    if (!usable) {
        gltf_warn(of, "bad-value", &at, "found a node that puts the light nowhere; left out");
        return KD_OK;
    }
    KD_TRY(KD_GROW(into->lights, into->light_count, (uint64_t)into->light_count + 1));
    into->lights[into->light_count++] = made;
    return KD_OK;
}

kd_status gltf_stage_read(gltf_file *of, const gltf_nodes *nodes, mesh *into) {
    for (uint32_t i = 0; i < nodes->count; ++i) {
        const gltf_placement *placed = &nodes->placed[i];
        if (placed->camera != KD_NONE) KD_TRY(camera_add(of, placed, into));
        if (placed->light != KD_NONE) KD_TRY(light_add(of, placed, into));
    }
    return KD_OK;
}
