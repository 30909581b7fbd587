/* A triangle tree as a file: little-endian, a header of 112 bytes and five parts.
       0  "KDTRIANG"            48  leaves, u64             112  vertices: 3 f32 each
       8  version 1, u32        56  empty leaves, u64            triangles: 3 u32 each
      12  vertices, u32         64  SAH cost, f64                nodes: f32, u32 (shaders/tritree.h)
      16  triangles, u32        72  build seconds, f64           references: u32 each
      20  nodes, u32            80  builder, 32 chars            checksum, u64: XXH3 of the header,
      24  references, u32                                        combined with each part in turn
      28  largest depth, i32; 32 C_t, 36 C_i, 40 empty factor, f32; 44 depth, u32
   Read with distrust: sizes against the file's, the checksum, the triangles, then the tree itself
   by all its invariants. */
#include "accel/triangles_cuda.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/memory.h"
#include <assert.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's order is the machine's");

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

typedef struct triangles_part {
    void *bytes;
    uint64_t count;
} triangles_part;

/* The arrays of a tree, in the order of the file. */
static void list_parts(const kd_triangles *of, triangles_part parts[PARTS]) {
    const tritree *tree = &of->tree;
    const triangles_part all[PARTS] = {
        {of->positions, tree->input.position_count * sizeof *of->positions},
        {of->triangles, 3ull * tree->input.triangle_count * sizeof *of->triangles},
        {tree->nodes, tree->node_count * sizeof *tree->nodes},
        {tree->references, tree->reference_count * sizeof *tree->references}};
    memcpy(parts, all, sizeof all);
}

static triangles_header make_header(const kd_triangles *of) {
    const tritree *tree = &of->tree;
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
    memcpy(header.builder, of->builder, sizeof header.builder);
    return header;
}

static kd_status write_tree(const kd_triangles *tree, const char *path) {
    const triangles_header header = make_header(tree);
    file_output output;
    KD_TRY(file_output_open(&output, path));
    triangles_part parts[PARTS];
    list_parts(tree, parts);
    uint64_t hash = hash_bytes(&header, sizeof header);
    bool written = fwrite(&header, sizeof header, 1, output.stream) == 1;
    for (int i = 0; i < PARTS; ++i) {
        if (parts[i].count == 0) continue;
        hash = hash_combine(hash, parts[i].bytes, parts[i].count);
        written = written && fwrite(parts[i].bytes, parts[i].count, 1, output.stream) == 1;
    }
    written = written && fwrite(&hash, sizeof hash, 1, output.stream) == 1;
    if (written) return file_output_commit(&output);
    file_output_discard(&output);
    KD_FAIL(KD_ERROR_RUNTIME, "%s: writing a tree of %u triangles failed", path, header.triangles);
}

kd_status kd_triangles_save(const kd_triangles *tree, const char *path) {
    KD_REQUIRE(tree && path, KD_ERROR_USAGE, "no %s given (NULL)", tree ? "path" : "tree");
    if (!tree->cuda) return write_tree(tree, path);
    kd_triangles *copy = NULL;
    KD_TRY(triangles_cuda_fetch(&copy, tree, true));
    const kd_status status = write_tree(copy, path);
    kd_triangles_close(copy);
    return status;
}

static kd_status read_header(triangles_header *header, const file_view *file, const char *path) {
    KD_REQUIRE(file->count >= sizeof *header + sizeof(uint64_t) &&
                   memcmp(file->bytes, magic, sizeof header->magic) == 0,
               KD_ERROR_INPUT, "%s: this is no file of a triangle tree", path);
    memcpy(header, file->bytes, sizeof *header);
    KD_REQUIRE(header->version == TRIANGLES_VERSION, KD_ERROR_INPUT, "%s: version %u, expected %d",
               path, header->version, TRIANGLES_VERSION);
    KD_REQUIRE(header->nodes >= 1 && header->triangles < KD_NONE && header->max_depth >= 0 &&
                   header->build_seconds >= 0 && memchr(header->builder, 0, sizeof header->builder),
               KD_ERROR_INPUT, "%s: %u nodes of %u triangles, at most %d deep: out of range", path,
               header->nodes, header->triangles, header->max_depth);
    const uint64_t expected = sizeof *header + sizeof(uint64_t) + header->vertices * sizeof(vec3) +
                              header->triangles * 3 * sizeof(uint32_t) +
                              header->nodes * sizeof(tritree_node) +
                              header->references * sizeof(uint32_t);
    KD_REQUIRE(file->count == expected, KD_ERROR_INPUT, "%s: %zu bytes, expected %llu", path,
               file->count, (unsigned long long)expected);
    return KD_OK;
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
    triangles_part parts[PARTS];
    list_parts(out, parts);
    const char *bytes = file->bytes + sizeof *header;
    uint64_t hash = hash_bytes(header, sizeof *header), stored;
    for (int i = 0; i < PARTS; ++i) {
        if (parts[i].count == 0) continue;
        memcpy(parts[i].bytes, bytes, parts[i].count);
        hash = hash_combine(hash, bytes, parts[i].count);
        bytes += parts[i].count;
    }
    memcpy(&stored, bytes, sizeof stored);
    KD_REQUIRE(hash == stored, KD_ERROR_INPUT, "%s: the checksum does not hold", path);
    return KD_OK;
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
    char why[256];
    snprintf(why, sizeof why, "%s", kd_last_error());
    KD_FAIL(KD_ERROR_INPUT, "%s: %s", path, why);
}

kd_status kd_triangles_load(kd_triangles **out, const char *path,
                            const kd_triangles_options *options) {
    kd_status status = KD_OK;
    KD_REQUIRE(out && path, KD_ERROR_USAGE, "no %s given (NULL)",
               out ? "path" : "place for the tree");
    *out = NULL;
    kd_triangles_options defaults;
    kd_triangles_options_default(&defaults);
    if (!options) options = &defaults;
    KD_TRY(triangles_check_options(options));
    kd_triangles *loaded = NULL;
    file_view file;
    memset(&file, 0, sizeof file);
    triangles_header header;
    KD_TRY(KD_RESERVE_ZEROED(loaded, 1));
    KD_TRY_GOTO(file_open(&file, path));
    KD_TRY_GOTO(read_header(&header, &file, path));
    KD_TRY_GOTO(read_parts(loaded, &header, &file, path));
    KD_TRY_GOTO(read_tree(loaded, &header, path));
    KD_TRY_GOTO(triangles_finish(loaded, options));
    *out = loaded;
done:
    file_close(&file);
    if (status != KD_OK) kd_triangles_close(loaded);
    return status;
}
