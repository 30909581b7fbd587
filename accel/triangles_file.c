/* A triangle tree as a file, little-endian: a header of 112 bytes and five parts.
       0  "KDTRIANG"
       8  version 1, u32
      12  number of vertices, 16 of triangles, 20 of nodes, 24 of references, u32
      28  max_depth of the options, i32; 32 C_t, 36 C_i, 40 empty factor, f32
      44  depth of the tree, u32
      48  leaves, 56 empty leaves, u64
      64  SAH cost, 72 build seconds, f64
      80  builder, 32 chars
     112  vertices, 3 f32 each; triangles, 3 u32 each; nodes, f32 and u32 each
          (accel/tree/layout.h); references, u32 each; checksum, u64: XXH3 of the header, combined
          with each part in turn
   A file is not trusted: the reader checks the sizes against the file's, the checksum, the
   triangles, and all invariants of the tree. */
#include "accel/builders.h"
#include "accel/triangles.h"
#include "core/files/sectioned_file.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include <assert.h>

typedef struct triangles_header {
    char magic[8];
    uint32_t version, vertices, triangles, nodes, references;
    int32_t max_depth;
    float traversal_cost, intersect_cost, empty_factor;
    uint32_t depth;
    uint64_t leaves, empty_leaves;
    double sah_cost, build_seconds;
    char builder[32];
} triangles_header;

static_assert(sizeof(triangles_header) == 112 && sizeof(vec3) == 12 && sizeof(tritree_node) == 8,
              "as the table above has it");

enum { TRIANGLES_VERSION = 1, PARTS = 4 };
static const char magic[] = "KDTRIANG";

/* Lists the arrays of a tree in the order of the file. */
static void list_parts(const kd_triangles *triangles, file_part parts[PARTS]) {
    const tritree *tree = &triangles->tree;
    const file_part all[PARTS] = {
        {triangles->positions, tree->input.position_count * sizeof *triangles->positions},
        {triangles->triangles, 3ull * tree->input.triangle_count * sizeof *triangles->triangles},
        {tree->nodes, tree->node_count * sizeof *tree->nodes},
        {tree->references, tree->reference_count * sizeof *tree->references}};
    memcpy(parts, all, sizeof all);
}

static triangles_header make_header(const kd_triangles *triangles) {
    const tritree *tree = &triangles->tree;
    triangles_header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof header.magic);
    header.version = TRIANGLES_VERSION;
    header.vertices = tree->input.position_count;
    header.triangles = tree->input.triangle_count;
    header.nodes = tree->node_count;
    header.references = tree->reference_count;
    header.max_depth = tree->options.max_depth;
    header.traversal_cost = tree->options.traversal_cost;
    header.intersect_cost = tree->options.intersect_cost;
    header.empty_factor = tree->options.empty_factor;
    header.depth = tree->statistics.depth;
    header.leaves = tree->statistics.leaves;
    header.empty_leaves = tree->statistics.empty_leaves;
    header.sah_cost = tree->statistics.sah_cost;
    header.build_seconds = tree->statistics.build_seconds;
    memcpy(header.builder, triangles->builder, sizeof header.builder);
    return header;
}

static kd_status write_tree(const kd_triangles *tree, const char *path) {
    const triangles_header header = make_header(tree);
    file_part parts[PARTS];
    list_parts(tree, parts);
    return sectioned_file_write(path, &header, sizeof header, parts, PARTS);
}

kd_status kd_triangles_save(const kd_triangles *tree, const char *path) {
    KD_CALL(tree ? tree->threads : 0);
    KD_REQUIRE(tree && path, KD_ERROR_USAGE, "`%s` must not be NULL", tree ? "path" : "tree");
    if (!tree->cuda) return write_tree(tree, path);
    kd_triangles *copy = NULL;
    KD_TRY(triangles_cuda_fetch(&copy, tree, true));
    const kd_status status = write_tree(copy, path);
    kd_triangles_close(copy);
    return status;
}

