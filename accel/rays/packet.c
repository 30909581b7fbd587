/* Source: Wald, Slusallek, Benthin, Wagner 2001, "Interactive rendering with coherent ray
           tracing": packets through a k-d tree; the triangle test is that of
           accel/geometry/triangle.h.
   Idea: rays that run alike visit the same nodes: each is read once for all of them, planes and
         triangles are computed for eight rays by one vector. A node is entered if any ray meets
         it.
   Work: that of the union of the rays' paths.
   Memory: a stack of 100 bytes an entry.
   Invariants: all rays of a packet have the same octant and the same largest axis; each lane
               does what tritree_closest does with its ray, operation by operation, so answers
               are equal to the bit. */
#include "accel/rays/packet.h"
#include "accel/geometry/triangle8.h"

typedef struct packet {
    float8 origin[3], inverse[3], slack[3];
    float8 along[3]; /* directions */
    float8 sx, sy, sz;
    float8 tmin, slack_t;
    float8 near, far; /* empty (near > far) for rays that are done */
    int kx, ky, kz;
    int negative[3];
    /* the nearest hits so far */
    float8 t, u, v;
    int8 triangle;
} packet;

typedef struct packet_entry {
    float8 near, far;
    uint32_t node;
} packet_entry;

VECTOR8_FN bool load(packet *p, const ray rays[TRACE_PACKET]) {
    float field[8][TRACE_PACKET];
    for (int i = 0; i < TRACE_PACKET; ++i) {
        field[0][i] = rays[i].origin.x;
        field[1][i] = rays[i].origin.y;
        field[2][i] = rays[i].origin.z;
        field[3][i] = rays[i].tmin;
        field[4][i] = rays[i].direction.x;
        field[5][i] = rays[i].direction.y;
        field[6][i] = rays[i].direction.z;
        field[7][i] = rays[i].tmax;
    }
    for (int axis = 0; axis < 3; ++axis) {
        p->origin[axis] = float8_load(field[axis]);
        p->along[axis] = float8_load(field[4 + axis]);
        p->negative[axis] = signbit(field[4 + axis][0]) != 0;
        const int8 other = ((int8)p->along[axis] >> 31) != (p->negative[axis] ? -1 : 0);
        if (int8_any(other)) return false;
    }
    p->tmin = float8_load(field[3]);
    p->t = float8_load(field[7]);
    const float8 x = float8_abs(p->along[0]), y = float8_abs(p->along[1]),
                 z = float8_abs(p->along[2]);
    const float x0 = x[0], y0 = y[0], z0 = z[0];
    p->kz = x0 > y0 ? (x0 > z0 ? 0 : 2) : (y0 > z0 ? 1 : 2);
    p->kx = p->kz == 2 ? 0 : p->kz + 1;
    p->ky = p->kx == 2 ? 0 : p->kx + 1;
    const int8 alike = p->kz == 0   ? (x > y) & (x > z)
                       : p->kz == 1 ? ~(x > y) & (y > z)
                                    : ~((x > y) & (x > z)) & ~(~(x > y) & (y > z));
    return !int8_any(~alike);
}

/* Prepares planes and triangles; false if the rays are too different to go together. */
VECTOR8_FN bool prepare(packet *p, const tritree_view *tree) {
    const float8 largest = float8_abs(p->along[p->kz]);
    if (int8_any(~((largest > 0) & (largest <= FLT_MAX)))) return false;
    float8 reach = {0}, lo[3], hi[3];
    for (int axis = 0; axis < 3; ++axis) {
        lo[axis] = vec3_axis(tree->box.lo, axis) - p->origin[axis];
        hi[axis] = vec3_axis(tree->box.hi, axis) - p->origin[axis];
        reach = float8_max(reach, float8_max(float8_abs(lo[axis]), float8_abs(hi[axis])));
        /* much alike: directions within 1/8, origins within 1/16 of the way */
        const float8 turn = p->along[axis] / largest;
        if (int8_any(float8_abs(turn - turn[0]) > 0.125f)) return false;
        if (int8_any(float8_abs(p->origin[axis] - p->origin[axis][0]) > 0.0625f * reach[0]))
            return false;
    }
    p->slack_t = reach / largest * TRITREE_SLACK_T;
    p->near = p->tmin - p->slack_t;
    p->far = p->t + p->slack_t;
    for (int axis = 0; axis < 3; ++axis) {
        const float8 least = largest * 0x1p-26f;
        const float8 signed_least = p->negative[axis] ? -least : least;
        const float8 safe =
            float8_select(float8_abs(p->along[axis]) > least, p->along[axis], signed_least);
        p->inverse[axis] = 1 / safe;
        p->slack[axis] = reach * float8_abs(p->inverse[axis]) * TRITREE_SLACK;
        const float8 t0 = lo[axis] * p->inverse[axis], t1 = hi[axis] * p->inverse[axis];
        p->near = float8_max(float8_min(t0, t1) - p->slack[axis], p->near);
        p->far = float8_min(float8_max(t0, t1) + p->slack[axis], p->far);
    }
    p->sx = p->along[p->kx] / p->along[p->kz];
    p->sy = p->along[p->ky] / p->along[p->kz];
    p->sz = 1 / p->along[p->kz];
    p->u = p->v = float8_all(0);
    p->triangle = (int8){0} - 1;
    return true;
}

