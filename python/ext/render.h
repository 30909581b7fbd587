/* Python objects for scenes and rendering options, and long calls with progress. */
#ifndef PYTHON_RENDER_H
#define PYTHON_RENDER_H
#include "python/ext/gate.h"
#include <functional>
#include <kandela/render.h>

/* kd_render_options, and the string that its photon_map points to if that was set from Python. */
struct render_options {
    kd_render_options c;
    std::string photon_map;
    render_options() { kd_render_options_default(&c); }
    render_options(const render_options &options) { *this = options; }
    render_options &operator=(const render_options &options) {
        const bool is_owned = options.c.photon_map == options.photon_map.c_str();
        c = options.c;
        photon_map = options.photon_map;
        if (is_owned) c.photon_map = photon_map.c_str();
        return *this;
    }
};

/* kd_scene; freed after it is closed and no call uses it. `door` admits one rendering at a time. */
struct scene_handle : closable<kd_scene, kd_scene_close> {
    using closable::closable;
    mutable gate door;
};

/* Exclusive use of a scene for the lifetime of the object. */
struct scene_use {
    std::shared_ptr<kd_scene> c;
    const gate *door;
    std::shared_ptr<void> entered;
    explicit scene_use(const scene_handle &handle)
        : c(handle.use("scene")), door(&handle.door), entered(handle.door.enter(true, "scene")) {}
};

/* Returns a capsule by which an array keeps a library object alive. */
template <typename c_type> nb::capsule kept(const std::shared_ptr<c_type> &used) {
    return nb::capsule(new std::shared_ptr<c_type>(used),
                       [](void *pointer) noexcept { delete (std::shared_ptr<c_type> *)pointer; });
}

/* Runs work(on_progress, by), which passes both to the library as progress callback and context, in
   a worker thread. The calling thread polls for Ctrl-C and calls progress(stage, done, total); a
   true result cancels the work. Returns KD_OK or KD_INTERRUPTED; other statuses are raised. If
   Ctrl-C or the callback raised, the exception is rethrown after clean(). */
kd_status watch(const std::function<kd_status(kd_progress on_progress, void *by)> &work,
                nb::object progress, const std::function<void()> &clean);

void bind_photons(nb::module_ &module);

#endif
