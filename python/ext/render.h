/* Scenes and options as objects of Python, and work that is watched. */
#ifndef PYTHON_RENDER_H
#define PYTHON_RENDER_H
#include "python/ext/bind.h"
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

struct scene_handle {
    kd_scene *c;
    explicit scene_handle(kd_scene *scene) : c(scene) {}
    scene_handle(const scene_handle &) = delete;
    scene_handle &operator=(const scene_handle &) = delete;
    ~scene_handle() { close(); }
    void close() {
        kd_scene_close(c);
        c = nullptr;
    }
};

/* Runs work(hear, by), which passes both on to the library, in a thread of its own; the caller's
   thread waits, hears Ctrl-C and calls progress(stage, done, total), whose True ends the work.
   KD_OK or KD_INTERRUPTED; all else is raised, after clean(). */
kd_status watch(const std::function<kd_status(kd_progress hear, void *by)> &work,
                nb::object progress, const std::function<void()> &clean);

void bind_photons(nb::module_ &module);

#endif
