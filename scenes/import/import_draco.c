#include "scenes/import/import_draco.h"
#include "core/memory.h"
#include "core/system/process.h"
#include <stdlib.h>

typedef struct draco_reader {
    draco_mesh *to;
    const char *path;
    uint64_t left; /* bytes that may still be reserved */
    import_source source;
    void *from;
} draco_reader;

static kd_status array_take(draco_reader *of, void **array, uint64_t count, size_t item_bytes) {
    KD_REQUIRE(count <= of->left / item_bytes, KD_ERROR_INPUT,
               "%s: found %llu numbers packed by Draco, expected fewer", of->path,
               (unsigned long long)count);
    of->left -= count * item_bytes;
    KD_TRY(memory_reserve(array, count, item_bytes));
    KD_TRY(of->source(of->from, *array, count * item_bytes));
    return KD_OK;
}

static kd_status attribute_take(draco_reader *of, draco_attribute *to) {
    uint32_t head[2] = {0, 0};
    KD_TRY(of->source(of->from, head, sizeof head));
    KD_REQUIRE(head[1] >= 1 && head[1] <= 16, KD_ERROR_INPUT,
               "%s: found %u components packed by Draco, expected 1 to 16", of->path, head[1]);
    to->id = head[0];
    to->components = head[1];
    return array_take(of, (void **)&to->values, (uint64_t)of->to->point_count * to->components,
                      sizeof(float));
}

static kd_status all_take(draco_reader *of) {
    draco_answer_head head;
    draco_mesh *to = of->to;
    KD_TRY(of->source(of->from, &head, sizeof head));
    KD_REQUIRE(head.magic == DRACO_ANSWER_MAGIC, KD_ERROR_INPUT, "%s: the answer is not sound",
               of->path);
    KD_REQUIRE(head.status != DRACO_ABSENT, KD_ERROR_INPUT,
               "%s: found a mesh packed by Draco, expected a build with that library", of->path);
    KD_REQUIRE(head.status == DRACO_FINE && head.attributes <= 64, KD_ERROR_INPUT,
               "%s: found bytes that Draco cannot unpack, expected a mesh", of->path);
    to->point_count = head.points;
    to->triangle_count = head.triangles;
    KD_TRY(array_take(of, (void **)&to->indices, 3 * (uint64_t)head.triangles, sizeof(uint32_t)));
    for (uint64_t i = 0; i < 3 * (uint64_t)head.triangles; ++i)
        KD_REQUIRE(to->indices[i] < to->point_count, KD_ERROR_INPUT,
                   "%s: found the index %u packed by Draco, expected below %u", of->path,
                   to->indices[i], to->point_count);
    KD_TRY(KD_RESERVE_ZEROED(to->attributes, head.attributes));
    to->attribute_count = head.attributes;
    for (uint32_t i = 0; i < head.attributes; ++i) KD_TRY(attribute_take(of, &to->attributes[i]));
    return KD_OK;
}

static kd_status mesh_take(void *to, const char *path, uint64_t most_bytes, import_source source,
                           void *from) {
    draco_reader of = {(draco_mesh *)to, path, most_bytes, source, from};
    return all_take(&of);
}

kd_status draco_mesh_open(draco_mesh *out, const char *path, const void *bytes, uint64_t count,
                          job *watched) {
    char file[64];
    memset(out, 0, sizeof *out);
    const int held = process_file_hold(file, sizeof file, bytes, count);
    KD_REQUIRE(held >= 0, KD_ERROR_RUNTIME, "%s: no room to unpack it", path);
    const import_asked asked = {path, file, "Draco", "draco", count, watched};
    const kd_status status = import_program_run(&asked, mesh_take, out);
    process_file_release(held);
    if (status != KD_OK) draco_mesh_close(out);
    KD_TRY(status);
    return KD_OK;
}

void draco_mesh_close(draco_mesh *owned) {
    for (uint32_t i = 0; i < owned->attribute_count && owned->attributes; ++i)
        memory_free(owned->attributes[i].values);
    memory_free(owned->attributes);
    memory_free(owned->indices);
    memset(owned, 0, sizeof *owned);
}
