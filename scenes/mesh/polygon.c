/* Polygon triangulation by ear clipping.
   Source: G. H. Meisters, "Polygons have ears" (1975); grid as in M. Held, "FIST: Fast
     industrial-strength triangulation of polygons" (2001), section 4.
   Idea: corners are projected along the largest component of the polygon's normal (Newell's sum).
     An ear is a convex corner whose triangle contains no non-convex corner; a grid finds those.
     Where rounding, bridges to holes or crossing edges leave no proper ear, the conditions are
     relaxed one by one. Small polygons that a fan covers become fans. In large polygons every
     second corner is clipped, round by round, which keeps triangles short.
   Work: O(n) for a fan; else O(n + ears x corners in their grid cells), O(n^2) at worst, limited
     to 4096 n + 2^24 steps; beyond that limit any corner is clipped.
   Memory: 40 bytes per corner.
   Invariants: each step removes one corner and writes one triangle, so there are n - 2. */
#include "core/memory.h"
#include "scenes/mesh/mesh_cleanup.h"

typedef struct point2 {
    double x, y;
} point2;

typedef struct ring {
    const point2 *points;
    uint32_t *next, *previous;
    bool *reflex;  /* reflex or flat: may lie in the triangle of an ear */
    uint32_t left; /* corners not clipped yet */
    /* Uniform grid over the reflex points; each cell is a linked list. */
    uint32_t *cell_first, *cell_next;
    uint32_t side;
    point2 origin, cells_per_unit;
    uint64_t patience; /* remaining steps; at 0 any corner is clipped */
} ring;

static void fill_cells(ring *r) {
    if (r->patience) --r->patience;
}

/* Returns twice the signed area. Differences of floats, and products of two of them, are exact in
   double unless their exponents are far apart. */
