#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/tree/corner_rows.h"
#include "accel/tree/input.h"
#include "core/device/device_memory.h"
#include "core/memory.h"

static uint64_t rounded(uint64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* Of the parts of a planned build's memory; their sum. */
enum { BUILD_PARTS = 6 };
static uint64_t measure(const tritree_build_cuda *build, uint64_t bytes[BUILD_PARTS]) {
    const tritree_input *input = &build->input;
    uint64_t all = 0;
    bytes[0] = rounded(input->position_count * sizeof(vec3));
    bytes[1] = rounded(3 * (uint64_t)input->triangle_count * sizeof(uint32_t));
    bytes[2] = rounded(build->node_room * sizeof(tritree_node));
    bytes[3] = rounded(build->reference_room * sizeof(uint32_t));
    bytes[4] = rounded(sizeof(tritree_built));
    bytes[5] = build->scratch_bytes;
    for (int i = 0; i < BUILD_PARTS; ++i) all += bytes[i];
    return all;
}

uint64_t tritree_build_memory_bytes(const tritree_builder_cuda *builder, uint32_t positions,
                                    uint32_t triangles) {
    tritree_build_cuda build;
    uint64_t bytes[BUILD_PARTS];
    memset(&build, 0, sizeof build);
    build.input.position_count = positions;
    build.input.triangle_count = triangles;
    builder->plan(&build);
    return measure(&build, bytes);
}

static kd_status open_doubled(tritree_build_memory *out, const tritree_input *input,
                              const tritree_options *options, const tritree_builder_cuda *builder,
                              uint32_t doubled) {
    memset(out, 0, sizeof *out);
    tritree_build_cuda *build = &out->build;
    build->input = *input;
    build->options = *options;
    build->doubled = doubled;
    builder->plan(build);
    uint64_t bytes[BUILD_PARTS];
    out->bytes = measure(build, bytes);
    KD_TRY(device_memory_reserve(&out->memory, out->bytes));
    char *at = (char *)out->memory;
    vec3 *positions = (vec3 *)(void *)at;
    uint32_t *triangles = (uint32_t *)(void *)(at += bytes[0]);
    build->nodes = (tritree_node *)(void *)(at += bytes[1]);
    build->references = (uint32_t *)(void *)(at += bytes[2]);
    build->built = (tritree_built *)(void *)(at += bytes[3]);
    build->scratch = at + bytes[4];
    build->input.positions = positions;
    build->input.triangles = triangles;
    kd_status status = KD_OK;
    KD_TRY_GOTO(device_memory_upload(positions, input->positions,
                                     input->position_count * sizeof *positions));
    KD_TRY_GOTO(device_memory_upload(triangles, input->triangles,
                                     3 * (uint64_t)input->triangle_count * sizeof *triangles));
    KD_TRY_GOTO(triangles_device_check(&build->input, build->stream));
done:
    if (status != KD_OK) tritree_build_memory_close(out);
    return status;
}

kd_status tritree_build_memory_open(tritree_build_memory *out, const tritree_input *input,
                                    const tritree_options *options,
                                    const tritree_builder_cuda *builder) {
    return open_doubled(out, input, options, builder, 0);
}

static kd_status build_and_wait(tritree_build_memory *memory, tritree_built *built,
                                const tritree_builder_cuda *builder) {
    KD_TRY(builder->build(&memory->build));
    KD_TRY(device_wait());
    return device_memory_download(built, memory->build.built, sizeof *built);
}

kd_status tritree_build_memory_build(tritree_build_memory *out, tritree_built *built,
                                     const tritree_input *input, const tritree_options *options,
                                     const tritree_builder_cuda *builder) {
    memset(built, 0, sizeof *built);
    for (uint32_t doubled = 0;; ++doubled) {
        KD_TRY(open_doubled(out, input, options, builder, doubled));
        kd_status status = build_and_wait(out, built, builder);
        if (status == KD_OK && built->exhausted && doubled < TRITREE_DOUBLED_MOST) {
            tritree_build_memory_close(out);
            continue;
        }
        if (status == KD_OK) status = tritree_build_check(&out->build, built);
        if (status != KD_OK) tritree_build_memory_close(out);
        return status;
    }
}

void tritree_build_memory_close(tritree_build_memory *owned) {
    device_memory_free(owned->memory);
    memset(owned, 0, sizeof *owned);
}

kd_status tritree_build_check(const tritree_build_cuda *build, const tritree_built *built) {
    const uint64_t planned = build->scratch_bytes + build->node_room * sizeof(tritree_node) +
                             build->reference_room * sizeof(uint32_t);
    KD_REQUIRE(!built->exhausted || !built->needed_bytes, KD_ERROR_MEMORY,
               "the tree of %u triangles needs %llu bytes, %llu were planned",
               build->input.triangle_count, (unsigned long long)built->needed_bytes,
               (unsigned long long)planned);
    KD_REQUIRE(!built->exhausted, KD_ERROR_MEMORY,
               "the tree of %u triangles needs more than the %llu bytes that were planned (rooms "
               "%u)",
               build->input.triangle_count, (unsigned long long)planned, built->exhausted);
    return KD_OK;
}

kd_status tritree_build_result(const tritree_build_memory *from, tritree_built *out) {
    KD_TRY(device_wait());
    KD_TRY(device_memory_download(out, from->build.built, sizeof *out));
    return tritree_build_check(&from->build, out);
}

kd_status tritree_build_download(const tritree_build_memory *from, tritree *out,
                                 const tritree_input *input) {
    memset(out, 0, sizeof *out);
    tritree_built built;
    memset(&built, 0, sizeof built);
    KD_TRY(tritree_build_result(from, &built));
    out->input = *input;
    out->options = from->build.options;
    out->box = built.box;
    out->node_count = built.node_count;
    out->reference_count = built.reference_count;
    out->statistics.degenerate_triangles = built.degenerate_count;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(out->nodes, out->node_count));
    KD_TRY_GOTO(KD_RESERVE(out->references, out->reference_count));
    KD_TRY_GOTO(device_memory_download(out->nodes, from->build.nodes,
                                       out->node_count * sizeof *out->nodes));
    KD_TRY_GOTO(device_memory_download(out->references, from->build.references,
                                       out->reference_count * sizeof *out->references));
    KD_TRY_GOTO(tree_rows_fill(out));
    tritree_take_stock(out);
done:
    if (status != KD_OK) tritree_close(out);
    return status;
}
