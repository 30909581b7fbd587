#include "scenes/gltf/gltf_file.h"
#include <math.h>

static const double largest_integer = 9007199254740992.0; /* 2^53 */

static kd_status unexpected(gltf_file *of, const json_place *at, const char *key,
                            const cJSON *found, const char *expected) {
    const json_place place = json_place_key(at, key);
    of->kind = "bad-value";
    return json_unexpected(&place, found, expected);
}

static const cJSON *get(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

kd_status gltf_number(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                      double least, double most, double *value) {
    const cJSON *found = get(object, key);
    if (!found) return KD_OK;
    const double number = cJSON_IsNumber(found) ? found->valuedouble : (double)NAN;
    if (number >= least && number <= most && isfinite(number)) {
        *value = number;
        return KD_OK;
    }
    char expected[96];
    if (isfinite(most))
        snprintf(expected, sizeof expected, "a number >= %.9g and <= %.9g", least, most);
    else if (isfinite(least))
        snprintf(expected, sizeof expected, "a number >= %.9g", least);
    else
        snprintf(expected, sizeof expected, "a number");
    return unexpected(of, at, key, found, expected);
}

kd_status gltf_numbers(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                       int count, double *values, bool *given) {
    const cJSON *found = get(object, key), *item = NULL;
    if (given) *given = found != NULL;
    if (!found) return KD_OK;
    char expected[64];
    snprintf(expected, sizeof expected, "a list of %d numbers", count);
    if (!cJSON_IsArray(found) || cJSON_GetArraySize(found) != count)
        return unexpected(of, at, key, found, expected);
    cJSON_ArrayForEach(item, found) {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return unexpected(of, at, key, item, expected);
        *values++ = item->valuedouble;
    }
    return KD_OK;
}

kd_status gltf_colour(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                      vec3 *value) {
    double values[3] = {(double)value->x, (double)value->y, (double)value->z};
    KD_TRY(gltf_numbers(of, at, object, key, 3, values, NULL));
    for (int i = 0; i < 3; ++i)
        if (values[i] < 0 || values[i] > 1e30)
            return unexpected(of, at, key, get(object, key), "three numbers >= 0");
    *value = vec3_make((float)values[0], (float)values[1], (float)values[2]);
    return KD_OK;
}

kd_status gltf_count(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                     uint64_t *value) {
    const cJSON *found = get(object, key);
    if (!found) return KD_OK;
    const double number = cJSON_IsNumber(found) ? found->valuedouble : -1;
    if (!(number >= 0 && number <= largest_integer && number == floor(number)))
        return unexpected(of, at, key, found, "an integer >= 0");
    *value = (uint64_t)number;
    return KD_OK;
}

kd_status gltf_index_of(gltf_file *of, const json_place *at, const cJSON *item, gltf_list list,
                        uint32_t *index) {
    const uint32_t count = of->lists[list].count;
    const double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (number >= 0 && number < count && number == floor(number)) {
        *index = (uint32_t)number;
        return KD_OK;
    }
    char expected[96];
    snprintf(expected, sizeof expected, "a number of one of the %u %.40s", count,
             of->lists[list].place.name);
    of->kind = "index-range";
    return json_unexpected(at, item, expected);
}

kd_status gltf_index(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                     gltf_list list, uint32_t *index) {
    const cJSON *found = get(object, key);
    const json_place place = json_place_key(at, key);
    *index = KD_NONE;
    if (found) KD_TRY(gltf_index_of(of, &place, found, list, index));
    return KD_OK;
}

kd_status gltf_flag(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                    bool *value) {
    const cJSON *found = get(object, key);
    if (!found) return KD_OK;
    if (!cJSON_IsBool(found)) return unexpected(of, at, key, found, "true or false");
    *value = cJSON_IsTrue(found);
    return KD_OK;
}

kd_status gltf_text(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                    const char **value) {
    const cJSON *found = get(object, key);
    if (!found) return KD_OK;
    if (!cJSON_IsString(found)) return unexpected(of, at, key, found, "a text");
    *value = found->valuestring;
    return KD_OK;
}

kd_status gltf_inner(gltf_file *of, const json_place *at, const cJSON *object, const char *key,
                     bool is_list, const cJSON **inner) {
    *inner = get(object, key);
    if (!*inner) return KD_OK;
    if (!(is_list ? cJSON_IsArray(*inner) : cJSON_IsObject(*inner)))
        return unexpected(of, at, key, *inner, is_list ? "a list" : "an object");
    return KD_OK;
}

kd_status gltf_extension(gltf_file *of, const json_place *at, const cJSON *object, const char *name,
                         const cJSON **inner) {
    const cJSON *all = NULL;
    const json_place place = json_place_key(at, "extensions");
    *inner = NULL;
    KD_TRY(gltf_inner(of, at, object, "extensions", false, &all));
    if (all) KD_TRY(gltf_inner(of, &place, all, name, false, inner));
    return KD_OK;
}
