/* Messages about light that is missing from a picture. */
#ifndef KD_RENDER_API_OMISSIONS_H
#define KD_RENDER_API_OMISSIONS_H
#include "render/frame/integrator.h"
#include "scenes/assembly/scene.h"

/* What the materials and lights of a scene contain. */
typedef struct scene_traits {
    bool mirrors;  /* something reflects light in a single direction */
    bool glass;    /* something refracts light in a single direction */
    bool receives; /* something scatters light diffusely */
    bool glossy;   /* metal or glass scatters light around a direction */
    bool points;   /* some light has no size */
    bool tiny;     /* some lamp is almost a point */
    bool small;    /* some other light is small */
    bool broad;    /* all light comes from an even sky or from lamps that are large */
} scene_traits;

scene_traits scene_traits_of(const scene_view *scene);
/* Returns true if some triangle is glass, a mirror, or metal that is smooth or nearly so. */
bool scene_has_lenses(const scene_view *scene);
/* Returns false if these and polished surfaces cast so little light on other surfaces, or lamps so
   large, that it does not make a path-traced picture noisy; `lenses` (scene_has_lenses) if that is
   too hard to tell. */
bool scene_lenses_matter(const scene_view *scene, bool lenses);
/* Returns true if so little light reaches what the camera sees, through openings, that vcm guides
   paths through them. False for large scenes. */
bool scene_light_is_hidden(const scene *scene, const kd_render_options *options);
/* Returns true if the material reflects or refracts some light in a single direction. */
bool material_is_smooth(const material *made, const principled *layers);

/* Logs one line for each kind of light that the scene has and the integrator cannot show
   (integrator.omits), and for a lamp that faces away from the scene and from the camera. */
kd_status omissions_report(const scene_view *scene, const frame *frame);

/* Logs a warning if the limits of the path length cut more than 0.5 % of the emitted power (of
   photons), or more than 1 % of the light of the part `crop` of the picture (integrators with
   a depth_probe); to be called while the scene has its trees. May return KD_ERROR_MEMORY. */
kd_status omissions_report_cut(const frame *frame, const int32_t crop[4]);

#endif
