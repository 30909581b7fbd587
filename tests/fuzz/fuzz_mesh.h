/* Properties that every reader of mesh files must have for arbitrary bytes: it returns, every index
   is in range, every number is finite, and the result depends neither on the size of its chunks nor
   on which parts of the mesh are requested. */
#ifndef KD_TESTS_FUZZ_FUZZ_MESH_H
#define KD_TESTS_FUZZ_FUZZ_MESH_H
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/formats/mesh_formats.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

static inline void indices_require(const uint32_t *indices, const mesh *mesh, uint32_t limit,
                                   bool optional) {
    for (uint64_t i = 0; indices && i < 3 * (uint64_t)mesh->triangle_count; ++i)
        FUZZ_REQUIRE(indices[i] < limit || (optional && indices[i] == KD_NONE));
}

static inline void mesh_require(const mesh *mesh) {
    indices_require(mesh->triangles, mesh, mesh->position_count, false);
    indices_require(mesh->normal_indices, mesh, mesh->normal_count, true);
    indices_require(mesh->texcoord_indices, mesh, mesh->texcoord_count, true);
    for (uint32_t i = 0; i < mesh->triangle_count; ++i)
        FUZZ_REQUIRE(mesh->triangle_materials[i] < mesh->material_count);
    for (uint32_t i = 0; i < mesh->position_count; ++i)
        FUZZ_REQUIRE(vec3_is_finite(mesh->positions[i]));
}

static inline void count_problem(void *context, const obj_problem *problem) {
    FUZZ_REQUIRE(problem->message && problem->kind);
    ++*(int *)context;
}

static inline void same_require(const mesh *a, const mesh *b) {
    FUZZ_REQUIRE(a->triangle_count == b->triangle_count && a->face_count == b->face_count);
    FUZZ_REQUIRE(a->position_count == b->position_count && a->material_count == b->material_count);
    FUZZ_REQUIRE(a->triangle_count == 0 ||
                 memcmp(a->triangles, b->triangles, 12 * (size_t)a->triangle_count) == 0);
    FUZZ_REQUIRE(a->position_count == 0 ||
                 memcmp(a->positions, b->positions, 12 * (size_t)a->position_count) == 0);
    FUZZ_REQUIRE(a->triangle_count == 0 || memcmp(a->triangle_materials, b->triangle_materials,
                                                  4 * (size_t)a->triangle_count) == 0);
}

/* Runs one reader strictly, leniently, and leniently in small chunks. Either all triangles have
   line numbers or none. */
static inline void fuzz_reader(kd_status (*load)(mesh *, const char *, const obj_options *,
                                                 job_control *),
                               const uint8_t *bytes, size_t count) {
    parallel_set_threads(1);
    const char *path = fuzz_file(bytes, count);
    int whole_problems = 0, part_problems = 0;
    uint32_t *lines = NULL;
    mesh strict, whole, parts;
    const kd_status status = load(&strict, path, NULL, NULL);
    if (status == KD_OK) mesh_require(&strict);
    const obj_options options = {.problem = count_problem,
                                 .context = &whole_problems,
                                 .keep_going = true,
                                 .triangle_lines = &lines};
    const kd_status lenient = load(&whole, path, &options, NULL);
    if (lenient == KD_OK) {
        mesh_require(&whole);
        for (uint32_t i = 0; i < whole.triangle_count && lines; ++i) FUZZ_REQUIRE(lines[i] > 0);
        memory_free(lines);
        const obj_options small = {.problem = count_problem,
                                   .context = &part_problems,
                                   .keep_going = true,
                                   .chunk_bytes = 16};
        FUZZ_REQUIRE(load(&parts, path, &small, NULL) == KD_OK);
        same_require(&whole, &parts);
        if (status == KD_OK) same_require(&whole, &strict);
        mesh_close(&parts);
    } else {
        FUZZ_REQUIRE(status != KD_OK);
    }
    mesh_close(&whole);
    mesh_close(&strict);
}

#endif
