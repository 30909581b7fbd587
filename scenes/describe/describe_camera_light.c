/* Reads the camera with its keyframes, and an entry of "lights". */
#include "core/math/photometry.h"
#include "core/memory.h"
#include "core/status.h"
#include "scenes/describe/describe_reader.h"
#include <stdio.h>

static camera camera_of(const describe_reader *reader, const described_camera *words) {
    const camera view = {describe_local(reader, words->eye),
                         describe_local(reader, words->look_at),
                         words->up,
                         words->fov,
                         words->lens_radius,
                         words->focus_distance,
                         words->tall};
    return view;
}

static kd_status check_camera(const describe_reader *reader, const json_place *at,
                              const cJSON *object, const described_camera *words, bool whole) {
    if (json_has(object, "up") && vec3_is_zero(words->up))
        return json_fail(at, "`up` must not be [0, 0, 0]");
    if (!whole) return KD_OK;
    const vec3 direction = describe_vector(reader, words->eye, words->look_at);
    const vec3 up = vec3_is_zero(words->up) ? vec3_make(0, 1, 0) : vec3_normalize(words->up);
    if (vec3_is_zero(direction))
        return json_fail(at, "`look_at` must not be the same point as `eye`");
    if (vec3_is_zero(vec3_cross(vec3_normalize(direction), up)))
        return json_fail(at, "`up` must not be parallel to the viewing direction");
    return KD_OK;
}

/* Later keys may only change what the camera or the first key has set. */
static kd_status key_gives(const json_place *at, const cJSON *object, const char *name, bool first,
                           bool *given) {
    if (first && json_has(object, name)) *given = true;
    if (*given || !json_has(object, name)) return KD_OK;
    return json_fail(at, "`%s` is missing in the camera and in its first key", name);
}

/* Each key starts with the values of the previous one. */
static kd_status read_keys(describe_reader *reader, const json_place *at, described_camera words) {
    scene_draft *to = reader->draft;
    const json_place keys = json_place_key(at, "keys");
    const cJSON *list = words.keys, *item = NULL;
    const int count = cJSON_GetArraySize(list);
    if (count < 1 || count > KEYFRAMES_MAX)
        return json_fail(&keys, "found %d keys, expected 1 to %d", count, KEYFRAMES_MAX);
    KD_TRY(KD_RESERVE_ZEROED(to->keys, (uint64_t)count));
    cJSON_ArrayForEach(item, list) {
        const uint32_t number = to->key_count;
        const json_place place = json_place_item(&keys, (int)number);
        const double before = words.frame;
        KD_TRY(json_read(&place, item, describe_camera_key_keys, &words));
        if (!json_has(item, "frame")) return json_fail(&place, "`frame` is missing");
        if (number && !(words.frame > before))
            return json_fail(&place,
                             "`frame` is %g; expected more than %g, the frame of the key before",
                             words.frame, before);
        KD_TRY(key_gives(&place, item, "eye", number == 0, &to->has_eye));
        KD_TRY(key_gives(&place, item, "look_at", number == 0, &to->has_look_at));
        KD_TRY(key_gives(&place, item, "fov", number == 0, &to->has_fov));
        KD_TRY(check_camera(reader, &place, item, &words, to->has_eye && to->has_look_at));
        to->keys[number].frame = words.frame;
        to->keys[number].view = camera_of(reader, &words);
        to->key_count = number + 1;
    }
    to->view = to->keys[0].view;
    return KD_OK;
}

kd_status describe_camera(describe_reader *reader, const json_place *at, const cJSON *object) {
    described_camera words;
    memset(&words, 0, sizeof words);
    KD_TRY(json_read(at, object, describe_camera_keys, &words));
    scene_draft *to = reader->draft;
    to->view = camera_of(reader, &words);
    to->has_eye = json_has(object, "eye");
    to->has_look_at = json_has(object, "look_at");
    to->has_fov = json_has(object, "fov");
    KD_TRY(check_camera(reader, at, object, &words, to->has_eye && to->has_look_at));
    return words.keys ? read_keys(reader, at, words) : KD_OK;
}

