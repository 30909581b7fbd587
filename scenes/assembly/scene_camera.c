/* Default cameras: for files that describe no camera, or only part of one. */
#include "scenes/assembly/scene_camera.h"
#include "accel/rays/batch.h"
#include "core/math/rng.h"
#include "core/math/sampling.h"
#include "scenes/assembly/scene.h"
#include "scenes/assembly/scene_parts.h"
#include "shaders/scene_view.h"

#define FRAMING_MARGIN 1.04f

/* Returns the smallest distance from `centre` along the unit direction `back` at which the whole
   box is in the image: every corner is within both half angles. */
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

camera scene_frame_camera(const scene_draft *draft, box3 box, float aspect) {
    camera view = draft->view;
    const vec3 centre = box3_centre(box);
    if (vec3_is_zero(view.up)) view.up = vec3_make(0, 1, 0);
    if (!draft->has_fov) view.fov_degrees = draft->inside && !draft->has_eye ? 70.0f : 40.0f;
    if (!draft->has_eye && draft->inside) return frame_from_inside(view, box);
    if (!draft->has_look_at) view.look_at = centre;
    if (draft->has_eye) return view;
    const float tan_y = tanf(view.fov_degrees * (KD_PI / 360));
    vec3 back = vec3_normalize(vec3_make(0, 0.12f, 1));
    if (draft->bare) { /* whose z may be up */
        vec3 axes[3];
        scene_upright(axes, view.up);
        back = vec3_normalize(vec3_along(axes[2], 0.12f, axes[1]));
    }
    if (vec3_length2(vec3_cross(view.up, back)) < 1e-4f * vec3_length2(view.up))
        back = vec3_make(1, 0, 0);
    float distance =
        FRAMING_MARGIN * framing_distance(box, view.look_at, back, view.up, tan_y, tan_y * aspect);
    if (!(distance > 0)) distance = 1; /* a single point */
    view.eye = vec3_along(view.look_at, distance, back);
    return view;
}

typedef struct scene_side {
    const char *name;
    float right, above, front; /* direction from the scene to the camera */
} scene_side;

static const scene_side sides[] = {{"scene", 0, 0, 0},   {"front", 0, 0, 1}, {"back", 0, 0, -1},
                                   {"left", -1, 0, 0},   {"right", 1, 0, 0}, {"top", 0, 1, 0},
                                   {"bottom", 0, -1, 0}, {"iso", 1, 1, 1},   {NULL, 0, 0, 0}};

const char *scene_side_name(int index) {
    return sides[index].name;
}

void scene_view_from(const scene *scene, int side, float aspect, camera *view) {
    const scene_side *from = sides + side;
    vec3 axes[3];
    scene_upright(axes, view->up);
    const vec3 right = axes[0], above = axes[1], front = axes[2];
    const vec3 back = vec3_normalize(
        vec3_add(vec3_add(vec3_scale(right, from->right), vec3_scale(above, from->above)),
                 vec3_scale(front, from->front)));
    const bool vertical = from->right == 0 && from->front == 0;
    view->up = vertical ? vec3_scale(front, -from->above) : above;
    if (scene->unlit) {
        scene_fit_camera(scene, back, aspect, view);
        return;
    }
    view->look_at = box3_centre(scene->box);
    const float tan_y = tanf(view->fov_degrees * (KD_PI / 360));
    const float distance = FRAMING_MARGIN * framing_distance(scene->box, view->look_at, back,
                                                             view->up, tan_y, tan_y * aspect);
    view->eye = vec3_along(view->look_at, distance > 0 ? distance : 1, back);
}

/* Idea: rays from inside a solid hit only back faces; from outside a closed surface some rays hit
     nothing; only inside a room almost all rays hit front faces. A mesh with reversed winding
     passes that test, too, so a room must meet two more conditions: the surroundings of the
     proposed camera are as closed as those of the centre, which fails for bodies with legs and
     necks, and light enters. The camera is then the candidate with the farthest view.
   Work: 1024 rays, and 256 for each of nine candidate cameras.
   Invariants: scale-invariant; a pure function of the mesh, its lights and the aspect ratio. */

