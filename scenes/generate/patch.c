#include "scenes/generate/patch.h"

/* By differences over a quarter of a cell, one-sided at the edges; flat spots take what is there.
 */
static vec3 normal_at(const patch *of, float u, float v) {
    const float du = 0.25f / (float)of->columns, dv = 0.25f / (float)of->rows;
    const float u0 = float_max(u - du, 0), u1 = float_min(u + du, 1);
    const float v0 = float_max(v - dv, 0), v1 = float_min(v + dv, 1);
    const vec3 along_u = vec3_sub(of->at(of->context, u1, v), of->at(of->context, u0, v));
    const vec3 along_v = vec3_sub(of->at(of->context, u, v1), of->at(of->context, u, v0));
    const vec3 normal = vec3_normalize(vec3_cross(along_u, along_v));
    return vec3_is_zero(normal) ? vec3_make(0, 1, 0) : normal;
}

void patch_add(mesh_builder *to, const patch *shape) {
    const uint32_t columns = shape->columns, rows = shape->rows, side = columns + 1;
    const uint32_t position = to->made.position_count, normal = to->made.normal_count;
    const uint32_t texcoord = to->made.texcoord_count;
    for (uint32_t row = 0; row <= rows; ++row)
        for (uint32_t column = 0; column <= columns; ++column) {
            const float u = (float)column / (float)columns, v = (float)row / (float)rows;
            mesh_builder_position(to, shape->at(shape->context, u, v));
            mesh_builder_normal(to, normal_at(shape, u, v));
            mesh_builder_texcoord(to, vec2_make(u * shape->uv.x, v * shape->uv.y));
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
            mesh_builder_triangle(to, corners[0], corners[1], corners[2]);
            mesh_builder_triangle(to, corners[0], corners[2], corners[3]);
        }
}
