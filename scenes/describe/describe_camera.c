/* The camera, and its keys by frame. */
#include "core/memory.h"
#include "scenes/describe/describe_reader.h"

static camera camera_of(const described_camera *words) {
    const camera view = {words->eye,         words->look_at,        words->up,  words->fov,
                         words->lens_radius, words->focus_distance, words->tall};
    return view;
}

static kd_status check_camera(const json_place *at, const cJSON *object,
                              const described_camera *words, bool whole) {
    if (json_has(object, "up") && vec3_is_zero(words->up))
        return json_fail(at, "up is [0, 0, 0], expected a direction");
    if (!whole) return KD_OK;
    const vec3 way = vec3_sub(words->look_at, words->eye);
    const vec3 up = vec3_is_zero(words->up) ? vec3_make(0, 1, 0) : vec3_normalize(words->up);
    if (vec3_is_zero(way)) return json_fail(at, "look_at is the same point as eye");
    if (vec3_is_zero(vec3_cross(vec3_normalize(way), up)))
        return json_fail(at, "up is parallel to the view");
    return KD_OK;
}

/* What no key before has given, no later one may. */
static kd_status key_gives(const json_place *at, const cJSON *object, const char *name, bool first,
                           bool *given) {
    if (first && json_has(object, name)) *given = true;
    if (*given || !json_has(object, name)) return KD_OK;
    return json_fail(at, "%s is in neither the camera nor its first key", name);
}

/* Each begins as the one before it. */
static kd_status read_keys(describe_reader *in, const json_place *at, described_camera words) {
    scene_draft *to = in->draft;
    const json_place keys = json_place_key(at, "keys");
    const cJSON *list = words.keys, *item = NULL;
    const int count = cJSON_GetArraySize(list);
    if (count < 1 || count > KEYFRAMES_MOST)
        return json_fail(&keys, "%d keys, expected 1 to %d", count, KEYFRAMES_MOST);
    KD_TRY(KD_RESERVE_ZEROED(to->keys, (uint64_t)count));
    cJSON_ArrayForEach(item, list) {
        const uint32_t number = to->key_count;
        const json_place here = json_place_item(&keys, (int)number);
        const double before = words.frame;
        KD_TRY(json_read(&here, item, describe_camera_key_keys, &words));
        if (!json_has(item, "frame")) return json_fail(&here, "frame is missing");
        if (number && !(words.frame > before))
            return json_fail(&here, "frame %g, expected a later one than %g", words.frame, before);
        KD_TRY(key_gives(&here, item, "eye", number == 0, &to->eye_given));
        KD_TRY(key_gives(&here, item, "look_at", number == 0, &to->look_at_given));
        KD_TRY(key_gives(&here, item, "fov", number == 0, &to->fov_given));
        KD_TRY(check_camera(&here, item, &words, to->eye_given && to->look_at_given));
        to->keys[number].frame = words.frame;
        to->keys[number].view = camera_of(&words);
        to->key_count = number + 1;
    }
    to->view = to->keys[0].view;
    return KD_OK;
}

kd_status describe_camera(describe_reader *in, const json_place *at, const cJSON *object) {
    described_camera words;
    memset(&words, 0, sizeof words);
    KD_TRY(json_read(at, object, describe_camera_keys, &words));
    scene_draft *to = in->draft;
    to->view = camera_of(&words);
    to->eye_given = json_has(object, "eye");
    to->look_at_given = json_has(object, "look_at");
    to->fov_given = json_has(object, "fov");
    KD_TRY(check_camera(at, object, &words, to->eye_given && to->look_at_given));
    return words.keys ? read_keys(in, at, words) : KD_OK;
}
