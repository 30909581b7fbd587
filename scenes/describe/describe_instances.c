/* Reads steps of a transform (one of four kinds, or keyframes of one kind), and placements:
   instances of a mesh from a list, from a file of matrices, or at random. */
#include "accel/instances.h"
#include "core/files/file.h"
#include "core/math/rng.h"
#include "core/memory.h"
#include "scenes/describe/describe_reader.h"
#include "scenes/describe/keyframes.h"
#include "scenes/text/number.h"

typedef enum step_kind { STEP_TRANSLATE, STEP_SCALE, STEP_MATRIX, STEP_ROTATE } step_kind;
enum { STEP_NUMBERS = 22 };

/* Finds the kind of a step, and checks that there is exactly one. */
static kd_status find_kind(const json_place *at, const cJSON *object, step_kind *kind) {
    static const char *const names[] = {"translate", "scale", "matrix", "rotate", "degrees"};
    int steps = 0;
    for (int i = 0; i < 4; ++i) {
        const bool turned = i == STEP_ROTATE && json_has(object, names[4]);
        if (!json_has(object, names[i]) && !turned) continue;
        *kind = (step_kind)i;
        ++steps;
    }
    if (steps != 1)
        return json_fail(at,
                         "found %d of the keys `translate`, `rotate`, `scale` and `matrix`, "
                         "expected exactly one",
                         steps);
    if (*kind == STEP_ROTATE && (!json_has(object, "rotate") || !json_has(object, "degrees")))
        return json_fail(at, "set both `rotate` and `degrees`, or neither");
    return KD_OK;
}

static kd_status make_step(const json_place *at, const described_step *words, step_kind kind,
                           transform *step) {
    *step = transform_identity();
    for (int i = 0; i < 3 && kind == STEP_TRANSLATE; ++i) step->m[i][3] = words->translate[i];
    if (kind == STEP_SCALE) *step = transform_scale(words->scale);
    if (kind == STEP_MATRIX) memcpy(step->m, words->matrix, sizeof step->m);
    if (kind != STEP_ROTATE) return KD_OK;
    if (vec3_is_zero(words->rotate))
        return json_fail(at, "`rotate` must not be [0, 0, 0]; expected an axis");
    *step = transform_rotate(words->rotate, (double)words->degrees);
    return KD_OK;
}

/* Rounds the translation to float, unless the scene needs all its digits. */
static void settle(const describe_reader *reader, described_step *words) {
    for (int i = 0; i < 3 && !reader->exact; ++i)
        words->translate[i] = (double)(float)words->translate[i];
}

/* Conversion of a step to numbers, for interpolation, and back. */
static void step_numbers(const described_step *words, double out[STEP_NUMBERS]) {
    const vec3 vectors[2] = {words->rotate, words->scale};
    memcpy(out, words->translate, sizeof words->translate);
    for (int i = 0; i < 6; ++i) out[3 + i] = (double)vec3_axis(vectors[i / 3], i % 3);
    out[9] = (double)words->degrees;
    memcpy(out + 10, words->matrix, sizeof words->matrix);
}
static void step_words(described_step *out, const double from[STEP_NUMBERS]) {
    vec3 *vectors[2] = {&out->rotate, &out->scale};
    memcpy(out->translate, from, sizeof out->translate);
    for (int i = 0; i < 6; ++i) vec3_set_axis(vectors[i / 3], i % 3, (float)from[3 + i]);
    out->degrees = (float)from[9];
    memcpy(out->matrix, from + 10, sizeof out->matrix);
}

/* Reads one key. `before` is the frame of the previous key. */
static kd_status read_key(const json_place *at, const cJSON *item, step_kind kind, bool first,
                          double before, described_step *words, step_kind *step) {
    memset(words, 0, sizeof *words);
    KD_TRY(json_read(at, item, describe_step_key_keys, words));
    KD_TRY(find_kind(at, item, step));
    if (!json_has(item, "frame")) return json_fail(at, "`frame` is missing");
    if (!first && *step != kind)
        return json_fail(at, "all keys of a step must be of the same kind");
    if (!first && !(words->frame > before))
        return json_fail(at, "`frame` is %g; expected more than %g, the frame of the key before",
                         words->frame, before);
    return KD_OK;
}