static kd_status read_header(triangles_header *header, const file_view *file, const char *path) {
    KD_TRY(sectioned_file_header(file, path, magic, "file of a triangle tree", header,
                                 sizeof *header));
    KD_REQUIRE(header->version == TRIANGLES_VERSION, KD_ERROR_INPUT,
               "%s: found file version %u, expected %d", path, header->version, TRIANGLES_VERSION);
    KD_REQUIRE(header->nodes >= 1 && header->triangles < KD_NONE && header->max_depth >= 0 &&
                   header->build_seconds >= 0 && memchr(header->builder, 0, sizeof header->builder),
               KD_ERROR_INPUT,
               "%s: damaged: found %u nodes, %u triangles and maximum depth %d in the header", path,
               header->nodes, header->triangles, header->max_depth);
    const uint64_t bytes =
        header->vertices * sizeof(vec3) + header->triangles * 3 * sizeof(uint32_t) +
        header->nodes * sizeof(tritree_node) + header->references * sizeof(uint32_t);
    return sectioned_file_check_size(file, path, sizeof *header, bytes);
}

static kd_status read_parts(kd_triangles *out, const triangles_header *header,
                            const file_view *file, const char *path) {
    tritree *tree = &out->tree;
    KD_TRY(KD_RESERVE(out->positions, header->vertices));
    KD_TRY(KD_RESERVE(out->triangles, 3 * (uint64_t)header->triangles));
    KD_TRY(KD_RESERVE(tree->nodes, header->nodes));
    KD_TRY(KD_RESERVE(tree->references, header->references));
    tree->node_count = header->nodes;
    tree->reference_count = header->references;
    tree->input =
        (tritree_input){out->positions, out->triangles, header->vertices, header->triangles};
    file_part parts[PARTS];
    list_parts(out, parts);
    return sectioned_file_read(file, path, sizeof *header, parts, PARTS);
}

static kd_status read_tree(kd_triangles *out, const triangles_header *header, const char *path) {
    tritree *tree = &out->tree;
    tree->options = (tritree_options){header->traversal_cost, header->intersect_cost,
                                      header->empty_factor, header->max_depth};
    tree->statistics = (tritree_statistics){.nodes = header->nodes,
                                            .leaves = header->leaves,
                                            .empty_leaves = header->empty_leaves,
                                            .references = header->references,
                                            .depth = header->depth,
                                            .sah_cost = header->sah_cost,
                                            .build_seconds = header->build_seconds};
    memcpy(out->builder, header->builder, sizeof out->builder);
    const kd_status status = tritree_adopt(tree);
    if (status == KD_OK || status == KD_ERROR_MEMORY) return status;
    char reason[256];
    snprintf(reason, sizeof reason, "%s", kd_last_error());
    KD_FAIL(KD_ERROR_INPUT, "%s: %s", path, reason);
}

kd_status kd_triangles_load(kd_triangles **out, const char *path,
                            const kd_triangles_options *options) {
    KD_CALL(0);
    kd_status status = KD_OK;
    KD_REQUIRE(out && path, KD_ERROR_USAGE, "`%s` must not be NULL", out ? "path" : "out");
    *out = NULL;
    kd_triangles_options taken;
    KD_TRY(triangles_take_options(&taken, options));
    kd_triangles *loaded = NULL;
    file_view file;
    memset(&file, 0, sizeof file);
    triangles_header header;
    KD_TRY(KD_RESERVE_ZEROED(loaded, 1));
    KD_TRY_GOTO(file_open(&file, path));
    KD_TRY_GOTO(read_header(&header, &file, path));
    KD_TRY_GOTO(read_parts(loaded, &header, &file, path));
    KD_TRY_GOTO(read_tree(loaded, &header, path));
    KD_TRY_GOTO(triangles_finish(loaded, &taken));
    *out = loaded;
done:
    file_close(&file);
    if (status != KD_OK) kd_triangles_close(loaded);
    return status;
}
