/* The extension module kandela._c: the functions of the C library under their own names. The public
   Python interface is in python/kandela. */
#include "python/ext/gate.h"
#include <kandela/machine.h>
#include <kandela/points.h>
#include <kandela/triangles.h>
#include <kandela/version.h>

static void bind_machine(nb::module_ &m) {
    m.def("kd_threads_set", kd_threads_set, nb::arg("threads"), "Threads of the process; 0: all.");
    m.def("kd_threads", kd_threads, "Threads of the process.");
    m.def("kd_device_count", kd_device_count, "Devices; 0 is the CPU.");
    m.def(
        "kd_device_id", [](uint32_t index) { return kd_device_id(index); }, nb::arg("index"),
        "cpu or cuda:N.");
    m.def(
        "kd_device_name", [](uint32_t index) { return kd_device_name(index); }, nb::arg("index"),
        "The device's name.");
    m.def("kd_device_bytes", kd_device_bytes, nb::arg("index"), "Bytes of memory.");
    m.def(
        "kd_points_builders", [] { return kd_points_builders(); }, "Names, separated by spaces.");
    m.def(
        "kd_triangles_builders", [] { return kd_triangles_builders(); },
        "Names, separated by spaces.");
}

NB_MODULE(_c, module) {
#ifdef NDEBUG
    /* a thread that still runs when the interpreter ends holds objects, which are no leak */
    nanobind::set_leak_warnings(false);
#endif
    module.doc() = "The C library's functions by their own names";
    module.def(
        "kd_version", [] { return kd_version(); }, "The library's version.");
    bind_gate(module);
    bind_machine(module);
    bind_points(module);
    bind_points_query(module);
    bind_triangles(module);
    bind_ray_scenes(module);
    bind_render(module);
    bind_clouds(module);
    bind_xla(module);
}
