/* Scenes and options as objects of Python, and work that is watched. */
#ifndef PYTHON_RENDER_H
#define PYTHON_RENDER_H
#include "python/ext/gate.h"
#include <functional>
#include <kandela/render.h>

/* kd_render_options, and the text that its photon_map points to if it was set here. */
struct render_options {
    kd_render_options c;
    std::string photon_map;
    render_options() { kd_render_options_default(&c); }
    render_options(const render_options &from) { *this = from; }
    render_options &operator=(const render_options &from) {
        const bool own = from.c.photon_map == from.photon_map.c_str();
        c = from.c;
        photon_map = from.photon_map;
        if (own) c.photon_map = photon_map.c_str();
        return *this;
    }
};

/* kd_scene, closed with the object or before, when what uses it is over. It is rendered by one
   thread at a time. */
struct scene_handle : closable<kd_scene, kd_scene_close> {
    using closable::closable;
    mutable gate door;
};

struct scene_use {
    std::shared_ptr<kd_scene> c;
    const gate *door;
    std::shared_ptr<void> entered;
    explicit scene_use(const scene_handle &of)
        : c(of.use("scene")), door(&of.door), entered(of.door.enter(true, "scene")) {}
};

/* What an array keeps alive. */
template <typename c_type> nb::capsule kept(const std::shared_ptr<c_type> &used) {
    return nb::capsule(new std::shared_ptr<c_type>(used),
                       [](void *of) noexcept { delete (std::shared_ptr<c_type> *)of; });
}

/* Runs work(hear, by), which passes both on to the library, in a thread of its own; the caller's
   thread waits, hears Ctrl-C and calls progress(stage, done, total), whose True ends the work.
   KD_OK or KD_INTERRUPTED; all else is raised, after clean(). */
kd_status watch(const std::function<kd_status(kd_progress hear, void *by)> &work,
                nb::object progress, const std::function<void()> &clean);

void bind_photons(nb::module_ &module);

#endif
