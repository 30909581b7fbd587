/* Surfaces of revolution for scene descriptions: a profile of straight segments or curves is
   divided into rows, and turned by lathe_turn. */
#include "scenes/mesh/shapes.h"
#include "core/memory.h"

static const double pi = 3.14159265358979323846;

enum { SEGMENTS_MIN = 8, ROWS_MAX = 1 << 20, CURVE_STEPS = 32 };

typedef struct flat { /* A point or vector in the half plane of the profile. */
    double r, h;
} flat;

static flat flat_add(flat a, flat b, double factor) {
    const flat sum = {a.r + factor * b.r, a.h + factor * b.h};
    return sum;
}

static double flat_length(flat a) {
    return sqrt(a.r * a.r + a.h * a.h);
}

/* Returns the angle between two directions in degrees, 0 to 180. */
static double flat_degrees(flat a, flat b) {
    return fabs(atan2(a.r * b.h - a.h * b.r, a.r * b.r + a.h * b.h)) * 180 / pi;
}

typedef struct profile_segment {
    flat from, to;
    flat slope; /* (to - from) / knot */
    double knot;
    flat begin, end; /* derivatives by the parameter, which grows by `knot` */
    bool sharp;      /* the profile has an edge at `from` */
    bool cap;        /* always straight */
    uint32_t point;  /* index of the profile's point before it */
    double weight;   /* integral of sqrt(curvature), in proportion to which curves are divided */
    uint32_t rows;
} profile_segment;

typedef struct profile_path {
    profile_segment *segments;
    uint32_t count;
    double radius;   /* the largest */
    bool last_sharp; /* the end of the last segment is an edge */
} profile_path;

/* --- segments --------------------------------------------------------------------------------- */

static void add_segment(profile_path *path, flat from, flat to, bool sharp, uint32_t point) {
    profile_segment *made = &path->segments[path->count++];
    memset(made, 0, sizeof *made);
    made->from = from;
    made->to = to;
    made->sharp = sharp;
    made->point = point;
}

static flat flat_point(const profile_point *point) {
    const flat made = {(double)point->radius, (double)point->height};
    return made;
}

static flat foot(flat at) { /* the nearest point of the axis */
    const flat made = {0, at.h};
    return made;
}

/* Lists the segments of the control polygon, backwards if `turned`. */
static void list_segments(profile_path *path, const revolved_shape *shape, bool turned) {
    const uint32_t n = shape->point_count;
    const profile_point *points = shape->profile;
    path->count = 0;
    path->last_sharp = points[turned ? 0 : n - 1].sharp;
    const flat first = flat_point(&points[turned ? n - 1 : 0]);
    const flat last = flat_point(&points[turned ? 0 : n - 1]);
    const bool capped = shape->caps && !shape->closed;
    if (capped && first.r > 0) {
        add_segment(path, foot(first), first, false, 0);
        path->segments[0].cap = true;
    }
    for (uint32_t i = 0; i < n - !shape->closed; ++i) {
        const uint32_t a = turned ? n - 1 - i : i;
        const uint32_t b = turned ? (2 * n - 2 - i) % n : (i + 1) % n;
        const bool sharp = points[a].sharp || (capped && i == 0 && first.r > 0);
        add_segment(path, flat_point(&points[a]), flat_point(&points[b]), sharp, turned ? b : a);
    }
    if (capped && last.r > 0) {
        add_segment(path, last, foot(last), true, 0);
        path->segments[path->count - 1].cap = true;
    }
}

/* Returns the volume to the left of the profile divided by pi; negative if fronts point inwards. */
static double enclosed(const profile_path *path) {
    double sum = 0;
    for (uint32_t i = 0; i < path->count; ++i) {
        const flat a = path->segments[i].from, b = path->segments[i].to;
        sum += (b.h - a.h) * (a.r * a.r + a.r * b.r + b.r * b.r) / 3;
    }
    return sum;
}

/* --- tangents --------------------------------------------------------------------------------- */

static bool on_axis(const profile_segment *segment) {
    return !(segment->from.r > 0) && !(segment->to.r > 0);
}

static bool always_straight(const profile_segment *segment) {
    return segment->cap || on_axis(segment);
}

static const profile_segment *segment_at(const profile_path *path, const revolved_shape *shape,
                                         int64_t i) {
    const int64_t n = path->count;
    if (!shape->closed && (i < 0 || i >= n)) return NULL;
    return &path->segments[(i + n) % n];
}

