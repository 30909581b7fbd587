#include "python/ext/bind.h"
#include <string.h>

static const char *dtype_name(nb::dlpack::dtype type) {
    static const struct {
        nb::dlpack::dtype_code code;
        uint8_t bits;
        const char *name;
    } names[] = {{nb::dlpack::dtype_code::Float, 32, "float32"},
                 {nb::dlpack::dtype_code::Float, 64, "float64"},
                 {nb::dlpack::dtype_code::Float, 16, "float16"},
                 {nb::dlpack::dtype_code::UInt, 8, "uint8"},
                 {nb::dlpack::dtype_code::UInt, 16, "uint16"},
                 {nb::dlpack::dtype_code::UInt, 32, "uint32"},
                 {nb::dlpack::dtype_code::UInt, 64, "uint64"},
                 {nb::dlpack::dtype_code::Int, 8, "int8"},
                 {nb::dlpack::dtype_code::Int, 16, "int16"},
                 {nb::dlpack::dtype_code::Int, 32, "int32"},
                 {nb::dlpack::dtype_code::Int, 64, "int64"},
                 {nb::dlpack::dtype_code::Bool, 8, "bool"},
                 {nb::dlpack::dtype_code::Complex, 64, "complex64"},
                 {nb::dlpack::dtype_code::Complex, 128, "complex128"}};
    for (const auto &row : names)
        if (type.code == (uint8_t)row.code && type.bits == row.bits && type.lanes == 1)
            return row.name;
    return "an unknown type";
}

uint64_t array::size() const {
    uint64_t count = 1;
    for (int64_t extent : shape) count *= (uint64_t)extent;
    return count;
}

bool array::contiguous() const {
    int64_t expected = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] != 1 && strides[axis] != expected) return size() == 0;
        expected *= shape[axis];
    }
    return true;
}

/* Returns the dtype name and element size of a type string of the array interface, such as "<f4";
   an unknown one is returned unchanged. */
static std::string typestr_name(const std::string &text, int *bytes) {
    static const struct {
        const char *text, *name;
        int bytes;
    } names[] = {{"f4", "float32", 4}, {"f8", "float64", 8}, {"u4", "uint32", 4},
                 {"u8", "uint64", 8},  {"i4", "int32", 4},   {"i8", "int64", 8},
                 {"u1", "uint8", 1},   {"b1", "bool", 1}};
    for (const auto &row : names)
        if (text.size() == 3 && text.substr(1) == row.text && text[0] != '>') {
            *bytes = row.bytes;
            return row.name;
        }
    *bytes = 1;
    return text;
}

/* Reads the CUDA array interface, versions 2 and 3.
   Source: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html */
static array array_of_cuda(nb::handle object, const char *name, bool writable) {
    array out;
    nb::object described = object.attr("__cuda_array_interface__");
    nb::dict fields = nb::cast<nb::dict>(described);
    nb::tuple data = nb::cast<nb::tuple>(fields["data"]);
    out.owner = nb::borrow(object);
    out.data = (void *)nb::cast<uintptr_t>(data[0]);
    if (writable && nb::cast<bool>(data[1]))
        throw nb::value_error(
            ("`" + std::string(name) + "` is read-only; pass a writable array").c_str());
    out.dtype = typestr_name(nb::cast<std::string>(fields["typestr"]), &out.item_bytes);
    out.device = true;
    for (nb::handle extent : nb::cast<nb::tuple>(fields["shape"]))
        out.shape.push_back(nb::cast<int64_t>(extent));
    if (fields.contains("strides") && !fields["strides"].is_none()) {
        for (nb::handle stride : nb::cast<nb::tuple>(fields["strides"]))
            out.strides.push_back(nb::cast<int64_t>(stride) / out.item_bytes);
        return out;
    }
    out.strides.resize(out.shape.size());
    int64_t stride = 1;
    for (size_t axis = out.shape.size(); axis-- > 0; stride *= out.shape[axis])
        out.strides[axis] = stride;
    return out;
}

/* nanobind converts nothing here: its cast is called with convert = false. */
array array_of(nb::handle object, const char *name, bool writable) {
    array out;
    if (!nb::ndarray_check(object)) {
        if (nb::hasattr(object, "__cuda_array_interface__"))
            return array_of_cuda(object, name, writable);
        throw nb::type_error(("`" + std::string(name) + "` has the type " +
                              nb::cast<std::string>(object.type().attr("__name__")) +
                              "; expected an array (NumPy, DLPack or __cuda_array_interface__)")
                                 .c_str());
    }
    nb::ndarray<nb::ro> view;
    try {
        view = nb::cast<nb::ndarray<nb::ro>>(object, false);
        if (writable) (void)nb::cast<nb::ndarray<>>(object, false);
    } catch (nb::cast_error &) {
        throw nb::value_error(("`" + std::string(name) +
                               (view.is_valid() ? "` is read-only; pass a writable array"
                                                : "` is not an array that can be read"))
                                  .c_str());
    }
    out.owner = nb::cast(view, nb::rv_policy::reference);
    out.owner = nb::borrow(object);
    out.data = (void *)(uintptr_t)view.data();
    out.dtype = dtype_name(view.dtype());
    out.item_bytes = (int)view.itemsize();
    out.device = view.device_type() != nb::device::cpu::value;
    for (size_t axis = 0; axis < view.ndim(); ++axis) {
        out.shape.push_back((int64_t)view.shape(axis));
        out.strides.push_back(view.stride(axis));
    }
    return out;
}

static bool is_among(const std::string &dtype, const char *dtypes) {
    for (const char *at = dtypes; *at;) {
        const size_t length = strcspn(at, "|");
        if (dtype.size() == length && dtype.compare(0, length, at, length) == 0) return true;
        at += length + (at[length] == '|');
    }
    return false;
}

void *array_data(nb::handle object, const char *name, const char *dtypes, uint64_t size,
                 bool writable, array *keep) {
    if (object.is_none()) return nullptr;
    *keep = array_of(object, name, writable);
    const std::string called = "`" + std::string(name) + "`";
    if (!is_among(keep->dtype, dtypes))
        throw nb::type_error(
            (called + " is an array of " + keep->dtype + "; expected " + dtypes).c_str());
    if (keep->size() != size)
        throw nb::value_error((called + " has " + std::to_string(keep->size()) +
                               " elements; expected " + std::to_string(size))
                                  .c_str());
    if (!keep->contiguous())
        throw nb::value_error(
            (called + " is not C-contiguous; pass numpy.ascontiguousarray(...) of it").c_str());
    return keep->data;
}

/* Returns the name of the exception class in kandela.errors for a status. */
static const char *class_of(kd_status status) {
    switch (status) {
    case KD_ERROR_USAGE: return "UsageError";
    case KD_ERROR_INPUT: return "InputError";
    case KD_ERROR_MEMORY: return "OutOfMemory";
    case KD_ERROR_DEVICE: return "DeviceError";
    case KD_ERROR_CHECK: return "CheckError";
    case KD_INTERRUPTED: return "Interrupted";
    case KD_OK:
    case KD_ERROR_RUNTIME: break;
    }
    return "RunError";
}

void check_said(kd_status status, const char *message) {
    if (status == KD_OK) return;
    check_signals();
    nb::object kind = nb::module_::import_("kandela.errors").attr(class_of(status));
    PyErr_SetString(kind.ptr(), message);
    throw nb::python_error();
}

void check(kd_status status) {
    check_said(status, kd_last_error());
}

void check_signals() {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}