static const float radians = KD_PI / 180;

/* The strength of a light: its total power, or another quantity, such as its intensity. */
typedef struct strength {
    vec3 value; /* W, W/sr or W/(sr m^2) */
    bool is_power;
} strength;

/* Reads the strength from exactly one of the keys `power`, `power_lumens`, `name` (`value`) and
   `photometric_name` (`photometric`). */
static kd_status strength_of(strength *out, const json_place *at, const cJSON *object,
                             const described_light *words, const char *name, vec3 value,
                             const char *photometric_name, vec3 photometric) {
    const bool power = json_has(object, "power"), lumens = json_has(object, "power_lumens");
    const bool other = json_has(object, name), seen = json_has(object, photometric_name);
    if (power + lumens + other + seen != 1)
        return json_fail(at, "set exactly one of `%s`, `%s`, `power` and `power_lumens`", name,
                         photometric_name);
    out->is_power = power || lumens;
    out->value = power    ? words->power
                 : lumens ? photometry_to_watts(words->lumens)
                 : other  ? value
                          : photometry_to_watts(photometric);
    return KD_OK;
}

/* Reads the strength of a point or spot light as an intensity; `solid_angle`: power / intensity. */
static kd_status intensity_of(vec3 *out, const json_place *at, const cJSON *object,
                              const described_light *words, float solid_angle) {
    strength given = {{0, 0, 0}, false};
    KD_TRY(strength_of(&given, at, object, words, "intensity", words->intensity,
                       "intensity_candelas", words->candelas));
    *out = given.is_power ? vec3_scale(given.value, 1 / solid_angle) : given.value;
    return KD_OK;
}

/* Begins a black material that emits. `radiance`: along the normal. */
static uint32_t add_lamp(describe_reader *reader, const described_light *words, const char *name,
                         mesh_material lamp, vec3 radiance) {
    char own[32];
    snprintf(own, sizeof own, "%s light", name);
    lamp.name = own;
    lamp.record.diffuse = vec3_all(0);
    lamp.record.emission = radiance;
    if (!words->camera_visible) lamp.record.flags |= MATERIAL_HIDDEN;
    reader->geometry.material = mesh_builder_copy_material(&reader->geometry, &lamp);
    return reader->geometry.material;
}

static void include_lamp(describe_reader *reader, uint64_t first_position) {
    const mesh *made = &reader->geometry.made;
    for (uint64_t i = first_position; i < made->position_count; ++i)
        box3_include(&reader->box, made->positions[i]);
}

/* Adds a ball that emits the intensity of a point light. */
static kd_status add_ball(describe_reader *reader, const described_light *words,
                          const light *point) {
    mesh unit;
    mesh_material lamp;
    KD_TRY(reader->load(&unit, "gen:sphere:1200", NULL, reader->job));
    double area = 0; /* area of the flat triangles */
    for (uint32_t i = 0; i < unit.triangle_count; ++i) {
        const uint32_t *corner = unit.triangles + 3 * (size_t)i;
        const vec3 a = unit.positions[corner[0]];
        area += 0.5 * (double)vec3_length(vec3_cross(vec3_sub(unit.positions[corner[1]], a),
                                                     vec3_sub(unit.positions[corner[2]], a)));
    }
    mesh_material_default(&lamp);
    const double radius = (double)words->radius;
    const float scale = (float)(4 / (area * radius * radius));
    const uint64_t begin = reader->geometry.made.triangle_count;
    const uint64_t first_position = reader->geometry.made.position_count;
    const uint32_t material =
        add_lamp(reader, words, "point", lamp, vec3_scale(point->emitted, scale));
    const transform larger = transform_scale(vec3_all(words->radius));
    const transform moved = transform_translate(point->position);
    const transform placed = transform_compose(&moved, &larger);
    mesh_builder_append(&reader->geometry, &unit, &placed);
    mesh_close(&unit);
    for (uint64_t i = begin; i < reader->geometry.made.triangle_count; ++i)
        reader->geometry.made.triangle_materials[i] = material;
    include_lamp(reader, first_position);
    return reader->geometry.status;
}