/* Returns true if `a` and the next segment `b` (NULL: there is none) join without an edge. */
static bool joins(const revolved_shape *shape, const profile_segment *a, const profile_segment *b) {
    return a && b && !b->sharp && b->from.r > 0 && !always_straight(a) && !always_straight(b) &&
           flat_degrees(a->slope, b->slope) <= shape->crease_degrees;
}

/* Derivative where two segments join, by the parabola through three points. */
static flat joint_slope(const profile_segment *a, const profile_segment *b) {
    const double sum = a->knot + b->knot;
    const flat part = {a->slope.r * b->knot / sum, a->slope.h * b->knot / sum};
    return flat_add(part, b->slope, a->knot / sum);
}

/* Returns true if the surface is smooth where the segment ends on the axis: the profile continues
   with its mirror image. */
static bool smooth_pole(const revolved_shape *shape, const profile_segment *segment, flat at,
                        bool sharp) {
    const flat across = {segment->slope.r < 0 ? -1 : 1, 0};
    return !(at.r > 0) && !sharp && !always_straight(segment) &&
           2 * flat_degrees(segment->slope, across) <= shape->crease_degrees;
}

/* Sets the derivatives at both ends of segment i. A curve that ends at an edge ends as a parabola.
 */
static void set_tangents(profile_path *path, const revolved_shape *shape, uint32_t i) {
    profile_segment *made = &path->segments[i];
    const profile_segment *before = segment_at(path, shape, (int64_t)i - 1);
    const profile_segment *after = segment_at(path, shape, (int64_t)i + 1);
    const bool last_sharp = after ? after->sharp : path->last_sharp;
    const bool joint[2] = {joins(shape, before, made), joins(shape, made, after)};
    const bool pole[2] = {smooth_pole(shape, made, made->from, made->sharp),
                          smooth_pole(shape, made, made->to, last_sharp)};
    const flat level = {made->slope.r, 0};
    made->begin = joint[0] ? joint_slope(before, made) : pole[0] ? level : made->slope;
    made->end = joint[1] ? joint_slope(made, after) : pole[1] ? level : made->slope;
    if (!shape->smooth || always_straight(made)) return;
    const flat twice = {2 * made->slope.r, 2 * made->slope.h};
    if (!joint[0] && !pole[0] && (joint[1] || pole[1]))
        made->begin = flat_add(twice, made->end, -1);
    if (!joint[1] && !pole[1] && (joint[0] || pole[0]))
        made->end = flat_add(twice, made->begin, -1);
}

static void set_slopes(profile_path *path, bool smooth) {
    path->radius = 0;
    for (uint32_t i = 0; i < path->count; ++i) {
        profile_segment *made = &path->segments[i];
        const flat chord = flat_add(made->to, made->from, -1);
        const double length = flat_length(chord);
        made->knot = smooth ? sqrt(length) : length; /* centripetal: no loops within a segment */
        made->slope.r = chord.r / made->knot;
        made->slope.h = chord.h / made->knot;
        path->radius = fmax(path->radius, fmax(made->from.r, made->to.r));
    }
}

/* --- curves ----------------------------------------------------------------------------------- */

/* Returns the point of the cubic at t in 0..1, and its first two derivatives by t. */
static flat curve_at(const profile_segment *made, double t, flat *first, flat *second) {
    const flat chord = flat_add(made->to, made->from, -1);
    const flat begin = {made->begin.r * made->knot, made->begin.h * made->knot};
    const flat end = {made->end.r * made->knot, made->end.h * made->knot};
    flat square = {3 * chord.r - 2 * begin.r - end.r, 3 * chord.h - 2 * begin.h - end.h};
    flat cube = {begin.r + end.r - 2 * chord.r, begin.h + end.h - 2 * chord.h};
    *first = flat_add(flat_add(begin, square, 2 * t), cube, 3 * t * t);
    second->r = 2 * square.r + 6 * t * cube.r;
    second->h = 2 * square.h + 6 * t * cube.h;
    return flat_add(flat_add(flat_add(made->from, begin, t), square, t * t), cube, t * t * t);
}

/* Sets the weight of a curve, by which its chords are equally far from it as those of the circles:
   a chord of length s is s^2 / 8 x curvature away. Returns false if it crosses the axis. */
