/* Shared by all files of the extension: arrays of any framework as pointers, statuses as
   exceptions, and calls that release the global interpreter lock (GIL). Accepted arrays are NumPy
   arrays and objects with __dlpack__ or __cuda_array_interface__. Nothing is converted: an array of
   the wrong type raises a TypeError that names both types. */
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

/* A view of an array; it keeps the Python object that owns the memory alive. */
struct array {
    nb::object owner = nb::none();
    void *data = nullptr;
    std::string dtype;                   /* "float32", "float64", "uint32", "int64", ... */
    std::vector<int64_t> shape, strides; /* strides in elements */
    int item_bytes = 0;
    bool device = false; /* the memory is that of a CUDA device */

    uint64_t rows() const { return shape.empty() ? 1 : (uint64_t)shape[0]; }
    uint64_t size() const;
    bool contiguous() const;
};

/* Returns a view of `object`. `name` is the name of the argument in messages. Raises TypeError if
   it is not an array, ValueError if it is read-only but must be `writable`. */
array array_of(nb::handle object, const char *name, bool writable);

/* Returns the data pointer of a C-contiguous array of `size` elements, of one of the types, such as
   "uint32|int32"; NULL for None. *keep keeps the array alive. */
void *array_data(nb::handle object, const char *name, const char *dtypes, uint64_t size,
                 bool writable, array *keep);

/* Raises the exception of a status, with the message kd_last_error(); returns for KD_OK. */
void check(kd_status status);
void check_said(kd_status status, const char *message); /* with a message of another thread */
void check_signals();                                   /* raises KeyboardInterrupt after Ctrl-C */

/* Blocks forever in a daemon thread once the interpreter is shutting down: acquiring the GIL then
   would unwind the thread through C++ frames, which aborts the process. */
void stop_if_python_ends();

/* Runs call() without the GIL, then raises the exception of its status. */
template <typename function> void check_unlocked(function call) {
    kd_status status;
    {
        nb::gil_scoped_release unlocked;
        status = call();
        stop_if_python_ends();
    }
    check(status);
}

/* Copies a string to a fixed-size field, such as kd_points_options.device. */
template <size_t size> void text_set(char (&to)[size], const std::string &from, const char *name) {
    if (from.size() >= size)
        throw nb::value_error(("`" + std::string(name) + "` is longer than " +
                               std::to_string(size - 1) + " characters: " + from)
                                  .c_str());
    from.copy(to, size - 1);
    to[from.size()] = '\0';
}

/* The member of a bound object, such as BIND_FIELD(c.method), for bind_text and bind_number. */
#define BIND_FIELD(member)                                                                         \
    [](auto &self) -> auto & {                                                                     \
        return self.member;                                                                        \
    }

/* Binds a string of a fixed size, and a number, enumeration or pointer that Python sees as `type`.
 */
template <typename owner, typename function>
void bind_text(nb::class_<owner> &to, const char *name, function field) {
    to.def_prop_rw(
        name, [field](owner &self) { return std::string(field(self)); },
        [field, name](owner &self, const std::string &text) { text_set(field(self), text, name); });
}
template <typename type, typename owner, typename function>
void bind_number(nb::class_<owner> &to, const char *name, function field) {
    to.def_prop_rw(
        name, [field](owner &self) { return (type)field(self); },
        [field](owner &self, type value) {
            field(self) = (std::remove_reference_t<decltype(field(self))>)value;
        });
}

void bind_points(nb::module_ &module);
void bind_points_query(nb::module_ &module);
void bind_triangles(nb::module_ &module);
void bind_ray_scenes(nb::module_ &module);
void bind_render(nb::module_ &module);
void bind_clouds(nb::module_ &module);
void bind_xla(nb::module_ &module);

#endif