/* Adds a disc that emits the intensity of a spot: a regular polygon of the same area. */
static kd_status add_disc(describe_reader *reader, const described_light *words,
                          const light *spot) {
    enum { SIDES = 64 };
    const double step = 2 * (double)KD_PI / SIDES;
    const float corner = words->radius * (float)sqrt(step / sin(step));
    const float per_area = 1 / (KD_PI * words->radius * words->radius);
    const frame3 axes = frame3_around(spot->direction);
    const uint64_t first_position = reader->geometry.made.position_count;
    mesh_material lamp;
    vec3 rim[SIDES];
    mesh_material_default(&lamp);
    lamp.beam_inner = spot->cos_inner;
    lamp.beam_outer = spot->cos_outer;
    (void)add_lamp(reader, words, "spot", lamp, vec3_scale(spot->emitted, per_area));
    for (int i = 0; i < SIDES; ++i)
        rim[i] = vec3_add(spot->position,
                          frame3_to_world(&axes, vec3_make(corner * cosf((float)(i * step)),
                                                           corner * sinf((float)(i * step)), 0)));
    for (int i = 0; i < SIDES; ++i)
        mesh_builder_flat_triangle(&reader->geometry, spot->position, rim[i], rim[(i + 1) % SIDES]);
    include_lamp(reader, first_position);
    return reader->geometry.status;
}

static kd_status read_point(const describe_reader *reader, const json_place *at,
                            const cJSON *object, const described_light *words, light *made) {
    made->kind = LIGHT_POINT;
    made->position = describe_local(reader, words->position);
    return intensity_of(&made->emitted, at, object, words, 4 * KD_PI);
}

static kd_status read_spot(const describe_reader *reader, const json_place *at, const cJSON *object,
                           const described_light *words, light *made) {
    if (json_has(object, "direction") && json_has(object, "look_at"))
        return json_fail(at, "set exactly one of `direction` and `look_at`");
    if (!(words->inner_degrees < words->outer_degrees))
        return json_fail(at, "`inner_degrees` is %g; expected less than `outer_degrees`, %g",
                         (double)words->inner_degrees, (double)words->outer_degrees);
    made->kind = LIGHT_SPOT;
    made->position = describe_local(reader, words->position);
    made->direction = vec3_normalize(json_has(object, "look_at")
                                         ? describe_vector(reader, words->position, words->look_at)
                                         : words->direction);
    if (vec3_is_zero(made->direction))
        return json_fail(at, "the direction of the light must not have length 0");
    made->cos_inner = cosf(words->inner_degrees * radians);
    made->cos_outer = cosf(words->outer_degrees * radians);
    const float solid_angle = KD_PI * (2 - made->cos_inner - made->cos_outer);
    if (!(made->cos_inner > made->cos_outer) || !(solid_angle > 0))
        return json_fail(at, "the cone is too narrow; increase `outer_degrees`");
    if (words->radius > 0 && words->outer_degrees > 85)
        return json_fail(at, "`outer_degrees` is %g; a spot with a `radius` supports up to 85",
                         (double)words->outer_degrees);
    return intensity_of(&made->emitted, at, object, words, solid_angle);
}

static kd_status read_directional(const json_place *at, const cJSON *object,
                                  const described_light *words, light *made) {
    const bool lux = json_has(object, "illuminance_lux");
    if (lux && json_has(object, "irradiance"))
        return json_fail(at, "set exactly one of `irradiance` and `illuminance_lux`");
    made->kind = LIGHT_DIRECTIONAL;
    made->direction = vec3_normalize(words->direction);
    if (vec3_is_zero(made->direction))
        return json_fail(at, "the direction of the light must not have length 0");
    made->emitted = lux ? photometry_to_watts(words->lux) : words->irradiance;
    const double sine = sin(0.25 * (double)words->angle_degrees * (double)radians);
    made->area = (float)(2 * sine * sine); /* 1 - cosine of half the angle */
    made->two_sided = !words->camera_visible;
    return KD_OK;
}