static bool weigh_curve(profile_segment *made) {
    made->weight = 0;
    if (always_straight(made)) return true;
    for (int i = 0; i < CURVE_STEPS; ++i) {
        flat first, second;
        const flat at = curve_at(made, (i + 0.5) / CURVE_STEPS, &first, &second);
        const double speed = flat_length(first);
        const double bend = fabs(first.r * second.h - first.h * second.r);
        if (speed > 0) made->weight += sqrt(bend / speed) / CURVE_STEPS;
        if (!(at.r > 0)) return false;
    }
    return true;
}

/* Sets the rows of all segments for a density; returns the number of triangles of a sector. */
static uint64_t set_rows(profile_path *path, double density) {
    uint64_t triangles = 0;
    for (uint32_t i = 0; i < path->count; ++i) {
        profile_segment *made = &path->segments[i];
        made->rows = (uint32_t)fmin(fmax(nearbyint(made->weight * density), 1), ROWS_MAX);
        triangles +=
            2 * (uint64_t)made->rows - (made->from.r > 0 ? 0 : 1) - (made->to.r > 0 ? 0 : 1);
    }
    return triangles;
}

static uint32_t segments_around(const profile_path *path, double density) {
    const double count = 2 * pi * sqrt(path->radius) * density;
    return (uint32_t)fmin(fmax(nearbyint(count), SEGMENTS_MIN), 1 << 24);
}

/* Divides all segments and returns the number around the axis, for about that many triangles. */
static uint32_t divide(profile_path *path, uint64_t triangles) {
    double low = 0, high = (1 << 24) / (2 * pi * sqrt(path->radius));
    for (int i = 0; i < 64; ++i) {
        const double middle = (low + high) / 2;
        if (set_rows(path, middle) * segments_around(path, middle) < triangles)
            low = middle;
        else
            high = middle;
    }
    set_rows(path, high);
    return segments_around(path, high);
}

/* --- the surface ------------------------------------------------------------------------------ */

static vec2 normal_of(flat tangent) { /* to the right of the direction */
    const double length = flat_length(tangent);
    if (!(length > 0)) return vec2_make(1, 0);
    return vec2_make((float)(tangent.h / length), (float)(-tangent.r / length));
}

typedef struct lathe_arrays {
    lathe_point *points;
    lathe_band *bands;
    uint32_t count; /* bands */
} lathe_arrays;

/* Lists the rows of all segments. Returns false if a curve crosses the axis. */
static bool list_rows(const profile_path *path, const revolved_shape *shape, uint32_t material,
                      lathe_arrays *arrays, uint32_t *crossing) {
    double length = 0;
    for (uint32_t i = 0; i < path->count; ++i) {
        const profile_segment *made = &path->segments[i];
        flat at = made->from, first = made->begin, second;
        for (uint32_t row = 0; row < made->rows; ++row) {
            lathe_band *band = &arrays->bands[arrays->count];
            lathe_point *point = &arrays->points[arrays->count++];
            const bool last = row + 1 == made->rows;
            point->radius = (float)at.r;
            point->height = (float)at.h;
            point->material = material;
            *crossing = made->point;
            if (row > 0 && !(point->radius > 0)) return false;
            band->normals[0] = normal_of(first);
            band->v[0] = (float)length;
            const flat next =
                last ? made->to : curve_at(made, (row + 1.0) / made->rows, &first, &second);
            if (last) first = made->end;
            length += flat_length(flat_add(next, at, -1));
            band->normals[1] = normal_of(first);
            band->v[1] = (float)length;
            at = next;
        }
        arrays->points[arrays->count].radius = (float)at.r;
        arrays->points[arrays->count].height = (float)at.h;
        arrays->points[arrays->count].material = material;
    }
    for (uint32_t i = 0; i < arrays->count; ++i)
        for (int end = 0; end < 2; ++end) arrays->bands[i].v[end] *= shape->uv.y / (float)length;
    return true;
}

