/* The tables of builders, and the owner of a triangle tree: checks the input, runs the chosen
   builder, fills the statistics. */
#include "accel/builders.h"
#include "accel/tree/build.h"
#include "accel/tree/tritree.h"
#include "accel/wide/wide_tree.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/parallel/parallel.h"

#define DECLARE(name) extern const tritree_builder tritree_builder_##name;
TRITREE_BUILDER_ROWS(DECLARE)
#undef DECLARE
#define DECLARE(name) extern const tritree_builder_cuda tritree_builder_cuda_##name;
TRITREE_BUILDER_CUDA_ROWS(DECLARE)
#undef DECLARE

#define ROW(name) &tritree_builder_##name,
extern const tritree_builder *const tritree_builders_rows[];
const tritree_builder *const tritree_builders_rows[] = {TRITREE_BUILDER_ROWS(ROW) NULL};
#undef ROW
#define ROW(name) &tritree_builder_cuda_##name,
extern const tritree_builder_cuda *const tritree_builders_cuda_rows[];
const tritree_builder_cuda *const tritree_builders_cuda_rows[] = {TRITREE_BUILDER_CUDA_ROWS(ROW)
                                                                      NULL};
#undef ROW

/* Chooses for "auto". Exact trees give the fastest rays, so it chooses a builder of these, on
   several cores a multithreaded one. */
static const tritree_builder *choose(void) {
    const tritree_builder *const *row = tritree_builders;
    while (parallel_threads() > 1 && *row && !((*row)->exact && (*row)->all_cores)) ++row;
    return *row ? *row : tritree_builders[0];
}

const tritree_builder *tritree_builder_find(const char *name) {
    if (name_is_auto(name)) return choose();
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        if (strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}

const tritree_builder_cuda *tritree_builder_cuda_find(const char *name) {
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
        if (name_is_auto(name) || strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}

kd_status tritree_builder_choose(const tritree_builder **out, const char *name) {
    *out = tritree_builder_find(name);
    if (!*out && tritree_builder_cuda_find(name))
        KD_FAIL(KD_ERROR_DEVICE,
                "triangle tree builder \"%s\" needs a CUDA device; set `device` to cuda, or choose "
                "another builder",
                name);
    KD_REQUIRE(*out, KD_ERROR_USAGE, "there is no triangle tree builder \"%s\"", name);
    return KD_OK;
}

kd_status tritree_open(tritree *out, const tritree_input *input, const tritree_options *options,
                       const char *builder, job_control *job) {
    memset(out, 0, sizeof *out);
    const tritree_builder *row = NULL;
    KD_TRY(tritree_builder_choose(&row, builder));
    KD_TRY(tritree_check_options(options));
    out->input = *input;
    out->options = *options;
    kd_status status = KD_OK;
    const double started = timing_now();
    KD_TRY_GOTO(tritree_check_triangles(out));
    KD_TRY_GOTO(row->build(out, input, options, job));
    KD_TRY_GOTO(tree_rows_fill(out));
    out->statistics.build_seconds = timing_now() - started;
    tritree_take_stock(out);
    KD_TRY_GOTO(tritree_widen(out));
done:
    if (status != KD_OK) tritree_close(out);
    return status;
}

kd_status tritree_adopt(tritree *read) {
    KD_TRY(tritree_check_options(&read->options));
    read->statistics.degenerate_triangles = 0; /* recounted by tritree_check_triangles */
    KD_TRY(tritree_check_triangles(read));
    KD_TRY(tritree_check(read));
    if (read->input.triangle_count)
        read->statistics.references_per_triangle =
            (double)read->reference_count / (double)read->input.triangle_count;
    KD_TRY(tree_rows_fill(read));
    return tritree_widen(read);
}

uint64_t tritree_widen_bytes_max(const tritree_builder *builder, uint64_t triangles) {
    const uint64_t references = triangles * builder->references;
    return wide_tree_bytes_max(references, references, wide_children_best());
}

kd_status tritree_widen(tritree *tree) {
    if (tree->wide) return KD_OK;
    const tritree_view view = tritree_get_view(tree);
    const double started = timing_now();
    KD_TRY(wide_tree_open(&tree->wide, &view));
    tree->statistics.widen_seconds = timing_now() - started;
    return KD_OK;
}

void tritree_close(tritree *owned) {
    memory_free(owned->nodes);
    memory_free(owned->references);
    memory_free(owned->rows);
    wide_tree_close(owned->wide);
    memset(owned, 0, sizeof *owned);
}