/* Reads all keys and interpolates the step at the reader's frame. */
static kd_status read_keys(describe_reader *reader, const json_place *at, const cJSON *list,
                           described_step *words, step_kind *kind) {
    const json_place keys = json_place_key(at, "keys");
    const int count = cJSON_GetArraySize(list);
    const cJSON *item = NULL;
    double *numbers = NULL, at_frame[STEP_NUMBERS];
    uint32_t used = 0;
    kd_status status = KD_OK;
    if (count < 1 || count > KEYFRAMES_MAX)
        return json_fail(&keys, "found %d keys, expected 1 to %d", count, KEYFRAMES_MAX);
    KD_TRY(KD_RESERVE(numbers, (uint64_t)count * (STEP_NUMBERS + 1)));
    double *frames = numbers + (size_t)count * STEP_NUMBERS;
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(&keys, (int)used);
        step_kind step = STEP_TRANSLATE;
        KD_TRY_GOTO(
            read_key(&place, item, *kind, used == 0, used ? frames[used - 1] : 0, words, &step));
        *kind = step;
        settle(reader, words);
        step_numbers(words, numbers + (size_t)used * STEP_NUMBERS);
        frames[used++] = words->frame;
    }
    keyframes_at(frames, numbers, used, STEP_NUMBERS, reader->frame, at_frame);
    step_words(words, at_frame);
    reader->draft->moves = true;
done:
    memory_free(numbers);
    return status;
}

kd_status describe_step(describe_reader *reader, const json_place *at, const cJSON *object,
                        transform *step) {
    described_step words;
    step_kind kind = STEP_TRANSLATE;
    memset(&words, 0, sizeof words);
    KD_TRY(json_read(at, object, describe_step_keys, &words));
    if (words.keys && cJSON_GetArraySize(object) > 1)
        return json_fail(at, "a step with `keys` must not have other keys");
    if (words.keys)
        KD_TRY(read_keys(reader, at, words.keys, &words, &kind));
    else
        KD_TRY(find_kind(at, object, &kind));
    settle(reader, &words);
    return make_step(at, &words, kind, step);
}

enum { SCATTER_PASS = 0x73636174 }; /* rng_key.pass */

typedef struct instancing {
    describe_reader *reader;
    box3 box; /* bounds of the mesh, in its own coordinates */
    const transform *pose;
    uint32_t shape;   /* index in the draft */
    const char *file; /* file of matrices; NULL: none */
    uint64_t line;    /* current line of that file, 1-based */
} instancing;

/* Returns the shape with reversed winding, for mirroring transforms. The first call creates it. */
static kd_status turned_shape(instancing *instancing, uint32_t *shape) {
    scene_draft *draft = instancing->reader->draft;
    draft_shape turned = draft->shapes[instancing->shape];
    if (turned.reversed == KD_NONE) {
        turned.first =
            mesh_builder_repeat_turned(&instancing->reader->geometry, turned.first, turned.count);
        KD_TRY(instancing->reader->geometry.status);
        KD_TRY(scene_draft_add_shape(draft, &turned));
        draft->shapes[instancing->shape].reversed = draft->shape_count - 1;
    }
    *shape = draft->shapes[instancing->shape].reversed;
    return KD_OK;
}

static kd_status add_instance(instancing *instancing, const json_place *at,
                              const transform *to_world) {
    instance made;
    uint32_t shape = instancing->shape;
    const describe_reader *reader = instancing->reader;
    transform whole = transform_compose(to_world, instancing->pose);
    for (int i = 0; i < 3; ++i) whole.m[i][3] -= reader->origin[i];
    if (transform_determinant(&whole) < 0) KD_TRY(turned_shape(instancing, &shape));
    if (instance_make(&made, &whole, shape) != KD_OK)
        return instancing->file ? json_fail(at, "%s, line %llu of the file: %s", instancing->file,
                                            (unsigned long long)instancing->line, kd_last_error())
                                : json_fail(at, "%s", kd_last_error());
    const box3 box = instance_box(&made, instancing->box);
    if (!box3_is_empty(instancing->box)) box3_join(&instancing->reader->box, box);
    return scene_draft_add_instance(instancing->reader->draft, &made);
}

static kd_status put_listed(instancing *instancing, const json_place *at, const cJSON *list) {
    const cJSON *item = NULL;
    int index = 0;
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(at, index++);
        transform transform = transform_identity();
        KD_TRY(describe_transform(instancing->reader, &place, item, &transform));
        KD_TRY(add_instance(instancing, &place, &transform));
    }
    return KD_OK;
}

/* Reads 12 numbers up to the end of the line. Returns false on anything else. */
static bool read_matrix(text_cursor *cursor, transform *out, bool exact) {
    for (int i = 0; i < 12; ++i) {
        float number = 0;
        text_skip_blanks(cursor);
        const char *begin = cursor->at, *end = number_float(begin, &number);
        if (!end || !isfinite(number)) return false;
        cursor->at = end;
        out->m[i / 4][i % 4] = (double)number;
        if (exact) number_double(begin, &out->m[i / 4][i % 4]);
    }
    text_skip_blanks(cursor);
    return text_at_end(cursor);
}

