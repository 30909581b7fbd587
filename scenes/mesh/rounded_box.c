/* A box with rounded edges: the lattice of a cube whose middle lines are doubled. Its cells between
   the two copies are the flat faces and the cylinders, the others the eighths of a sphere. */
#include "scenes/mesh/shapes.h"

/* The lattice lines along one axis. */
typedef struct box_axis {
    double lo, hi, rounding;
    uint32_t half;  /* cells of each rounded half */
    uint32_t cells; /* 2 x half, and 1 if there is a flat part */
} box_axis;

/* Returns -1 to 1: the tangent of the angle from the middle, so that angles are divided equally. */
static double line_slope(const box_axis *axis, uint32_t line) {
    const bool upper = line > axis->half;
    const uint32_t gap = axis->cells - 2 * axis->half;
    const double steps = upper ? (double)(line - gap) : (double)line;
    if (line == 0 || line == axis->cells) return line ? 1 : -1;
    return tan(0.78539816339744831 * (steps / axis->half - 1));
}

/* Returns the texture coordinate of a line: the length along the surface, from 0 to 1. */
static float line_texcoord(const box_axis *axis, uint32_t line) {
    const bool upper = line > axis->half;
    const double flat_part = axis->hi - axis->lo - 2 * axis->rounding;
    const double arc = axis->rounding * 0.78539816339744831 / axis->half;
    const uint32_t gap = axis->cells - 2 * axis->half;
    const double at = upper ? flat_part + arc * (line - gap) : arc * line;
    return (float)(at / (flat_part + 2 * arc * axis->half));
}

static double line_place(const box_axis *axis, uint32_t line, double normal) {
    const bool upper = line > axis->half;
    return upper ? axis->hi - axis->rounding * (1 - normal)
                 : axis->lo + axis->rounding * (1 + normal);
}

/* Adds the vertex of three lines, at least one of which is the first or last of its axis. */
static void add_vertex(mesh_builder *builder, const box_axis axes[3], const uint32_t lines[3]) {
    double n[3], sum = 0;
    float at[3];
    for (int i = 0; i < 3; ++i) {
        n[i] = line_slope(&axes[i], lines[i]);
        sum += n[i] * n[i];
    }
    for (int i = 0; i < 3; ++i) {
        n[i] /= sqrt(sum);
        at[i] = (float)line_place(&axes[i], lines[i], n[i]);
    }
    mesh_builder_position(builder, vec3_make(at[0], at[1], at[2]));
    mesh_builder_normal(builder, vec3_make((float)n[0], (float)n[1], (float)n[2]));
}

/* Returns the number of the vertex of three lines in the order of add_vertices. */
static uint32_t vertex_number(const box_axis axes[3], const uint32_t lines[3]) {
    const uint64_t x = axes[0].cells, y = axes[1].cells, z = axes[2].cells;
    const uint64_t face = (x + 1) * (y + 1), ring = 2 * (x + y);
    const bool ends = lines[2] == 0 || lines[2] == z;
    const uint64_t layer = lines[2] ? face + (lines[2] - 1ull) * ring : 0;
    if (ends) return (uint32_t)(layer + lines[1] * (x + 1) + lines[0]);
    if (lines[1] == 0) return (uint32_t)(layer + lines[0]);
    const uint64_t row = layer + (x + 1) + 2 * (lines[1] - 1ull);
    return (uint32_t)(row + (lines[1] == y ? lines[0] : lines[0] > 0));
}

/* Adds the vertices of the surface, each of them once. */
static void add_vertices(mesh_builder *builder, const box_axis axes[3]) {
    uint32_t lines[3];
    for (lines[2] = 0; lines[2] <= axes[2].cells; ++lines[2])
        for (lines[1] = 0; lines[1] <= axes[1].cells; ++lines[1]) {
            const bool inner = lines[1] > 0 && lines[1] < axes[1].cells && lines[2] > 0 &&
                               lines[2] < axes[2].cells;
            const uint32_t step = inner ? axes[0].cells : 1;
            for (lines[0] = 0; lines[0] <= axes[0].cells; lines[0] += step)
                add_vertex(builder, axes, lines);
        }
}

/* Adds the side at the upper or lower end of the third axis; u x v points outwards. */
static void add_side(mesh_builder *builder, const box_axis axes[3], mesh_corner first,
                     const int uvw[3], bool upper) {
    const box_axis *u = &axes[uvw[0]], *v = &axes[uvw[1]];
    const uint32_t texcoord = builder->made.texcoord_count;
    uint32_t lines[3];
    lines[uvw[2]] = upper ? axes[uvw[2]].cells : 0;
    for (uint32_t row = 0; row <= v->cells; ++row)
        for (uint32_t column = 0; column <= u->cells; ++column)
            mesh_builder_texcoord(builder,
                                  vec2_make(line_texcoord(u, column), line_texcoord(v, row)));
    for (uint32_t row = 0; row < v->cells; ++row)
        for (uint32_t column = 0; column < u->cells; ++column) {
            mesh_corner corners[4];
            for (uint32_t i = 0; i < 4; ++i) {
                const uint32_t x = column + (i == 1 || i == 2), y = row + i / 2;
                lines[uvw[0]] = x;
                lines[uvw[1]] = y;
                const uint32_t number = vertex_number(axes, lines);
                corners[i].position = first.position + number;
                corners[i].normal = first.normal + number;
                corners[i].texcoord = texcoord + y * (u->cells + 1) + x;
            }
            mesh_builder_triangle(builder, corners[0], corners[1], corners[2]);
            mesh_builder_triangle(builder, corners[0], corners[2], corners[3]);
        }
}

void shape_rounded_box(mesh_builder *builder, vec3 lo, vec3 hi, double rounding,
                       uint64_t triangles) {
    static const int sides[6][3] = {{2, 1, 0}, {1, 2, 0}, {0, 2, 1},
                                    {2, 0, 1}, {1, 0, 2}, {0, 1, 2}};
    const double half = fmax(nearbyint((sqrt((double)triangles / 12) - 1) / 2), 1);
    const mesh_corner first = {builder->made.position_count, builder->made.normal_count, KD_NONE};
    box_axis axes[3];
    for (int i = 0; i < 3; ++i) {
        const double a = (double)vec3_axis(lo, i), b = (double)vec3_axis(hi, i);
        /* a flat part within rounding errors counts as empty */
        const bool flat_part = b - a > 2 * rounding * (1 + 1e-6);
        const box_axis axis = {a, b, flat_part ? rounding : (b - a) / 2, (uint32_t)half,
                               2 * (uint32_t)half + flat_part};
        axes[i] = axis;
    }
    add_vertices(builder, axes);
    for (int i = 0; i < 6 && builder->status == KD_OK; ++i)
        add_side(builder, axes, first, sides[i], i % 2);
}
