/* A point tree as a file: a header, coordinates, ids, axes, the caller's ids, and the XXH3 hash of
   all of these. Files are not trusted: reading checks the sizes against that of the file, the hash,
   and then the tree itself. */
#include "core/files/sectioned_file.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include "points/api/dynamic.h"
#include "points/brute/brute.h"
#include "points/select/builders.h"
#include "points/tree/bounds.h"
#include "points/tree/check.h"

typedef struct points_header {
    char magic[8];  /* "KDPOINTS" */
    uint32_t order; /* 0x01020304 in the byte order of the writing machine */
    uint32_t version;
    uint32_t count, dims, scalar, split;
    uint32_t renamed; /* 1: the caller's ids are included */
    char builder[28];
} points_header;

enum { POINTS_VERSION = 1, POINTS_ORDER = 0x01020304 };

/* Lists the arrays of a tree in the order of the file. */
static int list_parts(const pointtree *t, uint32_t *renamed, file_part parts[4]) {
    const file_part all[4] = {{t->coordinates, t->count * t->dims * point_scalar_bytes(t->scalar)},
                              {t->ids, t->count * sizeof *t->ids},
                              {t->axes, t->axes ? t->count : 0},
                              {renamed, renamed ? t->count * sizeof *renamed : 0}};
    memcpy(parts, all, sizeof all);
    return 4;
}

static kd_status write_parts(const kd_points *tree, const char *path, const points_header *header) {
    file_part parts[4];
    pointtree copy;
    if (tree->brute) {
        copy = tree->tree; /* without axes */
        kd_status status = memory_reserve(&copy.coordinates, copy.count,
                                          copy.dims * point_scalar_bytes(copy.scalar));
        if (status == KD_OK) status = KD_RESERVE(copy.ids, copy.count);
        if (status == KD_OK) status = kd_points_download(tree, copy.coordinates, NULL, NULL);
        for (uint32_t i = 0; status == KD_OK && i < copy.count; ++i) copy.ids[i] = i;
        const int count = list_parts(&copy, tree->renamed, parts);
        if (status == KD_OK)
            status = sectioned_file_write(path, header, sizeof *header, parts, count);
        points_close_arrays(&copy);
        return status;
    }
    if (!__atomic_load_n(&tree->lean, __ATOMIC_ACQUIRE))
        return sectioned_file_write(path, header, sizeof *header, parts,
                                    list_parts(&tree->tree, tree->renamed, parts));
    KD_TRY(points_copy_arrays(&copy, tree, true, true));
    const int count = list_parts(&copy, tree->renamed, parts);
    const kd_status status = sectioned_file_write(path, header, sizeof *header, parts, count);
    points_close_arrays(&copy);
    return status;
}

kd_status kd_points_save(const kd_points *tree, const char *path) {
    KD_CALL(tree ? tree->options.threads : 0);
    KD_REQUIRE(tree && path, KD_ERROR_USAGE, "`%s` must not be NULL", tree ? "path" : "tree");
    if (!points_is_whole(tree)) {
        kd_points copy;
        KD_TRY(points_copy_whole(&copy, tree));
        const kd_status status = kd_points_save(&copy, path);
        points_release(&copy);
        return status;
    }
    const pointtree *t = &tree->tree;
    points_header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, "KDPOINTS", sizeof header.magic);
    header.order = POINTS_ORDER;
    header.version = POINTS_VERSION;
    header.count = t->count;
    header.dims = t->dims;
    header.scalar = t->scalar == POINT_DOUBLE;
    header.split = tree->options.split == KD_POINTS_SPLIT_ROUND_ROBIN;
    header.renamed = tree->renamed != NULL;
    memcpy(header.builder, tree->builder, sizeof header.builder - 1);
    return write_parts(tree, path, &header);
}

static kd_status read_header(points_header *header, const file_view *file, const char *path) {
    KD_TRY(sectioned_file_header(file, path, "KDPOINTS", "file of points", header, sizeof *header));
    KD_REQUIRE(header->order == POINTS_ORDER, KD_ERROR_INPUT,
               "%s: written on a machine with another byte order; save the tree on a machine like "
               "this one",
               path);
    KD_REQUIRE(header->version == POINTS_VERSION, KD_ERROR_INPUT,
               "%s: found file version %u, expected %d", path, header->version, POINTS_VERSION);
    KD_REQUIRE(header->count <= POINTTREE_COUNT_MAX && header->dims >= POINT_DIMS_MIN &&
                   header->dims <= BRUTE_DIMS_MAX && header->scalar <= 1 && header->split <= 1 &&
                   header->renamed <= 1 && memchr(header->builder, 0, sizeof header->builder),
               KD_ERROR_INPUT,
               "%s: damaged: found %u points, %u dimensions, scalar %u and split %u in the header",
               path, header->count, header->dims, header->scalar, header->split);
    return KD_OK;
}

