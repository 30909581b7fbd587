/* The extension module kandela._c: the functions of the C library under their own names. The public
   Python interface is in python/kandela. */
#include "python/ext/gate.h"
#include <kandela/version.h>

NB_MODULE(_c, module) {
#ifdef NDEBUG
    /* a thread that still runs when the interpreter ends holds objects, which are no leak */
    nanobind::set_leak_warnings(false);
#endif
    module.doc() = "The C library's functions by their own names";
    module.def(
        "kd_version", [] { return kd_version(); }, "The library's version.");
    bind_gate(module);
    bind_points(module);
    bind_points_query(module);
    bind_triangles(module);
    bind_render(module);
}
