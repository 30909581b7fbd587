#include "points/select/builders.h"
#include "core/names.h"
#include <stdio.h>

#define DECLARE(name) extern const pointtree_builder pointtree_builder_##name;
POINTTREE_BUILDER_ROWS(DECLARE)
#undef DECLARE
#define DECLARE(name) extern const point_builder_cuda point_builder_cuda_##name;
POINT_BUILDER_CUDA_ROWS(DECLARE)
#undef DECLARE

#define ROW(name) &pointtree_builder_##name,
extern const pointtree_builder *const pointtree_builders_rows[];
const pointtree_builder *const pointtree_builders_rows[] = {POINTTREE_BUILDER_ROWS(ROW) NULL};
#undef ROW
#define ROW(name) &point_builder_cuda_##name,
extern const point_builder_cuda *const point_builders_cuda_rows[];
const point_builder_cuda *const point_builders_cuda_rows[] = {POINT_BUILDER_CUDA_ROWS(ROW) NULL};
#undef ROW

const pointtree_builder *pointtree_builder_find(const char *name) {
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row)
        if (name_is_auto(name) || strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}

const point_builder_cuda *point_builder_cuda_find(const char *name) {
    for (const point_builder_cuda *const *row = point_builders_cuda; *row; ++row)
        if (name_is_auto(name) || strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}

kd_status pointtree_open_nd(pointtree *out, const point_array *points,
                            const pointtree_options *options, const char *builder,
                            job_control *job) {
    memset(out, 0, sizeof *out);
    const pointtree_builder *chosen = pointtree_builder_find(builder);
    if (chosen) return pointtree_open_by(out, points, options, chosen, job);
    char names[256] = "";
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*row)->name);
    }
    KD_FAIL(KD_ERROR_USAGE, "unknown point tree builder \"%s\"; expected one of: %s", builder,
            names);
}

kd_status pointtree_open(pointtree *out, const vec3 *points, uint64_t count,
                         const pointtree_options *options, const char *builder, job_control *job) {
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    return pointtree_open_nd(out, &array, options, builder, job);
}