enum { ROOM_RAYS = 512, VIEW_RAYS = 16 };
static const float room_share = 0.9f; /* a cube with one open side has 0.83 */
/* The fraction of rays that must leave the scene if only the sky emits light; it exceeds that of
   small holes in the mesh of an animal. */
static const float window_share = 0.02f;

/* The fraction of rays that must meet upright walls, floors and ceilings, and furniture, for a room
   that light does not enter: a box with reversed winding has no furniture. */
static const float wall_share = 0.6f, furniture_share = 0.03f;

/* What is much longer than wide is a pipe, and what has mostly round walls a bottle or a hull. */
#define PIPE_LENGTH 6.0f /* relative to the second longest side */
static const float flat_share = 0.3f;

/* Counts of rays, cast in all directions from a point, that hit front faces and that miss; the
   others hit back faces. */
typedef struct outlook {
    int fronts, nothing;
    int upright;  /* fronts that face along an axis */
    int near;     /* fronts well within the scene's box */
    vec3 heights; /* sum over `near` of the places in the box, from 0 to 1 along each axis */
} outlook;

/* Returns the distance from a point inside to the sides of the box. */
static float to_box(box3 box, vec3 place, vec3 direction) {
    float length = INFINITY;
    for (int i = 0; i < 3; ++i) {
        const float along = vec3_axis(direction, i);
        const float side = vec3_axis(along > 0 ? box.hi : box.lo, i) - vec3_axis(place, i);
        if (along != 0) length = float_min(length, side / along);
    }
    return length;
}

static outlook look_around(const scene_view *world, vec3 place) {
    outlook seen = {0, 0, 0, 0, {0, 0, 0}};
    for (uint32_t i = 0; i < ROOM_RAYS; ++i) {
        const rng_block r = rng_draw(rng_key_make(0, 0, i), 0, 0);
        const vec3 direction = sample_sphere(r.value[0], r.value[1]);
        const ray_hit hit = tritree_closest(&world->tree, ray_make(place, direction, 0, INFINITY));
        if (hit.triangle >= world->mesh.triangle_count) { /* KD_NONE, or the ground of a look */
            ++seen.nothing;
            continue;
        }
        const uint32_t *corner = world->mesh.triangles + 3 * (uint64_t)hit.triangle;
        const vec3 a = world->mesh.positions[corner[0]];
        const vec3 normal = vec3_cross(vec3_sub(world->mesh.positions[corner[1]], a),
                                       vec3_sub(world->mesh.positions[corner[2]], a));
        if (!(vec3_dot(normal, direction) < 0)) continue;
        const vec3 size = vec3_make(fabsf(normal.x), fabsf(normal.y), fabsf(normal.z));
        ++seen.fronts;
        seen.upright += vec3_largest(size) > 0.99f * vec3_length(normal);
        if (!(hit.t < 0.9f * to_box(world->box, place, direction))) continue;
        ++seen.near;
        for (int k = 0; k < 3; ++k) {
            const float at = vec3_axis(place, k) + hit.t * vec3_axis(direction, k);
            const float lo = vec3_axis(world->box.lo, k), hi = vec3_axis(world->box.hi, k);
            vec3_set_axis(&seen.heights, k,
                          vec3_axis(seen.heights, k) + (hi > lo ? (at - lo) / (hi - lo) : 0.5f));
        }
    }
    return seen;
}

static bool is_hollow(outlook seen) {
    return (float)seen.fronts >= room_share * ROOM_RAYS;
}

/* Lamps light a closed room; the sky and the sun need windows. */
static bool is_lit_within(const scene_view *world, outlook middle, outlook stand) {
    for (uint32_t i = 0; i < world->light_count; ++i) {
        const int32_t kind = world->lights[i].kind;
        if (kind != LIGHT_ENVIRONMENT && kind != LIGHT_DIRECTIONAL) return true;
    }
    return (float)(middle.nothing + stand.nothing) >= window_share * 2 * ROOM_RAYS;
}

static bool is_pipe(box3 box) {
    const vec3 size = box3_size(box);
    const int longest = box3_longest_axis(box);
    return vec3_axis(size, longest) > PIPE_LENGTH * float_max(vec3_axis(size, (longest + 1) % 3),
                                                              vec3_axis(size, (longest + 2) % 3));
}

