/* Finds boundaries of media that lie in one place, and bodies around one point.
   Idea: triangles of one plane, by rounded coefficients, are sorted by an interval along an axis
     and swept; separating axes tell which overlap. Bodies are the components of a material's
     triangles by equal positions; those around a point are counted by the parity of the crossings
     of a ray.
   Work: up to WORK_MAX pairs, BODIES_MAX bodies and POINTS_MAX points. */
#include "scenes/mesh/overlaps.h"
#include "core/hash.h"
#include "core/memory.h"
#include "scenes/mesh/mesh_cleanup.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORK_MAX = 1 << 22, BODIES_MAX = 4096, POINTS_MAX = 64 };

/* Tolerances relative to the size of the triangles considered: distance of planes that count as
   one, and of edges that only touch. */
static const double plane_step = 1e-6, touch = 1e-5;
static const double normal_step = 1e-4;

static vec3 corner(const mesh *mesh, uint32_t triangle, int k) {
    return mesh->positions[mesh->triangles[3 * (uint64_t)triangle + (uint64_t)k]];
}

/* --- coincident triangles ----------------------------------------------------------------------
 */

typedef struct flat_piece {
    uint64_t plane; /* hash of its coefficients */
    float lo, hi;   /* along the axis after `axis` */
    uint32_t triangle;
    int32_t axis; /* the largest coefficient of the normal */
} flat_piece;

static bool comes_before(vec3 a, vec3 b) {
    if (a.x != b.x) return a.x < b.x;
    if (a.y != b.y) return a.y < b.y;
    return a.z < b.z;
}

/* Returns false for a triangle without an area. */
static bool piece_make(flat_piece *made, const mesh *mesh, uint32_t triangle, double size) {
    vec3 p[3];
    double edges[2][3], normal[3], length = 0, offset = 0;
    for (int k = 0; k < 3; ++k) p[k] = corner(mesh, triangle, k);
    for (int i = 0; i < 3; ++i) { /* sorted, so that equal triangles get equal coefficients */
        const int k = i % 2;
        const vec3 other = p[k];
        if (!comes_before(p[k + 1], other)) continue;
        p[k] = p[k + 1];
        p[k + 1] = other;
    }
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 2; ++k)
            edges[k][i] = (double)vec3_axis(p[k + 1], i) - (double)vec3_axis(p[0], i);
    for (int i = 0; i < 3; ++i) {
        normal[i] = edges[0][(i + 1) % 3] * edges[1][(i + 2) % 3] -
                    edges[0][(i + 2) % 3] * edges[1][(i + 1) % 3];
        length += normal[i] * normal[i];
    }
    length = sqrt(length);
    if (!(length > touch * touch * size * size)) return false;
    int axis = 0;
    for (int i = 1; i < 3; ++i)
        if (fabs(normal[i]) > fabs(normal[axis]) * (1 + 1e-3)) axis = i;
    if (normal[axis] < 0) length = -length;
    int64_t rounded[5];
    for (int i = 0; i < 3; ++i) {
        offset += normal[i] / length * (double)vec3_axis(p[0], i);
        rounded[i] = llround(normal[i] / length / normal_step);
    }
    rounded[3] = llround(offset / (plane_step * size));
    rounded[4] = axis;
    made->plane = hash_bytes(rounded, sizeof rounded);
    made->triangle = triangle;
    made->axis = axis;
    const int along = (axis + 1) % 3;
    made->lo = made->hi = vec3_axis(p[0], along);
    for (int k = 1; k < 3; ++k) {
        made->lo = fminf(made->lo, vec3_axis(p[k], along));
        made->hi = fmaxf(made->hi, vec3_axis(p[k], along));
    }
    return true;
}

static int piece_order(const void *a, const void *b) {
    const flat_piece *left = (const flat_piece *)a, *right = (const flat_piece *)b;
    if (left->plane != right->plane) return left->plane < right->plane ? -1 : 1;
    if (left->lo != right->lo) return left->lo < right->lo ? -1 : 1;
    return left->triangle < right->triangle ? -1 : left->triangle > right->triangle;
}

/* Returns true if an edge of triangle a, in the plane without an axis, separates it from b. */
static bool edge_separates(double a[3][2], double b[3][2], double slack) {
    for (int k = 0; k < 3; ++k) {
        const double *from = a[k], *to = a[(k + 1) % 3], *apex = a[(k + 2) % 3];
        const double x = to[0] - from[0], y = to[1] - from[1];
        const double side = x * (apex[1] - from[1]) - y * (apex[0] - from[0]);
        const double limit = slack * sqrt(x * x + y * y);
        bool apart = true;
        for (int i = 0; i < 3 && apart; ++i) {
            const double other = x * (b[i][1] - from[1]) - y * (b[i][0] - from[0]);
            apart = (side > 0 ? other : -other) <= limit;
        }
        if (apart) return true;
    }
    return false;
}

