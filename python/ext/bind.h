/* What all files of the extension share: arrays of any framework as pointers, statuses as
   exceptions, and calls without the interpreter's lock.
   Arrays are taken as they are: an ndarray of NumPy, whatever has __dlpack__, whatever has
   __cuda_array_interface__. Nothing is converted: a wrong type is a TypeError that names both. */
#ifndef PYTHON_BIND_H
#define PYTHON_BIND_H
#include <kandela/status.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <stdint.h>
#include <string>
#include <vector>

namespace nb = nanobind;

/* Something of its own, so that nothing is copied: the object is kept while the array is. */
struct array {
    nb::object owner = nb::none();
    void *data = nullptr;
    std::string dtype;                   /* "float32", "float64", "uint32", "int64", ... */
    std::vector<int64_t> shape, strides; /* strides in elements */
    int item_bytes = 0;
    bool device = false; /* memory of a CUDA device */

    uint64_t rows() const { return shape.empty() ? 1 : (uint64_t)shape[0]; }
    uint64_t size() const;
    bool contiguous() const;
};

/* `name` is what the argument is called in messages; `writable`: refused if it is read-only. */
array array_of(nb::handle given, const char *name, bool writable);

/* The same, C-contiguous, of one of the types ("uint32|int32") and of `size` elements; NULL for
   None. */
void *array_data(nb::handle given, const char *name, const char *dtypes, uint64_t size,
                 bool writable, array *keep);

/* Raises what belongs to the status, with kd_last_error(); nothing for KD_OK. */
void check(kd_status status);
void check_said(kd_status status, const char *message); /* the same with another thread's message */
void check_signals();                                   /* Ctrl-C */

/* A thread that Python does not wait for stops here once the interpreter ends: it would be unwound
   through C++ otherwise, which ends the process. */
void stop_if_python_ends();

/* call() without the interpreter's lock, then what its status raises. */
template <typename function> void check_unlocked(function call) {
    kd_status status;
    {
        nb::gil_scoped_release unlocked;
        status = call();
        stop_if_python_ends();
    }
    check(status);
}

/* A struct's text of fixed size, as kd_points_options.device. */
template <size_t size> void text_set(char (&to)[size], const std::string &from, const char *name) {
    if (from.size() >= size)
        throw nb::value_error((std::string(name) + " is longer than expected: " + from).c_str());
    from.copy(to, size - 1);
    to[from.size()] = '\0';
}

void bind_points(nb::module_ &module);
void bind_points_query(nb::module_ &module);
void bind_triangles(nb::module_ &module);
void bind_render(nb::module_ &module);

#endif