/* Returns false if a curve crosses the axis. */
static bool revolve_path(mesh_builder *builder, const revolved_shape *shape, profile_path *path,
                         lathe_arrays *arrays, uint32_t *crossing) {
    list_segments(path, shape, false);
    const bool whole = shape->closed || (!(path->segments[0].from.r > 0) &&
                                         !(path->segments[path->count - 1].to.r > 0));
    if (whole && enclosed(path) < 0) list_segments(path, shape, true);
    set_slopes(path, shape->smooth);
    for (uint32_t i = 0; i < path->count; ++i) set_tangents(path, shape, i);
    for (uint32_t i = 0; shape->smooth && i < path->count; ++i) {
        *crossing = path->segments[i].point;
        if (!weigh_curve(&path->segments[i])) return false;
    }
    lathe lathe = {.ring = shape->closed, .base = shape->base, .u = shape->uv.x};
    lathe.segments = divide(path, shape->triangles);
    uint64_t rows = 0;
    for (uint32_t i = 0; i < path->count; ++i) rows += path->segments[i].rows;
    builder->status = KD_RESERVE(arrays->points, rows + 1);
    if (builder->status == KD_OK) builder->status = KD_RESERVE(arrays->bands, rows);
    if (builder->status != KD_OK) return true;
    if (!list_rows(path, shape, builder->material, arrays, crossing)) return false;
    lathe.profile = arrays->points;
    lathe.bands = arrays->bands;
    lathe.point_count = arrays->count + !shape->closed;
    lathe_turn(builder, &lathe);
    return true;
}

bool shape_revolve(mesh_builder *builder, const revolved_shape *shape, uint32_t *crossing) {
    profile_path path = {NULL, 0, 0, false};
    lathe_arrays arrays = {NULL, NULL, 0};
    bool made = true;
    if (builder->status != KD_OK) return true;
    builder->status = KD_RESERVE(path.segments, (uint64_t)shape->point_count + 2);
    if (builder->status == KD_OK) made = revolve_path(builder, shape, &path, &arrays, crossing);
    memory_free(path.segments);
    memory_free(arrays.points);
    memory_free(arrays.bands);
    return made;
}

void shape_torus(mesh_builder *builder, vec3 centre, float radius, float tube, uint64_t triangles,
                 vec2 uv) {
    const double ratio = sqrt((double)tube / ((double)radius + (double)tube));
    const uint32_t rows = (uint32_t)fmax(nearbyint(sqrt((double)triangles / 2 * ratio)), 6);
    const double around = fmax(nearbyint((double)triangles / 2 / rows), SEGMENTS_MIN);
    lathe_point *points = NULL;
    lathe_band *bands = NULL;
    if (builder->status == KD_OK) builder->status = KD_RESERVE(points, rows);
    if (builder->status == KD_OK) builder->status = KD_RESERVE(bands, rows);
    for (uint32_t i = 0; i < rows && builder->status == KD_OK; ++i) {
        for (uint32_t end = 0; end < 2; ++end) {
            const double angle = 2 * pi * ((i + end) % rows) / rows;
            bands[i].normals[end] = vec2_make((float)cos(angle), (float)sin(angle));
            bands[i].v[end] = uv.y * (float)(i + end) / (float)rows;
        }
        points[i].radius = radius + tube * bands[i].normals[0].x;
        points[i].height = tube * bands[i].normals[0].y;
        points[i].material = builder->material;
    }
    const lathe shape = {points, rows, true, (uint32_t)around, centre, bands, uv.x};
    if (builder->status == KD_OK) lathe_turn(builder, &shape);
    memory_free(points);
    memory_free(bands);
}

void shape_cone(mesh_builder *builder, const cone_shape *shape) {
    const float r[4] = {0, shape->radius, shape->top_radius, 0};
    const float h[4] = {0, 0, shape->height, shape->height};
    const flat wall = {(double)shape->top_radius - (double)shape->radius, (double)shape->height};
    const vec2 normals[3] = {vec2_make(0, -1), normal_of(wall), vec2_make(0, 1)};
    lathe_point points[4];
    lathe_band bands[3];
    uint32_t count = 0;
    /* without a cap, the profile begins or ends at the rim; so it does at the tip of a cone */
    const int first = shape->caps && shape->radius > 0 ? 0 : 1;
    const int last = shape->caps && shape->top_radius > 0 ? 3 : 2;
    for (int i = first; i <= last; ++i) {
        const lathe_point point = {r[i], h[i], builder->material};
        points[count++] = point;
        if (i == last) break;
        const lathe_band band = {{normals[i], normals[i]},
                                 {i == 2 ? shape->uv.y : 0, i == 2 ? 0 : shape->uv.y}};
        bands[count - 1] = band;
    }
    lathe made = {points, count, false, 0, shape->base, bands, shape->uv.x};
    made.segments = lathe_segments(&made, shape->triangles, SEGMENTS_MIN);
    lathe_turn(builder, &made);
}
