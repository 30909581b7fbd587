/* A step of a transform: one of four kinds, or keys of one kind by frame. */
#include "core/memory.h"
#include "scenes/describe/describe_reader.h"
#include "scenes/describe/keyframes.h"

typedef enum step_kind { STEP_TRANSLATE, STEP_SCALE, STEP_MATRIX, STEP_ROTATE } step_kind;
enum { STEP_NUMBERS = 22 };

/* Which one of the four it is, and that it is one. */
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
        return json_fail(at, "found %d steps, expected one of translate, rotate, scale, matrix",
                         steps);
    if (*kind == STEP_ROTATE && (!json_has(object, "rotate") || !json_has(object, "degrees")))
        return json_fail(at, "rotate and degrees go together");
    return KD_OK;
}

static kd_status make_step(const json_place *at, const described_step *words, step_kind kind,
                           transform *step) {
    *step = transform_identity();
    if (kind == STEP_TRANSLATE) *step = transform_translate(words->translate);
    if (kind == STEP_SCALE) *step = transform_scale(words->scale);
    if (kind == STEP_MATRIX) memcpy(step->m, words->matrix, sizeof step->m);
    if (kind != STEP_ROTATE) return KD_OK;
    if (vec3_is_zero(words->rotate)) return json_fail(at, "rotate is [0, 0, 0], expected an axis");
    *step = transform_rotate(words->rotate, (double)words->degrees);
    return KD_OK;
}

/* A key's words as numbers, and back. */
static void step_numbers(const described_step *words, double out[STEP_NUMBERS]) {
    const vec3 vectors[3] = {words->translate, words->rotate, words->scale};
    for (int i = 0; i < 9; ++i) out[i] = (double)vec3_axis(vectors[i / 3], i % 3);
    out[9] = (double)words->degrees;
    memcpy(out + 10, words->matrix, sizeof words->matrix);
}
static void step_words(described_step *out, const double from[STEP_NUMBERS]) {
    vec3 *vectors[3] = {&out->translate, &out->rotate, &out->scale};
    for (int i = 0; i < 9; ++i) vec3_set_axis(vectors[i / 3], i % 3, (float)from[i]);
    out->degrees = (float)from[9];
    memcpy(out->matrix, from + 10, sizeof out->matrix);
}

/* The words of one key; `before`: the frame of the one before it. */
static kd_status read_key(const json_place *at, const cJSON *item, step_kind kind, bool first,
                          double before, described_step *words, step_kind *own) {
    memset(words, 0, sizeof *words);
    KD_TRY(json_read(at, item, describe_step_key_keys, words));
    KD_TRY(find_kind(at, item, own));
    if (!json_has(item, "frame")) return json_fail(at, "frame is missing");
    if (!first && *own != kind) return json_fail(at, "a step of another kind than the first one");
    if (!first && !(words->frame > before))
        return json_fail(at, "frame %g, expected a later one than %g", words->frame, before);
    return KD_OK;
}

/* The step at the reader's frame. */
static kd_status read_keys(describe_reader *in, const json_place *at, const cJSON *list,
                           described_step *words, step_kind *kind) {
    const json_place keys = json_place_key(at, "keys");
    const int count = cJSON_GetArraySize(list);
    const cJSON *item = NULL;
    double *numbers = NULL, at_frame[STEP_NUMBERS];
    uint32_t used = 0;
    kd_status status = KD_OK;
    if (count < 1 || count > KEYFRAMES_MOST)
        return json_fail(&keys, "%d keys, expected 1 to %d", count, KEYFRAMES_MOST);
    KD_TRY(KD_RESERVE(numbers, (uint64_t)count * (STEP_NUMBERS + 1)));
    double *frames = numbers + (size_t)count * STEP_NUMBERS;
    cJSON_ArrayForEach(item, list) {
        const json_place here = json_place_item(&keys, (int)used);
        step_kind own = STEP_TRANSLATE;
        KD_TRY_GOTO(
            read_key(&here, item, *kind, used == 0, used ? frames[used - 1] : 0, words, &own));
        *kind = own;
        step_numbers(words, numbers + (size_t)used * STEP_NUMBERS);
        frames[used++] = words->frame;
    }
    keyframes_at(frames, numbers, used, STEP_NUMBERS, in->frame, at_frame);
    step_words(words, at_frame);
    in->draft->moves = true;
done:
    memory_free(numbers);
    return status;
}

kd_status describe_step(describe_reader *in, const json_place *at, const cJSON *object,
                        transform *step) {
    described_step words;
    step_kind kind = STEP_TRANSLATE;
    memset(&words, 0, sizeof words);
    KD_TRY(json_read(at, object, describe_step_keys, &words));
    if (words.keys && cJSON_GetArraySize(object) > 1)
        return json_fail(at, "keys and something else, expected keys alone");
    if (words.keys)
        KD_TRY(read_keys(in, at, words.keys, &words, &kind));
    else
        KD_TRY(find_kind(at, object, &kind));
    return make_step(at, &words, kind, step);
}
