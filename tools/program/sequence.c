#include "tools/program/sequence.h"
#include "core/files/file.h"
#include "core/math/transform.h"
#include <stdio.h>

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

camera sequence_turned(camera view, double turns) {
    const transform turn = transform_rotate(view.up, 360 * turns);
    view.eye = vec3_add(view.look_at, transform_point(&turn, vec3_sub(view.eye, view.look_at)));
    return view;
}
