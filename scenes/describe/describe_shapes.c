/* Reads the shapes that are generated from a few numbers: box, lathe, torus, cylinder. */
#include "core/memory.h"
#include "core/status.h"
#include "scenes/describe/describe_reader.h"
#include "scenes/mesh/shapes.h"
#include <string.h>

enum { PROFILE_MAX = 100000 };

/* Far away, the corners may be equal as floats but not in double precision. */
static kd_status read_box(const describe_reader *reader, const json_place *at, const cJSON *object,
                          mesh_builder *part) {
    described_box words = {{-1, -1, -1}, {1, 1, 1}, 0, 5000};
    const json_place rounding = json_place_key(at, "rounding");
    double corners[2][3];
    KD_TRY(json_read(at, object, describe_box_keys, &words));
    memcpy(corners[0], words.lo, sizeof corners[0]);
    memcpy(corners[1], words.hi, sizeof corners[1]);
    describe_place_part(reader, corners, 2, part);
    const vec3 lo = origin_to_local(part->made.origin, corners[0]);
    const vec3 hi = origin_to_local(part->made.origin, corners[1]);
    const box3 box = {lo, hi};
    double moved[3] = {0, 0, 0};
    for (int i = 0; i < 3; ++i)
        if (!(vec3_axis(lo, i) < vec3_axis(hi, i)) &&
            !(words.lo[i] < words.hi[i] && origin_move(moved, box)))
            return json_fail(at, "`lo` must be less than `hi` in all three coordinates");
    for (int i = 0; i < 3; ++i)
        if (2 * words.rounding > (words.hi[i] - words.lo[i]) * (1 + 1e-6))
            return json_fail(&rounding, "found %.9g, expected at most half the smallest side",
                             words.rounding);
    const transform unmoved = transform_identity();
    if (words.rounding > 0)
        shape_rounded_box(part, lo, hi, words.rounding, words.triangles);
    else
        mesh_builder_box(part, lo, hi, &unmoved);
    return KD_OK;
}

/* Sets the origin of a part within `radius` of the axis through `base`; returns `base` relative to
   it. */
static vec3 place_round(const describe_reader *reader, const double base[3], float radius,
                        float low, float high, mesh_builder *part) {
    const double r = (double)radius;
    double corners[2][3] = {{base[0] - r, base[1] + (double)low, base[2] - r},
                            {base[0] + r, base[1] + (double)high, base[2] + r}};
    describe_place_part(reader, corners, 2, part);
    return origin_to_local(part->made.origin, base);
}

/* --- lathe ------------------------------------------------------------------------------------ */

static kd_status read_point(const json_place *at, const cJSON *item, profile_point *point) {
    const int count = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 0;
    const cJSON *mark = cJSON_GetArrayItem(item, 2);
    if (count < 2 || count > 3 ||
        (mark && !(cJSON_IsString(mark) && strcmp(mark->valuestring, "sharp") == 0)))
        return json_unexpected(at, item, "[radius, height] or [radius, height, \"sharp\"]");
    point->sharp = mark != NULL;
    const json_place radius = json_place_item(at, 0), height = json_place_item(at, 1);
    KD_TRY(json_read_value(&radius, cJSON_GetArrayItem(item, 0), &describe_profile_keys[0],
                           &point->radius));
    KD_TRY(json_read_value(&height, cJSON_GetArrayItem(item, 1), &describe_profile_keys[1],
                           &point->height));
    return KD_OK;
}

static bool same_point(const profile_point *a, const profile_point *b) {
    return !(a->radius < b->radius) && !(a->radius > b->radius) && !(a->height < b->height) &&
           !(a->height > b->height);
}

static kd_status read_profile(const json_place *at, const cJSON *list, profile_point *points) {
    const cJSON *item = NULL;
    int i = 0;
    float largest = 0;
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(at, i);
        KD_TRY(read_point(&place, item, &points[i]));
        if (i > 0 && same_point(&points[i - 1], &points[i]))
            return json_fail(&place, "the point equals the one before it; remove it");
        largest = float_max(largest, points[i++].radius);
    }
    if (!(largest > 0)) return json_fail(at, "all points lie on the axis; expected a radius > 0");
    return KD_OK;
}

static kd_status turn_profile(const describe_reader *reader, const json_place *at,
                              const described_lathe *words, revolved_shape *shape,
                              mesh_builder *part) {
    const profile_point *points = shape->profile;
    const uint32_t n = shape->point_count;
    const json_place last = json_place_item(at, (int)n - 1);
    float radius = 0, low = points[0].height, high = low;
    uint32_t crossing = 0;
    if (words->closed && same_point(&points[0], &points[n - 1]))
        return json_fail(&last, "the last point of a closed profile equals the first; remove it");
    for (uint32_t i = 0; i < n; ++i) {
        radius = float_max(radius, points[i].radius);
        low = float_min(low, points[i].height);
        high = float_max(high, points[i].height);
    }
    shape->base = place_round(reader, words->base, radius, low, high, part);
    if (shape_revolve(part, shape, &crossing)) return KD_OK;
    const json_place before = json_place_item(at, (int)crossing);
    return json_fail(&before,
                     "the smooth curve after this point crosses the axis; add points, or mark "
                     "some \"sharp\"");
}