/* One lane's test of one triangle, where vector arithmetic is not good enough. */
static bool meet_alone(const ray *cast, const triangle_rows *rows, float *t, float *u, float *v) {
    const triangle_caster caster = triangle_caster_make(*cast);
    return triangle_meet(&caster, triangle_rows_corner(rows, 0), triangle_rows_corner(rows, 1),
                         triangle_rows_corner(rows, 2), t, u, v);
}

/* Eight rays against one triangle: triangle_meet and tritree_triangle_meet. */
VECTOR8_FN void meet(packet *p, const ray rays[TRACE_PACKET], const triangle_rows *rows, int32_t id,
                     int8 active) {
    triangle8 eight;
    float8 *x = eight.x, *y = eight.y, *z = eight.z;
    for (int i = 0; i < 3; ++i) {
        z[i] = rows->axis[p->kz][i] - p->origin[p->kz];
        x[i] = rows->axis[p->kx][i] - p->origin[p->kx] - p->sx * z[i];
        y[i] = rows->axis[p->ky][i] - p->origin[p->ky] - p->sy * z[i];
    }
    const int8 candidates = active & ~triangle8_missed(&eight);
    if (!int8_any(candidates)) return;
    triangle8_meet(&eight, p->sz);
    float8 t = eight.t, u = eight.u, v = eight.v;
    int8 met = candidates;
    const int8 alone = candidates & ~eight.good;
    if (int8_any(alone))
        for (int i = 0; i < TRACE_PACKET; ++i) {
            float one[3] = {0, 0, 0};
            if (!alone[i]) continue;
            met[i] = meet_alone(&rays[i], rows, &one[0], &one[1], &one[2]) ? -1 : 0;
            t[i] = one[0];
            u[i] = one[1];
            v[i] = one[2];
        }
    const int8 better = met & (t > p->tmin) & ((t < p->t) | ((t == p->t) & (id < p->triangle)));
    p->t = float8_select(better, t, p->t);
    p->u = float8_select(better, u, p->u);
    p->v = float8_select(better, v, p->v);
    p->triangle = int8_select(better, (int8){0} + id, p->triangle);
}

/* From node `at` to the nearest leaf that some ray meets; what is left behind goes on the stack. */
VECTOR8_FN tritree_node descend(const tritree_view *tree, const packet *p, uint32_t at,
                                float8 *near, float8 *far, packet_entry *stack, int *waiting) {
    tritree_node node = tree->nodes[at];
    while (!tritree_is_leaf(node)) {
        const int axis = tritree_axis(node);
        const uint32_t first = tritree_left(node) + (uint32_t)p->negative[axis],
                       second = tritree_left(node) + 1 - (uint32_t)p->negative[axis];
        const float8 t = (node.split - p->origin[axis]) * p->inverse[axis];
        const float8 low = t - p->slack[axis], high = t + p->slack[axis];
        const float8 first_far = float8_min(high, *far), second_near = float8_max(low, *near);
        const bool to_first = int8_any(*near <= first_far),
                   to_second = int8_any(second_near <= *far);
        if (to_first && to_second) {
            stack[*waiting].node = second;
            stack[*waiting].near = second_near;
            stack[(*waiting)++].far = *far;
        }
        at = to_first ? first : second;
        if (to_first)
            *far = first_far;
        else
            *near = second_near;
        node = tree->nodes[at];
    }
    return node;
}

VECTOR8_FN bool cast_packet(const tritree_view *tree, const ray rays[TRACE_PACKET], bool any,
                            ray_hit hits[TRACE_PACKET], packet_use *use) {
    packet p;
    packet_entry stack[TRITREE_MAX_DEPTH + 2];
    int waiting = 0;
    if (!load(&p, rays) || !prepare(&p, tree)) return false;
    uint32_t at = 0;
    float8 near = p.near, far = p.far;
    bool going = int8_any(near <= far);
    while (going) {
        const tritree_node leaf = descend(tree, &p, at, &near, &far, stack, &waiting);
        const uint32_t count = tritree_count(leaf);
        const uint32_t *ids = tree->references + tritree_first(leaf);
        const int8 active = near <= far;
        use->tests += TRACE_PACKET * count;
        use->useful += (uint32_t)__builtin_popcount(int8_bits(active)) * count;
        for (uint32_t i = 0; i < count; ++i)
            meet(&p, rays, tree->rows + ids[i], (int32_t)ids[i], active);
        for (going = false; waiting > 0 && !going;) {
            --waiting;
            at = stack[waiting].node;
            near = stack[waiting].near;
            far = float8_min(stack[waiting].far, p.t + p.slack_t);
            if (any) far = float8_select(p.triangle >= 0, float8_all(-INFINITY), far);
            going = int8_any(near <= far);
        }
    }
    for (int i = 0; i < TRACE_PACKET; ++i) {
        hits[i].t = p.t[i];
        hits[i].u = p.u[i];
        hits[i].v = p.v[i];
        hits[i].triangle = (uint32_t)p.triangle[i];
    }
    return true;
}

/* A cheap look at the first and the last ray spares most packets that `load` would refuse. */
static bool ends_differ(const ray rays[TRACE_PACKET]) {
    const vec3 first = rays[0].direction, last = rays[TRACE_PACKET - 1].direction;
    const float along = vec3_dot(first, last);
    return along <= 0 || along * along < 0.9f * vec3_dot(first, first) * vec3_dot(last, last);
}

bool trace_packet(const tritree_view *tree, const ray rays[TRACE_PACKET], bool any,
                  ray_hit hits[TRACE_PACKET], packet_use *use) {
    return !ends_differ(rays) && cast_packet(tree, rays, any, hits, use);
}
