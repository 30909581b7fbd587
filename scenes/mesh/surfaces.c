#include "scenes/mesh/surfaces.h"

static uint32_t band_count(const lathe *shape) {
    return shape->ring ? shape->point_count : shape->point_count - 1;
}

static const lathe_point *point_after(const lathe *shape, uint32_t i) {
    return &shape->profile[(i + 1) % shape->point_count];
}

uint64_t lathe_triangles(const lathe *shape) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < band_count(shape); ++i)
        rows += (uint64_t)(shape->profile[i].radius > 0) + (point_after(shape, i)->radius > 0);
    return rows * shape->segments;
}

uint32_t lathe_segments(const lathe *shape, uint64_t triangles, uint32_t fewest) {
    lathe sector = *shape;
    sector.segments = 1;
    const uint64_t around = triangles / lathe_triangles(&sector);
    return around < fewest ? fewest : around > 1 << 24 ? 1 << 24 : (uint32_t)around;
}

/* Unit normal of a band in the (radius, height) plane, to the right of the profile's direction. */
static vec2 band_normal(const lathe *shape, uint32_t band) {
    const lathe_point *a = &shape->profile[band], *b = point_after(shape, band);
    const vec3 n = vec3_normalize(vec3_make(b->height - a->height, -(b->radius - a->radius), 0));
    return vec2_make(n.x, n.y);
}

/* The normal of a band at its first (`step` -1) or last (`step` 1) point: the mean with the
   adjacent band's normal where they join smoothly. */
static vec2 smooth_normal(const lathe *shape, uint32_t band, int step) {
    const uint32_t bands = band_count(shape);
    const vec2 normal = band_normal(shape, band);
    if (!shape->ring && ((step < 0 && band == 0) || (step > 0 && band + 1 == bands))) {
        const lathe_point *end = step < 0 ? &shape->profile[0] : point_after(shape, band);
        return end->radius > 0 ? normal : vec2_make(0, normal.y < 0 ? -1.0f : 1.0f);
    }
    const vec2 other = band_normal(shape, (band + bands + (uint32_t)step) % bands);
    if (normal.x * other.x + normal.y * other.y < 0.8660254f) return normal;
    const vec3 mean = vec3_normalize(vec3_make(normal.x + other.x, normal.y + other.y, 0));
    return vec2_make(mean.x, mean.y);
}

/* Direction of spoke i < segments, from +z towards +x. */
static vec2 spoke(const lathe *shape, double i) {
    const double turn = 2 * 3.14159265358979323846 * i / shape->segments;
    return vec2_make((float)sin(turn), (float)cos(turn));
}

/* Returns the number of vertices of a profile point. */
static uint32_t circle_count(const lathe *shape, const lathe_point *point) {
    return point->radius > 0 ? shape->segments : 1;
}

static void add_circle(mesh_builder *builder, const lathe *shape, const lathe_point *point) {
    const uint32_t count = circle_count(shape, point);
    for (uint32_t i = 0; i < count; ++i) {
        const vec2 direction = spoke(shape, i);
        const vec3 offset =
            vec3_make(point->radius * direction.x, point->height, point->radius * direction.y);
        mesh_builder_position(builder, vec3_add(shape->base, offset));
    }
}

/* On the axis, each triangle has a normal of its own, halfway between its spokes. */
static uint32_t add_circle_normals(mesh_builder *builder, const lathe *shape,
                                   const lathe_point *point, vec2 normal) {
    const uint32_t first = builder->made.normal_count;
    for (uint32_t i = 0; i < shape->segments; ++i) {
        const vec2 direction = spoke(shape, i + (point->radius > 0 ? 0 : 0.5));
        mesh_builder_normal(builder,
                            vec3_make(normal.x * direction.x, normal.y, normal.x * direction.y));
    }
    return first;
}

/* As the normals; a circle has one more, because its first vertex has two. */
static uint32_t add_circle_texcoords(mesh_builder *builder, const lathe *shape,
                                     const lathe_point *point, float v) {
    const uint32_t first = builder->made.texcoord_count;
    const bool circle = point->radius > 0;
    for (uint32_t i = 0; i < shape->segments + circle; ++i) {
        const double turns = (i + (circle ? 0 : 0.5)) / shape->segments;
        mesh_builder_texcoord(builder, vec2_make((float)(turns * (double)shape->u), v));
    }
    return first;
}

/* One end of a band: the first indices of its circle. */
typedef struct band_end {
    uint32_t position, normal, texcoord;
    bool axis, textured;
} band_end;