static kd_status read_lathe(const describe_reader *reader, const json_place *at,
                            const described_mesh *mesh_words, mesh_builder *part) {
    described_lathe words = {{0, 0, 0}, NULL, false, false, false, 30, 20000};
    const json_place profile = json_place_key(at, "profile");
    profile_point *points = NULL;
    KD_TRY(json_read(at, mesh_words->lathe, describe_lathe_keys, &words));
    if (!words.profile) return json_fail(at, "`profile` is required");
    if (!cJSON_IsArray(words.profile))
        return json_unexpected(&profile, words.profile, "a list of [radius, height]");
    const int count = cJSON_GetArraySize(words.profile), least = words.closed ? 3 : 2;
    if (count < least || count > PROFILE_MAX)
        return json_fail(&profile, "found %d points, expected %d to %d", count, least, PROFILE_MAX);
    if (words.closed && words.caps) return json_fail(at, "set only one of `closed` and `caps`");
    if (words.smooth && !json_has(mesh_words->lathe, "crease_degrees")) words.crease_degrees = 180;
    KD_TRY(KD_RESERVE(points, (uint64_t)count));
    revolved_shape shape = {
        points,          (uint32_t)count, words.smooth,
        words.closed,    words.caps,      (double)words.crease_degrees,
        words.triangles, vec3_all(0),     vec2_make(mesh_words->uv[0], mesh_words->uv[1])};
    kd_status status = read_profile(&profile, words.profile, points);
    if (status == KD_OK) status = turn_profile(reader, &profile, &words, &shape, part);
    memory_free(points);
    return status;
}

/* --- torus, cylinder -------------------------------------------------------------------------- */

static kd_status read_torus(const describe_reader *reader, const json_place *at,
                            const described_mesh *mesh_words, mesh_builder *part) {
    described_torus words = {{0, 0, 0}, 1, 0.25f, 20000};
    const json_place tube = json_place_key(at, "tube_radius");
    KD_TRY(json_read(at, mesh_words->torus, describe_torus_keys, &words));
    if (!(words.tube_radius < words.radius))
        return json_fail(&tube, "found %.9g, expected less than `radius`, %.9g",
                         (double)words.tube_radius, (double)words.radius);
    const float thick = words.tube_radius;
    const vec3 centre =
        place_round(reader, words.centre, words.radius + thick, -thick, thick, part);
    shape_torus(part, centre, words.radius, thick, words.triangles,
                vec2_make(mesh_words->uv[0], mesh_words->uv[1]));
    return KD_OK;
}

static kd_status read_cylinder(const describe_reader *reader, const json_place *at,
                               const described_mesh *mesh_words, mesh_builder *part) {
    described_cylinder words = {{0, 0, 0}, 1, 1, 1, true, 2000};
    KD_TRY(json_read(at, mesh_words->cylinder, describe_cylinder_keys, &words));
    if (!json_has(mesh_words->cylinder, "top_radius")) words.top_radius = words.radius;
    const float widest = float_max(words.radius, words.top_radius);
    if (!(widest > 0))
        return json_fail(at, "`radius` and `top_radius` are 0; expected one of them > 0");
    cone_shape shape = {vec3_all(0),
                        words.radius,
                        words.top_radius,
                        words.height,
                        words.caps,
                        words.triangles,
                        vec2_make(mesh_words->uv[0], mesh_words->uv[1])};
    shape.base = place_round(reader, words.base, widest, 0, words.height, part);
    shape_cone(part, &shape);
    return KD_OK;
}

kd_status describe_shape(const describe_reader *reader, const json_place *at,
                         const described_mesh *words, mesh_builder *part) {
    const json_place box = json_place_key(at, "box"), lathe = json_place_key(at, "lathe");
    const json_place torus = json_place_key(at, "torus");
    const json_place cylinder = json_place_key(at, "cylinder");
    if (words->box) KD_TRY(read_box(reader, &box, words->box, part));
    if (words->lathe) KD_TRY(read_lathe(reader, &lathe, words, part));
    if (words->torus) KD_TRY(read_torus(reader, &torus, words, part));
    if (words->cylinder) KD_TRY(read_cylinder(reader, &cylinder, words, part));
    return KD_OK;
}
