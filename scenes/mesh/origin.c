#include "scenes/mesh/origin.h"

bool origin_move(double origin[3], box3 local) {
    double centre[3], distance = 0, size = 0;
    int exponent = 0;
    if (box3_is_empty(local)) return false;
    for (int axis = 0; axis < 3; ++axis) {
        const double lo = (double)vec3_axis(local.lo, axis), hi = (double)vec3_axis(local.hi, axis);
        centre[axis] = 0.5 * (lo + hi);
        distance = fmax(distance, fabs(centre[axis]));
        size = fmax(size, hi - lo);
    }
    if (!(distance > ORIGIN_DISTANCE * size)) return false;
    frexp(fmax(size, distance * 0x1p-24), &exponent);
    /* The step is two to four times the size. A coordinate on an axis whose centre is nearer than
       a step keeps all its bits without an origin; on the others, a coordinate and the origin
       differ by less than a factor of two, so that their difference is exact. */
    const double step = ldexp(1, exponent + 1);
    for (int axis = 0; axis < 3; ++axis)
        if (fabs(centre[axis]) >= step) origin[axis] += step * rint(centre[axis] / step);
    return true;
}

enum { VECTORS = 4, LANES = 3 * VECTORS };

/* Several positions at a time, so that the compiler uses vectors. Comparisons ignore NaN. */
static box3 box_of(const vec3 *positions, uint64_t count) {
    float lo[LANES], hi[LANES];
    box3 box = box3_empty();
    uint64_t i = 0;
    for (int k = 0; k < LANES; ++k) {
        lo[k] = INFINITY;
        hi[k] = -INFINITY;
    }
    for (; i + VECTORS <= count; i += VECTORS) {
        const float *from = &positions[i].x;
        for (int k = 0; k < LANES; ++k) {
            lo[k] = from[k] < lo[k] ? from[k] : lo[k];
            hi[k] = from[k] > hi[k] ? from[k] : hi[k];
        }
    }
    for (int k = 0; k < LANES && i > 0; k += 3) {
        box3_include(&box, vec3_make(lo[k], lo[k + 1], lo[k + 2]));
        box3_include(&box, vec3_make(hi[k], hi[k + 1], hi[k + 2]));
    }
    for (; i < count; ++i) box3_include(&box, positions[i]);
    if (count == 0 || (vec3_is_finite(box.lo) && vec3_is_finite(box.hi))) return box;
    box = box3_empty();
    for (i = 0; i < count; ++i)
        if (vec3_is_finite(positions[i])) box3_include(&box, positions[i]);
    return box;
}

static void box_add_put(box3 *all, const transform *to_world, box3 part) {
    for (int i = 0; i < 8 && !box3_is_empty(part); ++i) {
        const vec3 corner = transform_point(to_world, vec3_make(i & 1 ? part.hi.x : part.lo.x,
                                                                i & 2 ? part.hi.y : part.lo.y,
                                                                i & 4 ? part.hi.z : part.lo.z));
        if (vec3_is_finite(corner)) box3_include(all, corner);
    }
}

static uint32_t plain_positions(const mesh *mesh) {
    return mesh->part_count ? mesh->parts[0].position : mesh->position_count;
}

box3 mesh_box(const mesh *mesh) {
    box3 box = box_of(mesh->positions, plain_positions(mesh));
    for (uint32_t i = 0; i < mesh->put_count; ++i) {
        const mesh_part *part = &mesh->parts[mesh->puts[i].part];
        box_add_put(&box, &mesh->puts[i].to_world,
                    box_of(mesh->positions + part->position, part->position_count));
    }
    return box;
}

static vec3 moved_by(vec3 at, const double by[3]) {
    return vec3_make((float)((double)at.x - by[0]), (float)((double)at.y - by[1]),
                     (float)((double)at.z - by[2]));
}

static void mesh_move(mesh *mesh, const double by[3]) {
    for (uint32_t i = 0, count = plain_positions(mesh); i < count; ++i)
        mesh->positions[i] = moved_by(mesh->positions[i], by);
    for (uint32_t i = 0; i < mesh->put_count; ++i)
        for (int axis = 0; axis < 3; ++axis) mesh->puts[i].to_world.m[axis][3] -= by[axis];
    for (uint32_t i = 0; i < mesh->camera_count; ++i) {
        mesh->cameras[i].view.eye = moved_by(mesh->cameras[i].view.eye, by);
        mesh->cameras[i].view.look_at = moved_by(mesh->cameras[i].view.look_at, by);
    }
    for (uint32_t i = 0; i < mesh->light_count; ++i)
        mesh->lights[i].position = moved_by(mesh->lights[i].position, by);
}

void mesh_recentre(mesh *mesh) {
    for (int i = 0; i < ORIGIN_MOVES; ++i) {
        double moved[3] = {0, 0, 0};
        if (!origin_move(moved, mesh_box(mesh)) || origin_is_zero(moved)) return;
        mesh_move(mesh, moved);
        for (int axis = 0; axis < 3; ++axis) mesh->origin[axis] += moved[axis];
    }
}