static bool pieces_overlap(const mesh *mesh, const flat_piece *a, const flat_piece *b,
                           double slack) {
    double flat[2][3][2];
    const uint32_t triangles[2] = {a->triangle, b->triangle};
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k)
            for (int j = 0; j < 2; ++j)
                flat[i][k][j] =
                    (double)vec3_axis(corner(mesh, triangles[i], k), (a->axis + 1 + j) % 3);
    return !edge_separates(flat[0], flat[1], slack) && !edge_separates(flat[1], flat[0], slack);
}

static vec3 centre_of(const mesh *mesh, uint32_t triangle) {
    const vec3 sum = vec3_add(corner(mesh, triangle, 0),
                              vec3_add(corner(mesh, triangle, 1), corner(mesh, triangle, 2)));
    return vec3_scale(sum, 1.0f / 3);
}

kd_status overlaps_find_coincident(const mesh *mesh, uint32_t count, const bool *bounds,
                                   uint32_t materials[2], vec3 *place) {
    flat_piece *pieces = NULL;
    box3 box = box3_empty();
    uint64_t used = 0, made = 0;
    int64_t work = 0;
    materials[0] = materials[1] = KD_NONE;
    for (uint32_t i = 0; i < count; ++i) {
        if (!bounds[mesh->triangle_materials[i]]) continue;
        ++used;
        for (int k = 0; k < 3; ++k) box3_include(&box, corner(mesh, i, k));
    }
    if (used < 2) return KD_OK;
    const double size = (double)vec3_largest(box3_size(box));
    KD_TRY(KD_RESERVE(pieces, used));
    for (uint32_t i = 0; i < count; ++i)
        if (bounds[mesh->triangle_materials[i]] && piece_make(&pieces[made], mesh, i, size)) ++made;
    qsort(pieces, made, sizeof *pieces, piece_order);
    for (uint64_t i = 0; i < made && materials[0] == KD_NONE; ++i)
        for (uint64_t k = i + 1; k < made && pieces[k].plane == pieces[i].plane &&
                                 pieces[k].lo < pieces[i].hi && work < WORK_MAX;
             ++k, ++work) {
            if (!pieces_overlap(mesh, &pieces[i], &pieces[k], touch * size)) continue;
            materials[0] = mesh->triangle_materials[pieces[i].triangle];
            materials[1] = mesh->triangle_materials[pieces[k].triangle];
            *place = centre_of(mesh, pieces[k].triangle);
            break;
        }
    memory_free(pieces);
    return KD_OK;
}

/* --- bodies around one point -------------------------------------------------------------------
 */

typedef struct crowd {
    const mesh *geometry;
    uint32_t count, material;
    uint32_t *places; /* per position: the number of its place */
    uint32_t *parent; /* per place: union-find */
    uint32_t *body;   /* per place that is a root: its body */
    box3 *boxes;      /* box of each body */
    uint8_t *inside;  /* per body: parity of the crossings */
    uint32_t bodies;
} crowd;

static uint32_t root_of(uint32_t *parent, uint32_t i) {
    for (; parent[i] != i; i = parent[i]) parent[i] = parent[parent[i]];
    return i;
}

static uint32_t place_of(const crowd *c, uint32_t triangle, int k) {
    return c->places[c->geometry->triangles[3 * (uint64_t)triangle + (uint64_t)k]];
}

static bool holds(box3 box, vec3 at) {
    for (int i = 0; i < 3; ++i)
        if (vec3_axis(at, i) <= vec3_axis(box.lo, i) || vec3_axis(at, i) >= vec3_axis(box.hi, i))
            return false;
    return true;
}

/* Returns true if a ray, in a direction that few edges have, crosses the triangle. */
static bool is_crossed(const mesh *mesh, uint32_t triangle, vec3 from) {
    static const double way[3] = {0.3127, 0.8713, 0.4259};
    double p[3][3], across[3], weights[3];
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i)
            p[k][i] = (double)vec3_axis(corner(mesh, triangle, k), i) - (double)vec3_axis(from, i);
    double sum = 0, distance = 0;
    for (int k = 0; k < 3; ++k) {
        const double *a = p[(k + 1) % 3], *b = p[(k + 2) % 3];
        weights[k] = 0;
        for (int i = 0; i < 3; ++i) {
            across[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
            weights[k] += way[i] * across[i];
        }
        sum += weights[k];
    }
    const bool all = (weights[0] > 0 && weights[1] > 0 && weights[2] > 0) ||
                     (weights[0] < 0 && weights[1] < 0 && weights[2] < 0);
    if (!all) return false;
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i) distance += weights[k] / sum * p[k][i] * way[i];
    return distance > 0;
}

