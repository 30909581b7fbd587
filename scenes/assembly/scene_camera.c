/* The camera that a file does not describe, or only in part. */
#include "scenes/assembly/scene_parts.h"

/* Smallest distance from `centre` along the unit direction `back` at which the whole box is in the
   picture: every corner within both half angles. */
static float framing_distance(box3 box, vec3 centre, vec3 back, vec3 up, float tan_y, float tan_x) {
    const vec3 right = vec3_normalize(vec3_cross(up, back)), above = vec3_cross(back, right);
    float distance = 0;
    for (int i = 0; i < 8; ++i) {
        const vec3 corner = vec3_make(i & 1 ? box.hi.x : box.lo.x, i & 2 ? box.hi.y : box.lo.y,
                                      i & 4 ? box.hi.z : box.lo.z);
        const vec3 to = vec3_sub(corner, centre);
        const float nearer = vec3_dot(to, back);
        distance = float_max(distance, nearer + fabsf(vec3_dot(to, right)) / tan_x);
        distance = float_max(distance, nearer + fabsf(vec3_dot(to, above)) / tan_y);
    }
    return distance;
}

static camera frame_from_inside(camera view, box3 box) {
    const int axis = box3_longest_axis(box);
    const float length = vec3_axis(box3_size(box), axis);
    view.look_at = view.eye = box3_centre(box);
    vec3_set_axis(&view.eye, axis, vec3_axis(box.lo, axis) + 0.08f * length);
    vec3_set_axis(&view.look_at, axis, vec3_axis(box.hi, axis));
    return view;
}

camera scene_frame_camera(const scene_draft *from, box3 box, float aspect) {
    camera view = from->view;
    const vec3 centre = box3_centre(box);
    if (vec3_is_zero(view.up)) view.up = vec3_make(0, 1, 0);
    if (!from->fov_given) view.fov_degrees = from->inside && !from->eye_given ? 70.0f : 40.0f;
    if (!from->eye_given && from->inside) return frame_from_inside(view, box);
    if (!from->look_at_given) view.look_at = centre;
    if (from->eye_given) return view;
    const float tan_y = tanf(view.fov_degrees * (KD_PI / 360));
    vec3 back = vec3_normalize(vec3_make(0, 0.12f, 1));
    if (vec3_length2(vec3_cross(view.up, back)) < 1e-4f * vec3_length2(view.up))
        back = vec3_make(1, 0, 0);
    float distance =
        1.04f * framing_distance(box, view.look_at, back, view.up, tan_y, tan_y * aspect);
    if (!(distance > 0)) distance = 1; /* a single point */
    view.eye = vec3_along(view.look_at, distance, back);
    return view;
}
