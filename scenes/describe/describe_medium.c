/* Media of a description: defined by name, for materials and for the fog around them. */
#include "core/memory.h"
#include "core/names.h"
#include "scenes/describe/describe_reader.h"

kd_status describe_media(describe_reader *in, const json_place *at, const cJSON *map) {
    const cJSON *item = NULL;
    in->media = map;
    KD_TRY(KD_RESERVE(in->draft->media, (uint64_t)cJSON_GetArraySize(map) + 1));
    cJSON_ArrayForEach(item, map) {
        const json_place here = json_place_key(at, item->string);
        if (cJSON_GetObjectItemCaseSensitive(map, item->string) != item)
            return json_fail(&here, "given twice");
        described_medium words;
        memset(&words, 0, sizeof words);
        KD_TRY(json_read(&here, item, describe_medium_keys, &words));
        medium *made = &in->draft->media[in->draft->medium_count++];
        made->absorption = words.absorption;
        made->scattering = words.scattering;
        made->g = words.g;
    }
    return KD_OK;
}

kd_status describe_medium_find(const describe_reader *in, const json_place *at, const char *name,
                               uint32_t *index) {
    const char *best = NULL;
    const cJSON *item = NULL;
    uint32_t number = 0;
    cJSON_ArrayForEach(item, in->media) {
        if (strcmp(item->string, name) == 0) {
            *index = number;
            return KD_OK;
        }
        nearest_consider(&best, name, item->string);
        ++number;
    }
    if (best) return json_fail(at, "no medium \"%.60s\", did you mean \"%.60s\"?", name, best);
    return json_fail(at, "no medium \"%.60s\" among the %u of \"media\"", name, number);
}