/* Returns the number of bodies around a point. */
static uint32_t bodies_around(crowd *c, vec3 at) {
    uint32_t around = 0;
    memset(c->inside, 0, c->bodies);
    for (uint32_t i = 0; i < c->count; ++i) {
        if (c->geometry->triangle_materials[i] != c->material) continue;
        const uint32_t body = c->body[root_of(c->parent, place_of(c, i, 0))];
        if (holds(c->boxes[body], at) && is_crossed(c->geometry, i, at)) c->inside[body] ^= 1;
    }
    for (uint32_t i = 0; i < c->bodies; ++i) around += c->inside[i];
    return around;
}

/* Divides the triangles into bodies. Sets bodies to 0 if there are more than BODIES_MAX. */
static void find_bodies(crowd *c) {
    for (uint32_t i = 0; i < c->count; ++i) {
        if (c->geometry->triangle_materials[i] != c->material) continue;
        const uint32_t first = root_of(c->parent, place_of(c, i, 0));
        for (int k = 1; k < 3; ++k) c->parent[root_of(c->parent, place_of(c, i, k))] = first;
    }
    for (uint32_t i = 0; i < c->count; ++i) {
        if (c->geometry->triangle_materials[i] != c->material) continue;
        uint32_t *body = &c->body[root_of(c->parent, place_of(c, i, 0))];
        if (*body == KD_NONE && c->bodies == BODIES_MAX) {
            c->bodies = 0;
            return;
        }
        if (*body == KD_NONE) {
            *body = c->bodies++;
            c->boxes[*body] = box3_empty();
        }
        for (int k = 0; k < 3; ++k) box3_include(&c->boxes[*body], corner(c->geometry, i, k));
    }
}

/* Narrows the box of a body by those of others as long as they overlap. Returns how many do. */
static uint32_t narrow(const crowd *c, uint32_t body, box3 *box) {
    uint32_t around = 1;
    *box = c->boxes[body];
    for (uint32_t i = 0; i < c->bodies; ++i) {
        box3 both = {vec3_max(box->lo, c->boxes[i].lo), vec3_min(box->hi, c->boxes[i].hi)};
        if (i == body || !holds(both, box3_centre(both))) continue;
        *box = both;
        ++around;
    }
    return around;
}

static void search_crowd(crowd *c, uint32_t most, uint32_t *depth, vec3 *place) {
    int tested = 0;
    find_bodies(c);
    for (uint32_t i = 0; i < c->bodies && tested < POINTS_MAX; ++i) {
        box3 box;
        if (narrow(c, i, &box) <= most) continue;
        ++tested;
        const vec3 points[2] = {box3_centre(box), box3_centre(c->boxes[i])};
        for (int k = 0; k < 2; ++k) {
            const uint32_t around = bodies_around(c, points[k]);
            if (around <= most) continue;
            *depth = around;
            *place = points[k];
            return;
        }
    }
}

kd_status overlaps_find_crowd(const mesh *mesh, uint32_t count, uint32_t material, uint32_t most,
                              uint32_t *depth, vec3 *place) {
    crowd c = {.geometry = mesh, .count = count, .material = material};
    kd_status status = KD_OK;
    vec3 *kept = NULL;
    uint32_t kept_count = 0;
    *depth = 0;
    KD_TRY_GOTO(KD_RESERVE(c.places, mesh->position_count));
    KD_TRY_GOTO(KD_RESERVE(c.parent, mesh->position_count));
    KD_TRY_GOTO(KD_RESERVE(c.body, mesh->position_count));
    KD_TRY_GOTO(KD_RESERVE(c.boxes, BODIES_MAX));
    KD_TRY_GOTO(KD_RESERVE(c.inside, BODIES_MAX));
    KD_TRY_GOTO(weld_places(mesh->positions, mesh->position_count, c.places, &kept, &kept_count));
    for (uint32_t i = 0; i < mesh->position_count; ++i) {
        c.parent[i] = i;
        c.body[i] = KD_NONE;
    }
    search_crowd(&c, most, depth, place);
done:
    memory_free(kept);
    memory_free(c.places);
    memory_free(c.parent);
    memory_free(c.body);
    memory_free(c.boxes);
    memory_free(c.inside);
    return status;
}
