/* The calls of <kandela/points.h> whose ids have 64 bits: those of 32 bits answer into the second
   half of the caller's array, and are then made wider from its beginning. */
#include "core/device/caller_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "points/api/changes.h"
#include "points/api/points_parts.h"

typedef struct wide_ids {
    uint64_t *to;     /* the caller's, or NULL: not wanted */
    uint64_t *host;   /* the same, or where the ids are made wider for a device */
    uint32_t *narrow; /* the second half of these */
    uint64_t count;
} wide_ids;

static kd_status begin(wide_ids *out, uint64_t *to, uint64_t count, const kd_points *tree) {
    const caller_array place = {to, "places for ids", sizeof *to};
    memset(out, 0, sizeof *out);
    KD_TRY(caller_memory_check(&place, 1, tree && !tree->cuda));
    if (!to || count == 0) return KD_OK;
    out->to = out->host = to;
    out->count = count;
    if (device_in_use() && device_of_pointer(to) >= 0) KD_TRY(KD_RESERVE(out->host, count));
    out->narrow = (uint32_t *)(void *)out->host + count;
    return KD_OK;
}

/* Makes the ids wider; id i is read before place i, which may be its own, is written. */
static kd_status end(wide_ids *ids, kd_status status, void *stream) {
    for (uint64_t i = 0; status == KD_OK && i < ids->count; ++i) {
        uint32_t narrow;
        memcpy(&narrow, (const char *)ids->host + (ids->count + i) * sizeof narrow, sizeof narrow);
        const uint64_t wide = narrow == KD_NO_POINT ? KD_NO_POINT64 : narrow;
        memcpy((char *)ids->host + i * sizeof wide, &wide, sizeof wide);
    }
    if (ids->host == ids->to) return status;
    if (status == KD_OK)
        status = device_copy(ids->to, ids->host, ids->count * sizeof *ids->to, stream);
    if (status == KD_OK) status = device_stream_wait(stream);
    memory_free(ids->host);
    return status;
}

kd_status kd_points_nearest64(const kd_points *tree, const kd_points_query *query, uint32_t k,
                              uint64_t *ids, void *dist2, uint32_t *counts) {
    wide_ids wide;
    uint64_t answers = 0;
    const parts_rows apart = {.wide = ids, .dist2 = dist2, .counts = counts};
    KD_REQUIRE(tree && query, KD_ERROR_USAGE, "no %s given (NULL)", tree ? "query" : "tree");
    if (points_parts_apart(tree)) return points_parts_ask_nearest(tree, query, k, &apart);
    KD_REQUIRE(!__builtin_mul_overflow(query->points.count, (uint64_t)k, &answers) &&
                   answers <= UINT64_MAX / sizeof *ids,
               KD_ERROR_USAGE, "%llu queries for %u points each are more than memory can address",
               (unsigned long long)query->points.count, k);
    KD_TRY(begin(&wide, ids, answers, tree));
    return end(&wide, kd_points_nearest(tree, query, k, wide.narrow, dist2, counts),
               tree->options.stream);
}

kd_status kd_points_closest64(const kd_points *tree, const kd_points_query *query, uint64_t *ids,
                              void *dist2) {
    return kd_points_nearest64(tree, query, 1, ids, dist2, NULL);
}

/* The last offset, which may lie on a device, says how many answers there are. */
static kd_status count_answers(uint64_t *out, const kd_points *tree, const uint64_t *offsets,
                               uint64_t queries) {
    const caller_array given = {offsets, "offsets", sizeof *offsets};
    KD_TRY(caller_memory_check(&given, 1, tree->cuda == NULL));
    if (!device_in_use() || device_of_pointer(offsets) < 0) {
        *out = offsets[queries];
        return KD_OK;
    }
    KD_TRY(device_copy(out, offsets + queries, sizeof *out, tree->options.stream));
    return device_stream_wait(tree->options.stream);
}

kd_status kd_points_within64(const kd_points *tree, const kd_points_query *query,
                             const uint64_t *offsets, uint64_t *ids, void *dist2) {
    wide_ids wide;
    uint64_t answers = 0;
    KD_REQUIRE(tree && query && offsets, KD_ERROR_USAGE, "no %s given (NULL)",
               !tree   ? "tree"
               : query ? "offsets"
                       : "query");
    const parts_rows apart = {.wide = ids, .dist2 = dist2};
    if (points_parts_apart(tree)) return points_parts_ask_within(tree, query, offsets, &apart);
    KD_TRY(count_answers(&answers, tree, offsets, query->points.count));
    KD_TRY(begin(&wide, ids, answers, tree));
    return end(&wide, kd_points_within(tree, query, offsets, wide.narrow, dist2),
               tree->options.stream);
}

/* Places in the input as numbers. */
static kd_status download_numbered(const kd_points *tree, void *coordinates, uint64_t *ids,
                                   uint8_t *axes) {
    kd_points copy;
    KD_TRY(points_copy_whole(&copy, tree));
    const kd_status status = kd_points_download64(&copy, coordinates, ids, axes);
    for (uint64_t i = 0; ids && status == KD_OK && i < copy.tree.count; ++i)
        ids[i] += points_parts_first(tree);
    points_release(&copy);
    return status;
}

kd_status kd_points_download64(const kd_points *tree, void *coordinates, uint64_t *ids,
                               uint8_t *axes) {
    wide_ids wide;
    KD_REQUIRE(tree, KD_ERROR_USAGE, "no tree given (NULL)");
    if (points_parts_first(tree)) return download_numbered(tree, coordinates, ids, axes);
    KD_TRY(begin(&wide, ids, points_live_count(tree), tree));
    return end(&wide, kd_points_download(tree, coordinates, wide.narrow, axes),
               tree->options.stream);
}
