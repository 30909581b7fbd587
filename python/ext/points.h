/* Python objects for point trees and for the arrays that they are built from and queried with. */
#ifndef PYTHON_POINTS_H
#define PYTHON_POINTS_H
#include "python/ext/gate.h"
#include <algorithm>
#include <kandela/points.h>
#include <nanobind/stl/shared_ptr.h>
#include <stddef.h>
#include <string.h>

/* A kd_points tree, which is closed with this object at the latest. Queries and changes pass
   through its gate `door`. */
struct points_tree {
    kd_points *c;
    /* as of the last opening or update; only the fields before `hash` are set */
    kd_points_info info;
    gate door;
    explicit points_tree(kd_points *tree) : c(tree) { refresh(); }
    void refresh() { kd_points_describe_sized(c, &info, offsetof(kd_points_info, hash)); }
    /* a CPU device has a name such as "CPU, 2 threads" */
    bool on_cpu() const { return strncmp(info.device, "CPU", 3) == 0; }
    points_tree(const points_tree &) = delete;
    points_tree &operator=(const points_tree &) = delete;
    ~points_tree() { kd_points_close(c); }
};
typedef std::shared_ptr<points_tree> points_handle;

/* Holds a tree and its gate for the lifetime of the object. Raises UsageError if the tree is
   closed. */
struct points_use {
    points_handle tree;
    std::shared_ptr<void> entered;
    kd_points *c;
    explicit points_use(const points_handle &handle, bool alone = false)
        : tree(handle), entered(handle->door.enter(alone, "tree")), c(handle->c) {
        if (!c) check_said(KD_ERROR_USAGE, "the tree is closed");
    }
    const points_tree *operator->() const { return tree.get(); }
    const gate *door() const { return &tree->door; }
};

/* From these counts on, a call on the CPU is long enough to be run in a worker thread. */
enum : uint64_t { LONG_QUERIES = 1 << 13, LONG_ANSWERS = 1 << 16, LONG_BUILD = 1 << 14 };

/* kd_point_array and the Python arrays that it points to. */
struct point_arrays {
    kd_point_array c;
    array keep, ids;
    static point_arrays make(nb::handle object, nb::handle ids);
};

/* kd_points_query and the Python arrays that it points to. */
struct points_query {
    kd_points_query c;
    array points, radii;
};

/* On the CPU a long batch is split into pieces so that Ctrl-C takes effect between them; the
   results are the same. */
enum { PIECE_ANSWERS = 1 << 22, PIECE_MIN = 1 << 14 };

/* Returns the queries [begin, end) of a batch. */
inline kd_points_query piece_of(const kd_points_query &whole, uint64_t begin, uint64_t end) {
    const uint64_t scalar = whole.points.scalar == KD_DOUBLE ? 8 : 4;
    const uint64_t stride =
        whole.points.stride_bytes ? whole.points.stride_bytes : whole.points.dims * scalar;
    kd_points_query piece = whole;
    piece.points.coordinates = (const char *)whole.points.coordinates + begin * stride;
    piece.points.count = end - begin;
    if (whole.radii) piece.radii = (const char *)whole.radii + begin * scalar;
    return piece;
}

/* Calls call(piece, begin) for consecutive pieces of the batch, of about PIECE_ANSWERS results
   each; on a device for the whole batch at once. `answers_each` is the expected number of results
   per query. Ctrl-C ends the loop after a piece. `call` must own everything that it uses. */
template <typename function>
void in_pieces(const points_use &tree, const points_query &query, uint64_t answers_each,
               function call) {
    const uint64_t count = query.c.points.count;
    uint64_t each =
        std::max<uint64_t>(PIECE_MIN, PIECE_ANSWERS / std::max<uint64_t>(1, answers_each));
    const bool on_cpu = tree->on_cpu();
    if (!on_cpu) each = count;
    const bool is_long =
        on_cpu &&
        (count >= LONG_QUERIES || count * std::max<uint64_t>(1, answers_each) >= LONG_ANSWERS ||
         (query.c.max_radius > 0 && kd_points_count(tree.c) >= LONG_ANSWERS && count >= 64));
    check_with_progress(
        [=](const std::atomic<bool> &left) {
            kd_status status = KD_OK;
            uint64_t begin = 0;
            do {
                const uint64_t end = count - begin <= each + each / 2 ? count : begin + each;
                const kd_points_query piece = piece_of(query.c, begin, end);
                status = call(&piece, begin);
                begin = end;
            } while (status == KD_OK && begin < count && !left);
            return status;
        },
        is_long, tree.door());
}

void bind_points_rows(nb::module_ &module);

#endif