/* Adds a black quad that emits. */
static kd_status read_area(describe_reader *reader, const json_place *at, const cJSON *object,
                           const described_light *words) {
    strength given = {{0, 0, 0}, false};
    KD_TRY(strength_of(&given, at, object, words, "radiance", words->radiance, "luminance_nits",
                       words->nits));
    const float area = vec3_length(vec3_cross(words->edge_u, words->edge_v));
    if (!(area > 0)) return json_fail(at, "the edges of the light must not be parallel or 0");
    float sides = words->two_sided ? 2 : 1;
    const uint64_t first_position = reader->geometry.made.position_count;
    mesh_material lamp;
    mesh_material_default(&lamp);
    lamp.record.two_sided = words->two_sided;
    if (words->spread_degrees < 180) {
        lamp.beam_inner = lamp.beam_outer = cosf(0.5f * words->spread_degrees * radians);
        sides *= (float)mesh_material_beam_power(&lamp);
    }
    (void)add_lamp(reader, words, "area", lamp,
                   given.is_power ? vec3_scale(given.value, 1 / (KD_PI * area * sides))
                                  : given.value);
    const vec3 a = describe_local(reader, words->corner);
    const vec3 b = vec3_add(a, words->edge_u), d = vec3_add(a, words->edge_v);
    const vec3 c = vec3_add(b, words->edge_v);
    mesh_builder_quad(&reader->geometry, a, b, c, d, vec2_make(1, 1));
    include_lamp(reader, first_position);
    return reader->geometry.status;
}

static kd_status read_kind(const json_place *at, const cJSON *object, int32_t *kind) {
    const json_place place = json_place_key(at, "kind");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "kind");
    static const json_key row = {
        .name = "kind", .kind = JSON_CHOICE, .choices = "point|spot|directional|area"};
    if (!cJSON_IsObject(object)) return json_unexpected(at, object, "an object");
    if (!value) return json_fail(&place, "missing; expected point, spot, directional or area");
    KD_TRY(json_read_value(&place, value, &row, kind));
    return KD_OK;
}

kd_status describe_light(describe_reader *reader, const json_place *at, const cJSON *object) {
    described_light words;
    light made;
    int32_t kind = 0;
    memset(&made, 0, sizeof made);
    memset(&words, 0, sizeof words);
    KD_TRY(read_kind(at, object, &kind));
    words.direction = vec3_make(0, -1, 0);
    words.edge_u = vec3_make(1, 0, 0);
    words.edge_v = vec3_make(0, 0, 1);
    words.irradiance = vec3_all(1);
    words.inner_degrees = 20;
    words.outer_degrees = 30;
    words.spread_degrees = 180;
    words.camera_visible = true;
    KD_TRY(json_read(at, object, describe_light_keys[kind], &words));
    switch (kind) {
    case DESCRIBED_POINT: KD_TRY(read_point(reader, at, object, &words, &made)); break;
    case DESCRIBED_SPOT: KD_TRY(read_spot(reader, at, object, &words, &made)); break;
    case DESCRIBED_DIRECTIONAL: KD_TRY(read_directional(at, object, &words, &made)); break;
    default: KD_TRY(read_area(reader, at, object, &words)); return KD_OK;
    }
    if (vec3_is_zero(made.emitted))
        log_message(LOG_WARNING, "%s: lights[%d] is black and emits no light", reader->path,
                    at->index);
    if (words.radius > 0)
        return kind == DESCRIBED_SPOT ? add_disc(reader, &words, &made)
                                      : add_ball(reader, &words, &made);
    KD_TRY(scene_draft_add_light(reader->draft, &made));
    return KD_OK;
}
