/* Evaluates one animation of a glTF file at a time: translations, rotations, scales and weights of
   morph targets of nodes, which replace those of the file.
   Idea: each channel refers to a sampler, a list of times and one of values. The interval that contains the
         time is found by bisection; before the first and after the last key the value is constant.
   Source: glTF 2.0 specification, section 3.11 and appendix C (interpolation).
   Limits: animations of other properties (KHR_animation_pointer) are reported and ignored. */
#include "core/memory.h"
#include "scenes/import/gltf_parts.h"
#include <stdlib.h>

enum { KEYS_LINEAR, KEYS_STEP, KEYS_CUBIC };

typedef struct motion_keys {
    float *times, *values; /* owned */
    uint32_t count, width; /* number of keys; values per key, without the tangents */
    int kind;              /* KEYS_LINEAR, ... */
} motion_keys;

static void keys_close(motion_keys *owned) {
    memory_free(owned->times);
    memory_free(owned->values);
}

/* --- reading a sampler ------------------------------------------------------------------------ */

static kd_status keys_kind(gltf_file *gltf, const json_place *at, const cJSON *sampler,
                           motion_keys *out) {
    static const char *const names[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    const char *name = "LINEAR";
    KD_TRY(gltf_text(gltf, at, sampler, "interpolation", &name));
    for (int i = 0; i < 3; ++i)
        if (strcmp(name, names[i]) == 0) {
            out->kind = i;
            return KD_OK;
        }
    return gltf_fail(gltf, "bad-value", at,
                     "found the interpolation \"%.20s\", expected LINEAR, STEP or CUBICSPLINE",
                     name);
}

static kd_status keys_floats(gltf_file *gltf, const json_place *at, const cJSON *sampler,
                             const char *key, gltf_accessor *from, float **values) {
    uint32_t index = KD_NONE;
    KD_TRY(gltf_index(gltf, at, sampler, key, GLTF_ACCESSORS, &index));
    if (index == KD_NONE)
        return gltf_fail(gltf, "bad-value", at, "found no accessor `%s`, expected one", key);
    KD_TRY(gltf_accessor_open(gltf, index, from));
    return gltf_accessor_floats(gltf, from, values);
}

static kd_status keys_check(gltf_file *gltf, const json_place *at, const motion_keys *keys,
                            uint64_t numbers) {
    const uint64_t rows = (uint64_t)keys->count * (keys->kind == KEYS_CUBIC ? 3 : 1);
    if (keys->count == 0 || keys->width == 0 || numbers != rows * keys->width)
        return gltf_fail(
            gltf, "bad-value", at,
            "found %u times and %llu values, expected at least one time and as many values",
            keys->count, (unsigned long long)numbers);
    for (uint64_t i = 0; i < numbers; ++i)
        if (!isfinite(keys->values[i]))
            return gltf_fail(gltf, "bad-value", at, "found a value that is not finite");
    for (uint32_t i = 0; i < keys->count; ++i)
        if (!isfinite(keys->times[i]) || (i && !(keys->times[i] > keys->times[i - 1])))
            return gltf_fail(gltf, "bad-value", at,
                             "found the time %g after %g, expected finite times that increase",
                             (double)keys->times[i], i ? (double)keys->times[i - 1] : 0.0);
    return KD_OK;
}

/* Reads the sampler into zeroed keys. `width`: values per key; 0: derived from their number. */
static kd_status keys_read(gltf_file *gltf, const json_place *at, const cJSON *sampler,
                           uint32_t width, motion_keys *out) {
    gltf_accessor times, values;
    KD_TRY(keys_kind(gltf, at, sampler, out));
    KD_TRY(keys_floats(gltf, at, sampler, "input", &times, &out->times));
    KD_TRY(keys_floats(gltf, at, sampler, "output", &values, &out->values));
    if (times.components != 1 || values.components != (width ? width : 1))
        return gltf_fail(gltf, "bad-value", at,
                         "found times of %u and values of %u components, expected 1 and %u",
                         times.components, values.components, width ? width : 1);
    out->count = times.count;
    const uint32_t rows = out->kind == KEYS_CUBIC ? 3 : 1;
    out->width = width ? width : times.count ? values.count / times.count / rows : 0;
    return keys_check(gltf, at, out, (uint64_t)values.count * values.components);
}

/* --- interpolation ---------------------------------------------------------------------------- */

/* Values of key i; of its tangents if `part` is -1 (in) or 1 (out). */
static const float *key_at(const motion_keys *keys, uint32_t i, int part) {
    const uint64_t row = keys->kind == KEYS_CUBIC ? (uint64_t)(3 * (int64_t)i + 1 + part) : i;
    return keys->values + row * keys->width;
}

/* Spherical interpolation along the shorter arc. */
static void turn_between(const float *a, const float *b, double t, double out[4]) {
    double cosine = 0;
    for (int k = 0; k < 4; ++k) cosine += (double)a[k] * (double)b[k];
    const double sign = cosine < 0 ? -1 : 1, angle = acos(fmin(fabs(cosine), 1));
    const double sine = sin(angle);
    const double first = sine > 1e-6 ? sin((1 - t) * angle) / sine : 1 - t;
    const double second = sine > 1e-6 ? sin(t * angle) / sine : t;
    for (int k = 0; k < 4; ++k) out[k] = first * (double)a[k] + sign * second * (double)b[k];
}

static void interpolate_keys(const motion_keys *keys, uint32_t i, double time, bool turns,
                             double *out) {
    const double from = (double)keys->times[i], length = (double)keys->times[i + 1] - from;
    const double t = (time - from) / length, t2 = t * t, t3 = t2 * t;
    const float *a = key_at(keys, i, 0), *b = key_at(keys, i + 1, 0);
    if (keys->kind == KEYS_LINEAR && turns) {
        turn_between(a, b, t, out);
        return;
    }
    for (uint32_t k = 0; k < keys->width; ++k) {
        if (keys->kind == KEYS_LINEAR) {
            out[k] = (1 - t) * (double)a[k] + t * (double)b[k];
        } else {
            const double leaving = length * (double)key_at(keys, i, 1)[k];
            const double arriving = length * (double)key_at(keys, i + 1, -1)[k];
            out[k] = (2 * t3 - 3 * t2 + 1) * (double)a[k] + (t3 - 2 * t2 + t) * leaving +
                     (3 * t2 - 2 * t3) * (double)b[k] + (t3 - t2) * arriving;
        }
    }
}

/* Writes the values at a time. */
static void keys_evaluate(const motion_keys *keys, double time, bool turns, double *out) {
    uint32_t low = 0, high = keys->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if ((double)keys->times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    const bool inside = time > (double)keys->times[low] && low + 1 < keys->count;
    if (inside && keys->kind != KEYS_STEP) {
        interpolate_keys(keys, low, time, turns, out);
        return;
    }
    for (uint32_t k = 0; k < keys->width; ++k) out[k] = (double)key_at(keys, low, 0)[k];
}

/* --- channels --------------------------------------------------------------------------------- */

static kd_status weights_keep(gltf_file *gltf, const json_place *at, uint32_t node,
                              const motion_keys *keys) {
    const json_place node_at = gltf_place(gltf, GLTF_NODES, node);
    gltf_pose *pose = &gltf->poses[node];
    double *numbers = NULL;
    uint32_t mesh = KD_NONE;
    KD_TRY(
        gltf_index(gltf, &node_at, gltf_item(gltf, GLTF_NODES, node), "mesh", GLTF_MESHES, &mesh));
    const int targets = mesh == KD_NONE ? 0 : cJSON_GetArraySize(gltf_mesh_targets(gltf, mesh));
    if (keys->width != (uint32_t)targets) {
        gltf_warn(gltf, "bad-value", at,
                  "found %u weights per key, expected %d, one for each morph target of nodes[%u]; "
                  "they are ignored",
                  keys->width, targets, node);
        return KD_OK;
    }
    KD_TRY(KD_RESERVE(numbers, keys->width));
    keys_evaluate(keys, gltf->options->seconds, false, numbers);
    cJSON_Delete(pose->weights);
    pose->weights = cJSON_CreateDoubleArray(numbers, (int)keys->width);
    memory_free(numbers);
    KD_REQUIRE(pose->weights, KD_ERROR_MEMORY, "out of memory for the weights of morph targets");
    return KD_OK;
}

static kd_status channel_apply(gltf_file *gltf, const json_place *at, const cJSON *sampler,
                               const char *path, uint32_t node) {
    static const struct {
        const char *name;
        uint32_t width;
    } paths[GLTF_POSE_PARTS] = {{"translation", 3}, {"rotation", 4}, {"scale", 3}};
    gltf_pose *pose = &gltf->poses[node];
    motion_keys keys;
    uint32_t part = 0;
    memset(&keys, 0, sizeof keys);
    while (part < GLTF_POSE_PARTS && strcmp(path, paths[part].name) != 0) ++part;
    const bool weights = strcmp(path, "weights") == 0;
    if (part == GLTF_POSE_PARTS && !weights) {
        gltf_warn(gltf, "unsupported", at,
                  "found an animation of \"%.40s\", which is not supported and is ignored", path);
        return KD_OK;
    }
    kd_status status = keys_read(gltf, at, sampler, weights ? 0 : paths[part].width, &keys);
    if (status == KD_OK && weights) status = weights_keep(gltf, at, node, &keys);
    if (status == KD_OK && !weights) {
        keys_evaluate(&keys, gltf->options->seconds, part == GLTF_POSE_TURN, pose->values[part]);
        pose->given[part] = true;
    }
    keys_close(&keys);
    return status;
}

static kd_status channel_read(gltf_file *gltf, const json_place *at, const cJSON *animation,
                              const json_place *place, const cJSON *channel) {
    const cJSON *target = NULL, *samplers = NULL, *sampler = NULL;
    const json_place target_at = json_place_key(place, "target");
    const json_place list_at = json_place_key(at, "samplers");
    const char *path = "";
    uint64_t which = UINT64_MAX;
    uint32_t node = KD_NONE;
    KD_TRY(gltf_inner(gltf, place, channel, "target", false, &target));
    KD_TRY(gltf_index(gltf, &target_at, target, "node", GLTF_NODES, &node));
    KD_TRY(gltf_text(gltf, &target_at, target, "path", &path));
    KD_TRY(gltf_count(gltf, place, channel, "sampler", &which));
    KD_TRY(gltf_inner(gltf, at, animation, "samplers", true, &samplers));
    if (which < INT32_MAX) sampler = cJSON_GetArrayItem(samplers, (int)which);
    if (!sampler)
        return gltf_fail(gltf, "index-range", place,
                         "found no sampler of this channel, expected one of %d",
                         cJSON_GetArraySize(samplers));
    const json_place sampler_at = json_place_item(&list_at, (int)which);
    if (node == KD_NONE && strcmp(path, "pointer") != 0) return KD_OK; /* nothing is animated */
    return channel_apply(gltf, &sampler_at, sampler, path, node == KD_NONE ? 0 : node);
}

/* --- the choice of an animation --------------------------------------------------------------- */

static const char *name_of(const cJSON *animation) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(animation, "name");
    return cJSON_IsString(name) ? name->valuestring : "";
}

/* Writes the names of all animations, or their numbers, as far as they fit. */
static void names_list(const cJSON *animations, char *out, size_t bytes) {
    size_t used = 0;
    int number = 0;
    const cJSON *item = NULL;
    *out = 0;
    cJSON_ArrayForEach(item, animations) {
        const char *name = name_of(item);
        char shown[64];
        if (*name)
            snprintf(shown, sizeof shown, "%s\"%.40s\"", number ? ", " : "", name);
        else
            snprintf(shown, sizeof shown, "%s%d", number ? ", " : "", number);
        ++number;
        if (used + strlen(shown) + 5 > bytes) {
            snprintf(out + used, bytes - used, " ...");
            return;
        }
        used += (size_t)snprintf(out + used, bytes - used, "%s", shown);
    }
}

/* Finds an animation by name or by number. */
static int find(const cJSON *animations, const char *clip) {
    const cJSON *item = NULL;
    int number = 0;
    cJSON_ArrayForEach(item, animations) {
        if (strcmp(name_of(item), clip) == 0) return number;
        ++number;
    }
    char *end = NULL;
    const long index = strtol(clip, &end, 10);
    return *clip && !*end && index >= 0 && index < number ? (int)index : -1;
}

void gltf_poses_close(gltf_file *owned) {
    for (uint32_t i = 0; owned->poses && i < owned->lists[GLTF_NODES].count; ++i)
        cJSON_Delete(owned->poses[i].weights);
    memory_free(owned->poses);
    owned->poses = NULL;
}

kd_status gltf_poses_read(gltf_file *gltf) {
    const json_place list_at = json_place_key(&gltf->place, "animations");
    const cJSON *animations = NULL, *channels = NULL, *item = NULL;
    const char *clip = gltf->options ? gltf->options->clip : NULL;
    char names[400];
    KD_TRY(gltf_inner(gltf, &gltf->place, gltf->root, "animations", true, &animations));
    if (cJSON_GetArraySize(animations) == 0) return KD_OK;
    names_list(animations, names, sizeof names);
    if (!clip) {
        gltf_warn(gltf, "animation", &list_at,
                  "found clip %s; the meshes are read in their rest pose (choose one with --clip, "
                  "its time with --frame or --frames)",
                  names);
        return KD_OK;
    }
    if (!*clip && cJSON_GetArraySize(animations) > 1)
        gltf_warn(gltf, "animation", &list_at,
                  "found %s; the first is used, which may move a part of the scene only (choose "
                  "another one with --clip)",
                  names);
    const int which = *clip ? find(animations, clip) : 0;
    if (which < 0)
        return gltf_fail(gltf, "animation", &list_at,
                         "found no animation \"%.60s\", expected one of %s", clip, names);
    const json_place at = json_place_item(&list_at, which);
    const json_place channels_at = json_place_key(&at, "channels");
    const cJSON *animation = cJSON_GetArrayItem(animations, which);
    int number = 0;
    KD_TRY(KD_RESERVE_ZEROED(gltf->poses, gltf->lists[GLTF_NODES].count));
    KD_TRY(gltf_inner(gltf, &at, animation, "channels", true, &channels));
    cJSON_ArrayForEach(item, channels) {
        const json_place place = json_place_item(&channels_at, number++);
        KD_TRY(channel_read(gltf, &at, animation, &place, item));
    }
    return KD_OK;
}
