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

kd_status sequence_add(sequence_animations *animations, double rate, const image *from,
                       const image_encoding *encoding, const image_finish *finish) {
    const bool plain = image_finish_is_none(finish);
    image_encoding exposed = *encoding;
    image made;
    memset(&made, 0, sizeof made);
    if (animations->names.count == 0) return KD_OK;
    if (!plain) {
        KD_TRY(image_finish_make(&made, from, encoding->exposure, finish));
        exposed.exposure = 0;
    }
    kd_status status = KD_OK;
    for (int i = 0; i < animations->names.count && status == KD_OK; ++i) {
        animation **frames = &animations->items[i];
        if (!*frames) status = animation_open(frames, animations->names.items[i], rate);
        if (status == KD_OK) status = animation_add(*frames, plain ? from : &made, &exposed);
    }
    image_close(&made);
    KD_TRY(status);
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
