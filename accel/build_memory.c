#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/tree/build.h"
#include "accel/tree/tritree.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/status.h"

enum { TRIM_BYTES = 1 << 30, TRIM_PART = 8 /* of the free memory */ };

static uint64_t rounded(uint64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* Computes the sizes of the parts of a planned build's memory; returns their sum. */
enum { BUILD_PARTS = 6 };
static uint64_t measure(const tritree_build_memory *memory, uint64_t bytes[BUILD_PARTS]) {
    const tritree_build_cuda *build = &memory->build;
    const tritree_input *input = &build->input;
    uint64_t all = 0;
    bytes[0] = memory->pooled ? 0 : rounded(input->position_count * sizeof(vec3));
    bytes[1] = memory->pooled ? 0 : rounded(3 * (uint64_t)input->triangle_count * sizeof(uint32_t));
    bytes[2] = rounded(build->node_capacity * sizeof(tritree_node));
    bytes[3] = rounded(build->reference_capacity * sizeof(uint32_t));
    bytes[4] = rounded(sizeof(tritree_built));
    bytes[5] = build->scratch_bytes;
    for (int i = 0; i < BUILD_PARTS; ++i) all += bytes[i];
    return all;
}

/* Returns the bytes that a build takes, of which *scratch are freed at its end. */
static uint64_t plan_bytes(const tritree_builder_cuda *builder, uint64_t positions,
                           uint64_t triangles, uint64_t *scratch) {
    tritree_build_memory planned;
    uint64_t bytes[BUILD_PARTS];
    memset(&planned, 0, sizeof planned);
    planned.build.input.position_count = (uint32_t)positions;
    planned.build.input.triangle_count = (uint32_t)triangles;
    builder->plan(&planned.build);
    *scratch = planned.build.scratch_bytes;
    return measure(&planned, bytes);
}

uint64_t tritree_build_memory_bytes(const tritree_builder_cuda *builder, uint32_t positions,
                                    uint32_t triangles) {
    uint64_t scratch;
    return plan_bytes(builder, positions, triangles, &scratch);
}

static kd_status upload_input(tritree_build_cuda *build, vec3 *positions, uint32_t *triangles) {
    const tritree_input *input = &build->input;
    KD_TRY(device_memory_upload(positions, input->positions,
                                input->position_count * sizeof *positions));
    KD_TRY(device_memory_upload(triangles, input->triangles,
                                3 * (uint64_t)input->triangle_count * sizeof *triangles));
    build->input.positions = positions;
    build->input.triangles = triangles;
    return KD_OK;
}

static kd_status reserve(const tritree_build_memory *memory, void **out, uint64_t bytes) {
    return memory->pooled ? device_pool_reserve(out, bytes, memory->build.stream)
                          : device_memory_reserve(out, bytes);
}

/* Returns true if the pool should give so many bytes back to the system, for the compressed form
   and for other programs. Otherwise the next build saves the time of mapping them again. */
static bool is_much(uint64_t bytes) {
    uint64_t available = 0;
    if (bytes <= TRIM_BYTES) return false;
    if (device_memory_free_bytes(&available) == KD_OK) return bytes > available / TRIM_PART;
    status_clear();
    return true;
}

static void release(const tritree_build_memory *memory, void **held, uint64_t bytes) {
    if (memory->pooled)
        device_pool_release(*held, memory->build.stream);
    else
        device_memory_free(*held);
    *held = NULL;
    if (memory->pooled && is_much(bytes) && device_pool_trim() != KD_OK)
        status_clear(); /* harmless: the pool keeps the memory */
}

/* Plans the build, allocates its memory and checks the input. The caller has set the input,
   options, stream and `pooled` of *out. */
static kd_status open_planned(tritree_build_memory *out, const tritree_builder_cuda *builder) {
    tritree_build_cuda *build = &out->build;
    uint64_t bytes[BUILD_PARTS];
    builder->plan(build);
    out->bytes = measure(out, bytes);
    KD_TRY(reserve(out, &out->memory, out->bytes - build->scratch_bytes));
    kd_status status = reserve(out, &out->scratch, build->scratch_bytes);
    KD_TRY_GOTO(status);
    char *at = (char *)out->memory;
    vec3 *positions = (vec3 *)(void *)at;
    uint32_t *triangles = (uint32_t *)(void *)(at += bytes[0]);
    build->nodes = (tritree_node *)(void *)(at += bytes[1]);
    build->references = (uint32_t *)(void *)(at += bytes[2]);
    build->built = (tritree_built *)(void *)(at += bytes[3]);
    build->scratch = out->scratch;
    if (!out->pooled) KD_TRY_GOTO(upload_input(build, positions, triangles));
    KD_TRY_GOTO(triangles_device_check(&build->input, build->stream));
done:
    if (status != KD_OK) tritree_build_memory_close(out);
    return status;
}

kd_status tritree_build_memory_open(tritree_build_memory *out, const tritree_input *input,
                                    const tritree_options *options,
                                    const tritree_builder_cuda *builder) {
    memset(out, 0, sizeof *out);
    out->build.input = *input;
    out->build.options = *options;
    return open_planned(out, builder);
}

static kd_status build_and_wait(tritree_build_memory *memory, tritree_built *built,
                                const tritree_builder_cuda *builder) {
    const tritree_build_cuda *build = &memory->build;
    KD_TRY(builder->build(build));
    KD_TRY(device_copy(built, build->built, sizeof *built, build->stream));
    return device_stream_wait(build->stream);
}

static kd_status build_planned(tritree_build_memory *out, tritree_built *built,
                               const tritree_builder_cuda *builder) {
    const tritree_build_memory memory = *out;
    memset(built, 0, sizeof *built);
    for (uint32_t doubled = 0;; ++doubled) {
        *out = memory;
        out->build.doubled = doubled;
        KD_TRY(open_planned(out, builder));
        kd_status status = build_and_wait(out, built, builder);
        if (status == KD_OK && built->exhausted && doubled < TRITREE_DOUBLED_MAX) {
            tritree_build_memory_close(out);
            continue;
        }
        if (status == KD_OK) status = tritree_build_check(&out->build, built);
        release(out, &out->scratch, out->build.scratch_bytes);
        if (status != KD_OK) tritree_build_memory_close(out);
        return status;
    }
}

kd_status tritree_build_memory_build(tritree_build_memory *out, tritree_built *built,
                                     const tritree_input *input, const tritree_options *options,
                                     const tritree_builder_cuda *builder) {
    memset(out, 0, sizeof *out);
    out->build.input = *input;
    out->build.options = *options;
    return build_planned(out, built, builder);
}

kd_status tritree_build_memory_build_there(tritree_build_memory *out, tritree_built *built,
                                           const tritree_input *input,
                                           const tritree_options *options,
                                           const tritree_builder_cuda *builder, void *stream) {
    memset(out, 0, sizeof *out);
    out->build.input = *input;
    out->build.options = *options;
    out->build.stream = stream;
    out->pooled = true;
    return build_planned(out, built, builder);
}

void tritree_build_memory_close(tritree_build_memory *owned) {
    release(owned, &owned->scratch, 0);
    release(owned, &owned->memory, owned->bytes);
    memset(owned, 0, sizeof *owned);
}

kd_status tritree_build_check(const tritree_build_cuda *build, const tritree_built *built) {
    KD_REQUIRE(built->node_count <= TRITREE_NODES_MAX, KD_ERROR_MEMORY,
               "the tree of %u triangles has %u nodes; a tree can have %d",
               build->input.triangle_count, built->node_count, TRITREE_NODES_MAX);
    const uint64_t planned = build->scratch_bytes + build->node_capacity * sizeof(tritree_node) +
                             build->reference_capacity * sizeof(uint32_t);
    KD_REQUIRE(!built->exhausted || !built->needed_bytes, KD_ERROR_MEMORY,
               "building the tree of %u triangles needs %llu bytes, more than the planned %llu",
               build->input.triangle_count, (unsigned long long)built->needed_bytes,
               (unsigned long long)planned);
    KD_REQUIRE(!built->exhausted, KD_ERROR_MEMORY,
               "building the tree of %u triangles needs more than the planned %llu bytes (arrays "
               "%#x are full)",
               build->input.triangle_count, (unsigned long long)planned, built->exhausted);
    return KD_OK;
}

kd_status tritree_build_result(const tritree_build_memory *memory, tritree_built *out) {
    KD_TRY(device_wait());
    KD_TRY(device_memory_download(out, memory->build.built, sizeof *out));
    return tritree_build_check(&memory->build, out);
}

kd_status tritree_build_download(const tritree_build_memory *memory, tritree *out,
                                 const tritree_input *input) {
    memset(out, 0, sizeof *out);
    tritree_built built;
    memset(&built, 0, sizeof built);
    KD_TRY(tritree_build_result(memory, &built));
    out->input = *input;
    out->options = memory->build.options;
    out->box = built.box;
    out->node_count = built.node_count;
    out->reference_count = built.reference_count;
    out->statistics.degenerate_triangles = built.degenerate_count;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(out->nodes, out->node_count));
    KD_TRY_GOTO(KD_RESERVE(out->references, out->reference_count));
    KD_TRY_GOTO(device_memory_download(out->nodes, memory->build.nodes,
                                       out->node_count * sizeof *out->nodes));
    KD_TRY_GOTO(device_memory_download(out->references, memory->build.references,
                                       out->reference_count * sizeof *out->references));
    KD_TRY_GOTO(tree_rows_fill(out));
    tritree_take_stock(out);
done:
    if (status != KD_OK) tritree_close(out);
    return status;
}