/* Reconstructs the input points from the ids, and checks that the tree is valid for them. */
static kd_status check_tree(pointtree *tree, const char *path) {
    kd_status status = KD_OK;
    void *input = NULL;
    const size_t bytes = tree->dims * point_scalar_bytes(tree->scalar);
    KD_TRY(memory_reserve_zeroed(&input, tree->count, bytes));
    for (uint32_t i = 0; i < tree->count; ++i) {
        if (tree->ids[i] >= tree->count) {
            status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                                 "%s: damaged: node %u has point id %u; there are %u points", path,
                                 i, tree->ids[i], tree->count);
            break;
        }
        memcpy((char *)input + tree->ids[i] * bytes, (const char *)tree->coordinates + i * bytes,
               bytes);
    }
    const point_array points = point_array_make(input, tree->count, tree->dims, tree->scalar);
    if (status == KD_OK) status = point_scan(&tree->box, &points);
    if (status == KD_OK) {
        const pointtree_nd_view view = pointtree_get_nd_view(tree);
        if (pointtree_check_nd(&view, &points) == KD_ERROR_CHECK) status = KD_ERROR_INPUT;
    }
    memory_free(input);
    return status;
}

static kd_status read_tree(kd_points *out, const points_header *header, const file_view *file,
                           const char *path) {
    pointtree *tree = &out->tree;
    tree->count = header->count;
    tree->dims = header->dims;
    tree->scalar = header->scalar ? POINT_DOUBLE : POINT_FLOAT;
    const pointtree_builder *row = pointtree_builder_find(header->builder);
    KD_REQUIRE(row, KD_ERROR_INPUT, "%s: made by builder \"%s\", which this version does not have",
               path, header->builder);
    tree->order = row->order;
    tree->options.split = header->split ? POINTTREE_ROUND_ROBIN : POINTTREE_WIDEST;
    out->options.split = header->split ? KD_POINTS_SPLIT_ROUND_ROBIN : KD_POINTS_SPLIT_WIDEST;
    memcpy(out->builder, header->builder, sizeof header->builder);
    const uint64_t count = header->count;
    const bool has_axes = !header->split && header->dims <= POINT_DIMS_MAX;
    const uint64_t each = header->dims * point_scalar_bytes(tree->scalar) + sizeof(uint32_t) +
                          (has_axes ? 1 : 0) + (header->renamed ? sizeof(uint32_t) : 0);
    KD_TRY(sectioned_file_check_size(file, path, sizeof *header, count * each));
    KD_TRY(
        memory_reserve(&tree->coordinates, count * header->dims, point_scalar_bytes(tree->scalar)));
    KD_TRY(KD_RESERVE(tree->ids, count));
    if (has_axes) KD_TRY(KD_RESERVE(tree->axes, count));
    if (header->renamed) KD_TRY(KD_RESERVE(out->renamed, count));
    file_part parts[4];
    const int part_count = list_parts(tree, out->renamed, parts);
    KD_TRY(sectioned_file_read(file, path, sizeof *header, parts, part_count));
    if (header->dims <= POINT_DIMS_MAX) return check_tree(tree, path);
    for (uint32_t i = 0; i < tree->count; ++i)
        KD_REQUIRE(tree->ids[i] == i, KD_ERROR_INPUT, "%s: damaged: point %u has id %u", path, i,
                   tree->ids[i]);
    return points_adopt_rows(out);
}

kd_status kd_points_load(kd_points **out, const char *path, const kd_points_options *options) {
    KD_CALL(0);
    KD_REQUIRE(out && path, KD_ERROR_USAGE, "`%s` must not be NULL", out ? "path" : "out");
    *out = NULL;
    /* opening an empty tree validates the options and initialises the rest */
    const kd_point_array none = kd_point_array_make(NULL, 0, 3, KD_FLOAT);
    kd_points *loaded = NULL;
    KD_TRY(kd_points_open(&loaded, &none, options));
    points_release(loaded);
    loaded->options.first_id = 0;
    kd_status status = KD_OK;
    file_view file;
    memset(&file, 0, sizeof file);
    points_header header;
    KD_TRY_GOTO(file_open(&file, path));
    KD_TRY_GOTO(read_header(&header, &file, path));
    KD_TRY_GOTO(read_tree(loaded, &header, &file, path));
    KD_TRY_GOTO(points_finish(loaded));
    *out = loaded;
done:
    file_close(&file);
    if (status != KD_OK) kd_points_close(loaded);
    return status;
}
