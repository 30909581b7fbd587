#include "tools/program/sequence.h"
#include "core/files/file.h"
#include "core/math/transform.h"
#include "tools/program/output.h"
#include <stdio.h>
#include <string.h>

kd_status sequence_name(char *out, size_t bytes, const char *name, int32_t frame) {
    const char *last = strrchr(name, '#');
    const char *end = last ? last + 1 : file_suffix(name), *begin = end;
    while (begin > name && begin[-1] == '#') --begin;
    const int width = last ? (int)(end - begin) : 4;
    const int length =
        snprintf(out, bytes, "%.*s%0*d%s", (int)(begin - name), name, width, (int)frame, end);
    KD_REQUIRE(length < (int)bytes, KD_ERROR_USAGE, "%.60s...: the path is too long", name);
    return KD_OK;
}

void sequence_take(sequence_animations *out, option_list *outputs) {
    int kept = 0;
    for (int i = 0; i < outputs->count; ++i) {
        if (output_is_animation(outputs->items[i]))
            out->names.items[out->names.count++] = outputs->items[i];
        else
            outputs->items[kept++] = outputs->items[i];
    }
    outputs->count = kept;
}

kd_status sequence_add(sequence_animations *animations, double rate, const image *image,
                       const image_encoding *encoding) {
    for (int i = 0; i < animations->names.count; ++i) {
        animation **frames = &animations->items[i];
        if (!*frames) KD_TRY(animation_open(frames, animations->names.items[i], rate));
        KD_TRY(animation_add(*frames, image, encoding));
    }
    return KD_OK;
}

kd_status sequence_finish(sequence_animations *animations) {
    for (int i = 0; i < animations->names.count; ++i) {
        if (!animations->items[i]) continue;
        KD_TRY(animation_commit(animations->items[i]));
        puts(animations->names.items[i]);
    }
    return KD_OK;
}

void sequence_close(sequence_animations *owned) {
    for (int i = 0; i < OPTION_LIST_ITEMS; ++i) animation_close(owned->items[i]);
    memset(owned, 0, sizeof *owned);
}

camera sequence_turned(camera view, double turns) {
    const transform turn = transform_rotate(view.up, 360 * turns);
    view.eye = vec3_add(view.look_at, transform_point(&turn, vec3_sub(view.eye, view.look_at)));
    return view;
}
