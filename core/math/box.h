/* Axis-aligned boxes; an empty box has lo > hi. */
#ifndef KD_CORE_MATH_BOX_H
#define KD_CORE_MATH_BOX_H
#include "core/math/vec3.h"

typedef struct box3 {
    vec3 lo, hi;
} box3;

KD_FN box3 box3_empty(void) {
    box3 box;
    box.lo = vec3_all(INFINITY);
    box.hi = vec3_all(-INFINITY);
    return box;
}
KD_FN void box3_include(box3 *box, vec3 point) {
    box->lo = vec3_min(box->lo, point);
    box->hi = vec3_max(box->hi, point);
}
KD_FN void box3_join(box3 *box, box3 other) {
    box->lo = vec3_min(box->lo, other.lo);
    box->hi = vec3_max(box->hi, other.hi);
}
KD_FN bool box3_is_empty(box3 box) {
    return !(box.lo.x <= box.hi.x && box.lo.y <= box.hi.y && box.lo.z <= box.hi.z);
}
KD_FN vec3 box3_size(box3 box) {
    return vec3_sub(box.hi, box.lo);
}
KD_FN vec3 box3_centre(box3 box) {
    return vec3_add(vec3_scale(box.lo, 0.5f), vec3_scale(box.hi, 0.5f));
}
KD_FN int box3_longest_axis(box3 box) {
    const vec3 size = box3_size(box);
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

#endif