static double orientation(point2 a, point2 b, point2 c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static bool is_same_point(point2 a, point2 b) {
    return a.x == b.x && a.y == b.y;
}

/* Newell's normal in double precision, relative to the first corner. */
static void normal_of(const vec3 *corners, uint32_t count, double normal[3]) {
    const vec3 o = corners[0];
    normal[0] = normal[1] = normal[2] = 0;
    for (uint32_t i = 1; i + 1 < count; ++i) {
        const vec3 a = corners[i], b = corners[i + 1];
        const double ax = (double)a.x - (double)o.x, ay = (double)a.y - (double)o.y;
        const double az = (double)a.z - (double)o.z, bx = (double)b.x - (double)o.x;
        const double by = (double)b.y - (double)o.y, bz = (double)b.z - (double)o.z;
        normal[0] += ay * bz - az * by;
        normal[1] += az * bx - ax * bz;
        normal[2] += ax * by - ay * bx;
    }
}

/* Drops the axis of the normal's largest component, such that the polygon is counter-clockwise. */
static void project(const vec3 *corners, uint32_t count, const double normal[3], point2 *points) {
    int axis = fabs(normal[0]) > fabs(normal[1]) ? 0 : 1;
    if (fabs(normal[2]) >= fabs(normal[axis])) axis = 2;
    const double sign = normal[axis] < 0 ? -1 : 1;
    for (uint32_t i = 0; i < count; ++i) {
        points[i].x = sign * (double)vec3_axis(corners[i], (axis + 1) % 3);
        points[i].y = (double)vec3_axis(corners[i], (axis + 2) % 3);
    }
}

static bool fan_covers(const point2 *points, uint32_t count) {
    for (uint32_t i = 1; i + 1 < count; ++i)
        if (!(orientation(points[0], points[i], points[i + 1]) > 0)) return false;
    return true;
}

static void fan_write(uint32_t count, uint32_t *triangles) {
    for (uint32_t i = 1; i + 1 < count; ++i, triangles += 3) {
        triangles[0] = 0;
        triangles[1] = i;
        triangles[2] = i + 1;
    }
}

/* Splits a concave quadrilateral at its reflex corner. */
static bool quad_write(const point2 *p, uint32_t *triangles) {
    if (orientation(p[0], p[1], p[2]) > 0 && orientation(p[0], p[2], p[3]) > 0) {
        fan_write(4, triangles);
        return true;
    }
    if (!(orientation(p[1], p[2], p[3]) > 0 && orientation(p[1], p[3], p[0]) > 0)) return false;
    static const uint32_t other[6] = {1, 2, 3, 1, 3, 0};
    memcpy(triangles, other, sizeof other);
    return true;
}

static uint32_t cell_clamp(double at, uint32_t side) {
    return !(at > 0) ? 0 : at >= (double)side ? side - 1 : (uint32_t)at;
}
static uint32_t cell_x(const ring *r, double x) {
    return cell_clamp((x - r->origin.x) * r->cells_per_unit.x, r->side);
}
static uint32_t cell_y(const ring *r, double y) {
    return cell_clamp((y - r->origin.y) * r->cells_per_unit.y, r->side);
}

/* Returns the number of cells per side for about one corner per cell. */
static uint32_t grid_side(uint32_t count) {
    const uint32_t side = (uint32_t)sqrt((double)count);
    return side < 1 ? 1 : side > 1024 ? 1024 : side;
}

static void grid_fill(ring *r, uint32_t count) {
    point2 low = r->points[0], high = r->points[0];
    for (uint32_t i = 1; i < count; ++i) {
        low.x = fmin(low.x, r->points[i].x);
        low.y = fmin(low.y, r->points[i].y);
        high.x = fmax(high.x, r->points[i].x);
        high.y = fmax(high.y, r->points[i].y);
    }
    r->origin = low;
    r->cells_per_unit.x = high.x > low.x ? r->side / (high.x - low.x) : 0;
    r->cells_per_unit.y = high.y > low.y ? r->side / (high.y - low.y) : 0;
    for (uint32_t i = 0; i < r->side * r->side; ++i) r->cell_first[i] = KD_NONE;
    for (uint32_t i = 0; i < count; ++i) {
        if (!r->reflex[i]) continue;
        const uint32_t cell = cell_y(r, r->points[i].y) * r->side + cell_x(r, r->points[i].x);
        r->cell_next[i] = r->cell_first[cell];
        r->cell_first[cell] = i;
    }
}

/* Returns true if corner i is in the closed triangle. Corners that coincide with a corner of the
   triangle (both sides of a bridge to a hole) do not count. */
static bool is_inside(const ring *r, uint32_t i, point2 a, point2 b, point2 c) {
    const point2 p = r->points[i];
    return orientation(a, b, p) >= 0 && orientation(b, c, p) >= 0 && orientation(c, a, p) >= 0 &&
           !is_same_point(p, a) && !is_same_point(p, b) && !is_same_point(p, c);
}

static bool is_free(ring *r, uint32_t ear) {
    const point2 a = r->points[r->previous[ear]], b = r->points[ear], c = r->points[r->next[ear]];
    const uint32_t x0 = cell_x(r, fmin(a.x, fmin(b.x, c.x)));
    const uint32_t x1 = cell_x(r, fmax(a.x, fmax(b.x, c.x)));
    const uint32_t y0 = cell_y(r, fmin(a.y, fmin(b.y, c.y)));
    const uint32_t y1 = cell_y(r, fmax(a.y, fmax(b.y, c.y)));
    for (uint32_t y = y0; y <= y1; ++y)
        for (uint32_t x = x0; x <= x1; ++x) {
            fill_cells(r);
            uint32_t *link = &r->cell_first[y * r->side + x];
            while (*link != KD_NONE) {
                const uint32_t i = *link;
                if (!r->reflex[i]) { /* clipped, or convex by now: permanently */
                    *link = r->cell_next[i];
                    continue;
                }
                fill_cells(r);
                if (is_inside(r, i, a, b, c)) return false;
                link = &r->cell_next[i];
            }
        }
    return true;
}

static double turn_at(const ring *r, uint32_t i) {
    return orientation(r->points[r->previous[i]], r->points[i], r->points[r->next[i]]);
}

/* The conditions for an ear; each level drops one. */
typedef enum ear_rule {
    EAR_CLEAN,  /* convex, and its triangle is empty */
    EAR_FLAT,   /* or of zero area: a spike, or a corner on a straight edge */
    EAR_CONVEX, /* or convex with a triangle that is not empty */
    EAR_ANY
} ear_rule;

static bool is_ear(ring *r, uint32_t i, ear_rule rule) {
    const double area = turn_at(r, i);
    switch (rule) {
    case EAR_CLEAN: return area > 0 && is_free(r, i);
    case EAR_FLAT: return area == 0 || (area > 0 && is_free(r, i));
    case EAR_CONVEX: return area >= 0;
    case EAR_ANY: return true;
    }
    return true;
}

/* Clipping can make a neighbour convex. It can make a convex one reflex only where edges cross,
   which is ignored. */
static void reflex_update(ring *r, uint32_t i) {
    if (r->reflex[i] && turn_at(r, i) > 0) r->reflex[i] = false;
}

static void ears_cut(ring *r, uint32_t *triangles) {
    uint32_t i = 0, tried = 0;
    int rule = EAR_CLEAN;
    while (r->left > 2) {
        const uint32_t before = r->previous[i], after = r->next[i];
        fill_cells(r);
        if (r->patience == 0) rule = EAR_ANY;
        if (r->left > 3 && !is_ear(r, i, (ear_rule)rule)) {
            i = after;
            if (++tried >= r->left) {
                tried = 0;
                ++rule;
            }
            continue;
        }
        triangles[0] = before;
        triangles[1] = i;
        triangles[2] = after;
        triangles += 3;
        r->next[before] = after;
        r->previous[after] = before;
        r->reflex[i] = false;
        --r->left;
        reflex_update(r, before);
        reflex_update(r, after);
        i = r->next[after]; /* skip the neighbour, to avoid slivers that share one corner */
        tried = 0;
        rule = EAR_CLEAN;
    }
}

static kd_status ears_triangulate(const point2 *points, uint32_t count, uint32_t *triangles) {
    ring r = {0};
    uint32_t *links = NULL;
    bool *reflex = NULL;
    r.side = grid_side(count);
    kd_status status;
    KD_TRY_GOTO(KD_RESERVE(links, 3 * (uint64_t)count + (uint64_t)r.side * r.side));
    KD_TRY_GOTO(KD_RESERVE(reflex, count));
    r.points = points;
    r.left = count;
    r.patience = (1u << 24) + 4096 * (uint64_t)count;
    r.next = links;
    r.previous = links + count;
    r.cell_next = links + 2 * (size_t)count;
    r.cell_first = links + 3 * (size_t)count;
    r.reflex = reflex;
    for (uint32_t i = 0; i < count; ++i) {
        r.next[i] = i + 1 < count ? i + 1 : 0;
        r.previous[i] = i > 0 ? i - 1 : count - 1;
    }
    for (uint32_t i = 0; i < count; ++i) reflex[i] = !(turn_at(&r, i) > 0);
    grid_fill(&r, count);
    ears_cut(&r, triangles);
done:
    memory_free(links);
    memory_free(reflex);
    return status;
}

kd_status polygon_triangulate(const vec3 *corners, uint32_t count, uint32_t *triangles) {
    enum { SMALL = 16 };
    point2 small[SMALL], *points = small;
    double normal[3];
    normal_of(corners, count, normal);
    if (count == 3 || !(fabs(normal[0]) > 0 || fabs(normal[1]) > 0 || fabs(normal[2]) > 0)) {
        fan_write(count, triangles);
        return KD_OK;
    }
    if (count > SMALL) KD_TRY(KD_RESERVE(points, count));
    project(corners, count, normal, points);
    kd_status status = KD_OK;
    if (count == 4 && quad_write(points, triangles))
        ;
    else if (count <= SMALL && fan_covers(points, count)) /* a large fan would be all slivers */
        fan_write(count, triangles);
    else
        status = ears_triangulate(points, count, triangles);
    if (points != small) memory_free(points);
    return status;
}
