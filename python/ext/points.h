/* Point trees and the arrays that belong to them, as objects of Python. */
#ifndef PYTHON_POINTS_H
#define PYTHON_POINTS_H
#include "python/ext/bind.h"
#include <kandela/points.h>
#include <stddef.h>
#include <string.h>

/* kd_points, closed with the object. */
struct points_tree {
    kd_points *c;
    kd_points_info told; /* when it was opened or updated: all before the hash */
    explicit points_tree(kd_points *tree) : c(tree) { look(); }
    void look() { kd_points_describe_sized(c, &told, offsetof(kd_points_info, hash)); }
    bool on_cpu() const { return strcmp(told.device, "cpu") == 0; }
    points_tree(const points_tree &) = delete;
    points_tree &operator=(const points_tree &) = delete;
    ~points_tree() { kd_points_close(c); }
    void close() {
        kd_points_close(c);
        c = nullptr;
    }
};

/* kd_point_array with what it points to. */
struct point_arrays {
    kd_point_array c;
    array keep, ids;
    static point_arrays make(nb::handle given, nb::handle ids);
};

/* kd_points_query with what it points to. */
struct points_query {
    kd_points_query c;
    array points, radii;
};

#endif
