/* Python objects for point trees and for the arrays that they are built from and queried with. */
#ifndef PYTHON_POINTS_H
#define PYTHON_POINTS_H
#include "python/ext/gate.h"
#include <kandela/points.h>
#include <nanobind/stl/shared_ptr.h>
#include <stddef.h>
#include <string.h>

/* kd_points, closed with the object or before. Queries and changes enter its gate, `door`. */
struct points_tree {
    kd_points *c;
    kd_points_info info; /* as of the last opening or update; all fields before the hash */
    gate door;
    explicit points_tree(kd_points *tree) : c(tree) { refresh(); }
    void refresh() { kd_points_describe_sized(c, &info, offsetof(kd_points_info, hash)); }
    /* the name of a CPU device is such as "CPU, 2 threads" */
    bool on_cpu() const { return strncmp(info.device, "CPU", 3) == 0; }
    points_tree(const points_tree &) = delete;
    points_tree &operator=(const points_tree &) = delete;
    ~points_tree() { kd_points_close(c); }
};
typedef std::shared_ptr<points_tree> points_handle;

/* Holds a tree and its gate for the lifetime of the object. Raises UsageError if it is closed. */
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

#endif