static band_end add_end(mesh_builder *builder, const lathe *shape, uint32_t band, int end,
                        uint32_t circle) {
    const lathe_point *point = end ? point_after(shape, band) : &shape->profile[band];
    const lathe_band *given = shape->bands ? &shape->bands[band] : NULL;
    const vec2 normal = given ? given->normals[end] : smooth_normal(shape, band, end ? 1 : -1);
    band_end made = {circle, 0, KD_NONE, !(point->radius > 0), given != NULL};
    made.normal = add_circle_normals(builder, shape, point, normal);
    if (given) made.texcoord = add_circle_texcoords(builder, shape, point, given->v[end]);
    return made;
}

/* Returns the corner at spoke `i` or, if `next`, at the spoke after it. */
static mesh_corner end_corner(const lathe *shape, const band_end *end, uint32_t i, bool next) {
    const uint32_t step = next && !end->axis;
    const uint32_t spoke_index = (i + step) % shape->segments;
    const mesh_corner corner = {end->axis ? end->position : end->position + spoke_index,
                                end->normal + spoke_index,
                                end->textured ? end->texcoord + i + step : KD_NONE};
    return corner;
}

static void add_band(mesh_builder *builder, const lathe *shape, uint32_t band, uint32_t low_circle,
                     uint32_t high_circle) {
    const band_end low = add_end(builder, shape, band, 0, low_circle);
    const band_end high = add_end(builder, shape, band, 1, high_circle);
    builder->material = shape->profile[band].material;
    for (uint32_t i = 0; i < shape->segments; ++i) {
        const mesh_corner a = end_corner(shape, &low, i, false);
        const mesh_corner b = end_corner(shape, &low, i, true);
        const mesh_corner c = end_corner(shape, &high, i, true);
        const mesh_corner d = end_corner(shape, &high, i, false);
        if (!low.axis) mesh_builder_triangle(builder, a, b, c);
        if (!high.axis) mesh_builder_triangle(builder, a, c, d);
    }
}

void lathe_turn(mesh_builder *builder, const lathe *shape) {
    const uint32_t first = builder->made.position_count;
    assert(shape->point_count >= 2 && shape->segments >= 3);
    for (uint32_t i = 0; i < shape->point_count; ++i)
        add_circle(builder, shape, &shape->profile[i]);
    uint32_t low = first;
    for (uint32_t i = 0; i < band_count(shape) && builder->status == KD_OK; ++i) {
        const uint32_t after = low + circle_count(shape, &shape->profile[i]);
        const uint32_t high = i + 1 < shape->point_count ? after : first;
        add_band(builder, shape, i, low, high);
        low = high;
    }
}

/* Returns the normal by central differences over a quarter of a cell, one-sided at the edges; +y if
   they vanish. */
static vec3 normal_at(const patch *patch, float u, float v) {
    const float du = 0.25f / (float)patch->columns, dv = 0.25f / (float)patch->rows;
    const float u0 = float_max(u - du, 0), u1 = float_min(u + du, 1);
    const float v0 = float_max(v - dv, 0), v1 = float_min(v + dv, 1);
    const vec3 along_u =
        vec3_sub(patch->at(patch->context, u1, v), patch->at(patch->context, u0, v));
    const vec3 along_v =
        vec3_sub(patch->at(patch->context, u, v1), patch->at(patch->context, u, v0));
    const vec3 normal = vec3_normalize(vec3_cross(along_u, along_v));
    return vec3_is_zero(normal) ? vec3_make(0, 1, 0) : normal;
}

void patch_add(mesh_builder *builder, const patch *shape) {
    const uint32_t columns = shape->columns, rows = shape->rows, side = columns + 1;
    const uint32_t position = builder->made.position_count, normal = builder->made.normal_count;
    const uint32_t texcoord = builder->made.texcoord_count;
    for (uint32_t row = 0; row <= rows; ++row)
        for (uint32_t column = 0; column <= columns; ++column) {
            const float u = (float)column / (float)columns, v = (float)row / (float)rows;
            mesh_builder_position(builder, shape->at(shape->context, u, v));
            mesh_builder_normal(builder, normal_at(shape, u, v));
            mesh_builder_texcoord(builder, vec2_make(u * shape->uv.x, v * shape->uv.y));
        }
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t column = 0; column < columns; ++column) {
            const uint32_t numbers[4] = {row * side + column, row * side + column + 1,
                                         (row + 1) * side + column + 1, (row + 1) * side + column};
            mesh_corner corners[4];
            for (int i = 0; i < 4; ++i) {
                corners[i].position = position + numbers[i];
                corners[i].normal = normal + numbers[i];
                corners[i].texcoord = texcoord + numbers[i];
            }
            mesh_builder_triangle(builder, corners[0], corners[1], corners[2]);
            mesh_builder_triangle(builder, corners[0], corners[2], corners[3]);
        }
}