static kd_status put_lines(instancing *instancing, const json_place *at, const char *text,
                           uint64_t bytes) {
    text_cursor cursor = {text, 0};
    while (cursor.at < text + bytes) {
        transform transform;
        text_skip_blanks(&cursor);
        if (!text_at_end(&cursor)) {
            instancing->line = cursor.line + 1;
            if (!read_matrix(&cursor, &transform, instancing->reader->exact))
                return json_fail(at, "%s, line %llu of the file: expected 12 finite numbers",
                                 instancing->file, (unsigned long long)instancing->line);
            KD_TRY(add_instance(instancing, at, &transform));
        }
        text_skip_comment(&cursor);
    }
    return KD_OK;
}

static kd_status put_file(instancing *instancing, const json_place *at, const char *name) {
    char *path = NULL, *text = NULL;
    file_view file;
    instancing->file = name;
    KD_TRY(describe_path(instancing->reader, name, &path));
    kd_status status = file_open(&file, path);
    memory_free(path);
    KD_TRY(status);
    status = KD_RESERVE(text, (uint64_t)file.count + 2);
    if (status == KD_OK) {
        memcpy(text, file.bytes, file.count);
        memcpy(text + file.count, "\n\n", 2); /* terminate it as text.h requires */
        status = put_lines(instancing, at, text, file.count);
    }
    memory_free(text);
    file_close(&file);
    return status;
}

/* Returns the translation to a point of the box; `random` is the point's place in it. */
static transform scattered_at(const describe_reader *reader, const described_scatter *words,
                              const float random[3]) {
    transform made = transform_identity();
    for (int i = 0; i < 3; ++i) {
        const float lo = (float)words->lo[i], hi = (float)words->hi[i];
        const float size = reader->exact ? (float)(words->hi[i] - words->lo[i]) : hi - lo;
        made.m[i][3] = reader->exact ? words->lo[i] + (double)(size * random[i])
                                     : (double)(lo + size * random[i]);
    }
    return made;
}

static kd_status put_scattered(instancing *instancing, const json_place *at, const cJSON *object) {
    described_scatter words = {.lo = {-1, 0, -1}, .hi = {1, 0, 1}, .scale = {1, 1}, .turned = true};
    KD_TRY(json_read(at, object, describe_scatter_keys, &words));
    if (!json_has(object, "count")) return json_fail(at, "`count` is missing");
    for (uint64_t i = 0; i < words.count; ++i) {
        const rng_key key = rng_key_make(words.seed, SCATTER_PASS, i);
        const rng_block place = rng_draw(key, 0, 0), form = rng_draw(key, 0, 1);
        const transform moved = scattered_at(instancing->reader, &words, place.value);
        const float larger = words.scale[0] + (words.scale[1] - words.scale[0]) * form.value[0];
        const transform sized = transform_scale(vec3_all(larger));
        const double degrees = words.turned ? 360 * (double)form.value[1] : 0;
        const transform turned = transform_rotate(vec3_make(0, 1, 0), degrees);
        const transform formed = transform_compose(&turned, &sized);
        const transform to_world = transform_compose(&moved, &formed);
        KD_TRY(add_instance(instancing, at, &to_world));
    }
    return KD_OK;
}

kd_status describe_instances(describe_reader *reader, const json_place *at,
                             const described_mesh *words, const transform *pose,
                             const draft_shape *begin, box3 box) {
    const json_place list = json_place_key(at, "placements"),
                     random = json_place_key(at, "scatter");
    const mesh *made = &reader->geometry.made;
    instancing to = {
        .reader = reader, .box = box, .pose = pose, .shape = reader->draft->shape_count};
    draft_shape shape = *begin;
    shape.count = made->triangle_count - begin->first;
    shape.position_count = made->position_count - begin->position;
    shape.normal_count = made->normal_count - begin->normal;
    if (words->instances && words->scatter)
        return json_fail(at, "set only one of `placements` and `scatter`");
    KD_TRY(scene_draft_add_shape(reader->draft, &shape));
    if (words->scatter) return put_scattered(&to, &random, words->scatter);
    if (cJSON_IsString(words->instances))
        return put_file(&to, &list, words->instances->valuestring);
    if (!cJSON_IsArray(words->instances))
        return json_unexpected(&list, words->instances, "a list of lists of steps or a file");
    return put_listed(&to, &list, words->instances);
}