/* Bytes per triangle of the tree on the device besides the builder's memory, with the corners of
   its triangles and, from MANY_TRIANGLES on, without. The compressed form does not count, because
   it is built after the builder's memory is released. */
enum { TREE_BYTES_EACH = 160, TREE_BYTES_LEAN = 60 };
/* From this number of triangles on, a builder is passed over that needs more than an eighth of the
   free memory: other programs need some, too, and the difference in the speed of rays is small. */
enum { MANY_TRIANGLES = 8000000 };
/* below this the free memory is not queried */
static const uint64_t sure_bytes = (uint64_t)4 << 30;

static uint64_t bytes_to_build(const tritree_builder_cuda *row, uint64_t positions,
                               uint64_t triangles) {
    uint64_t scratch;
    const uint64_t building = plan_bytes(row, positions, triangles, &scratch),
                   each = triangles < MANY_TRIANGLES ? TREE_BYTES_EACH : TREE_BYTES_LEAN,
                   after = building - scratch + triangles * each;
    return building > after ? building : after;
}

/* Returns true if builder and tree fit into the free memory, as far as is known. */
static bool is_worth_trying(const tritree_builder_cuda *row, uint64_t positions,
                            uint64_t triangles) {
    if (triangles > TRITREE_CUDA_TRIANGLES_MAX) return false;
    const uint64_t needed = bytes_to_build(row, positions, triangles);
    uint64_t available = 0;
    if (needed < sure_bytes) return true;
    if (device_memory_free_bytes(&available) != KD_OK ||
        (available < needed &&
         (device_pool_trim() != KD_OK || device_memory_free_bytes(&available) != KD_OK))) {
        status_clear(); /* unknown: let the build itself find out */
        return true;
    }
    bool last = true;
    for (const tritree_builder_cuda *const *next = tritree_builders_cuda; *next; ++next)
        last = *next == row;
    return needed <= (triangles < MANY_TRIANGLES || last ? available : available / 8);
}

kd_status tritree_build_by_turns(const char *builder, uint64_t positions, uint64_t triangles,
                                 tritree_attempt attempt, void *context) {
    const tritree_builder_cuda *named = tritree_builder_cuda_find(builder);
    if (!name_is_auto(builder)) return attempt(context, named);
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row) {
        if (!is_worth_trying(*row, positions, triangles)) {
            log_message(
                LOG_INFO,
                "builder %s skipped: %llu triangles need %llu bytes, or exceed the limit of "
                "%d triangles on a device",
                (*row)->name, (unsigned long long)triangles,
                (unsigned long long)bytes_to_build(*row, positions, triangles),
                TRITREE_CUDA_TRIANGLES_MAX);
            continue;
        }
        const kd_status status = attempt(context, *row);
        if (status != KD_ERROR_MEMORY) return status;
        log_message(LOG_WARNING, "builder %s failed: %s; using %s instead", (*row)->name,
                    kd_last_error(), row[1] ? row[1]->name : "a builder on the CPU");
        status_clear();
    }
    return attempt(context, NULL);
}