interior_kind interior_kind_of(const scene_view *world, vec3 up) {
    const outlook middle = look_around(world, box3_centre(world->box));
    if (!is_hollow(middle) || is_pipe(world->box)) return INTERIOR_NONE;
    const outlook stand = look_around(world, room_camera(world, up, 1).eye);
    const float upright = (float)(middle.upright + stand.upright) / (2 * ROOM_RAYS);
    if (!is_hollow(stand) || upright < flat_share) return INTERIOR_NONE;
    if (is_lit_within(world, middle, stand)) return INTERIOR_LIT;
    const bool furnished = (float)(middle.near + stand.near) >= furniture_share * 2 * ROOM_RAYS;
    return upright >= wall_share && furnished ? INTERIOR_DARK : INTERIOR_NONE;
}

/* Furniture stands on the floor; a room without any is less high than wide. */
vec3 interior_up(const scene_view *world, vec3 usual) {
    const int from = usual.z != 0 ? 2 : 1, to = 3 - from;
    const outlook middle = look_around(world, box3_centre(world->box));
    const vec3 size = box3_size(world->box);
    const float most = 0.5f * float_min(vec3_axis(size, from), size.x);
    const float count = (float)middle.near;
    bool other = vec3_axis(size, to) < most;
    if (count >= furniture_share * ROOM_RAYS) {
        const float low = vec3_axis(middle.heights, to) / count;
        other = low < 0.42f && low < vec3_axis(middle.heights, from) / count - 0.1f;
    }
    return other ? vec3_make(0, to == 1, to == 2) : usual;
}

/* Measures how far a camera sees: the sum over its rays of the hit distance, in units of the
   room's length and at most 1 each. Misses count 0. */
static float reach(const scene_view *world, const camera *view, float length) {
    float sum = 0;
    for (int y = 0; y < VIEW_RAYS; ++y)
        for (int x = 0; x < VIEW_RAYS; ++x) {
            const rng_block centre = {{0.5f, 0.5f, 0.5f, 0.5f}};
            const ray ray = camera_ray(view, VIEW_RAYS, VIEW_RAYS, x, y, centre);
            const ray_hit hit = tritree_closest(&world->tree, ray);
            if (hit.triangle < world->mesh.triangle_count) sum += float_min(hit.t / length, 1);
        }
    return sum;
}

/* The best view from the lower or the higher end of a room. */
static camera view_from_end(const scene_view *world, vec3 up, float aspect, bool higher) {
    static const float heights[] = {0.5f, 0.35f, 0.2f}, starts[] = {0.08f, 0.16f, 0.24f};
    const int upward = up.z != 0 ? 2 : 1;
    const vec3 size = box3_size(world->box);
    const int axis = size.x >= vec3_axis(size, 3 - upward) ? 0 : 3 - upward;
    const float length = vec3_axis(size, axis);
    const float near = vec3_axis(higher ? world->box.hi : world->box.lo, axis);
    const float far = vec3_axis(higher ? world->box.lo : world->box.hi, axis);
    camera best, view;
    float best_reach = -1;
    memset(&view, 0, sizeof view);
    view.fov_degrees = aspect >= 1 ? 70 : 90;
    vec3_set_axis(&view.up, upward, vec3_axis(up, upward) < 0 ? -1 : 1);
    best = view;
    for (int h = 0; h < 3; ++h)
        for (int s = 0; s < 3; ++s) {
            view.look_at = box3_centre(world->box);
            vec3_set_axis(&view.look_at, upward,
                          vec3_axis(world->box.lo, upward) + heights[h] * vec3_axis(size, upward));
            view.eye = view.look_at;
            vec3_set_axis(&view.eye, axis, near + (higher ? -1 : 1) * starts[s] * length);
            vec3_set_axis(&view.look_at, axis, far);
            const float seen = reach(world, &view, length);
            if (seen <= best_reach) continue;
            best = view;
            best_reach = seen;
        }
    return best;
}

camera room_camera(const scene_view *world, vec3 up, float aspect) {
    const camera lower = view_from_end(world, up, aspect, false);
    if (is_hollow(look_around(world, lower.eye))) return lower;
    const camera higher = view_from_end(world, up, aspect, true);
    return is_hollow(look_around(world, higher.eye)) ? higher : lower;
}
