/* The BSDF of a surface: evaluation, density and sampling for each material kind. Directions are
   unit vectors that point away from the surface: `wo` to where the path comes from (the camera, or
   the light for photons), `wi` to where it continues. Values are in 1/sr without the cosine, which
   is |dot(wi, normal)|.
   BSDF_RADIANCE transports radiance, against the direction of light (camera paths): light that
   crosses into another medium is scaled by the squared ratio of the indices. BSDF_FLUX transports
   flux (photons): it is not scaled, but corrected for the asymmetry of shading normals, so that
   both modes render the same scene (Veach 1997, sections 5.2 and 5.3). */
#ifndef KD_SHADERS_BSDF_H
#define KD_SHADERS_BSDF_H
#include "shaders/bsdf_principled.h"

typedef struct bsdf_sample {
    vec3 direction; /* unit; undefined if weight is zero */
    vec3 weight;    /* f |cos| / pdf; zero: absorbed */
    float pdf;      /* solid angle, 1/sr; 0 if specular */
    bool specular;  /* delta distribution: light sampling cannot sample it */
    bool transmitted;
} bsdf_sample;

/* Returns true if a principled surface has a lobe that is not a delta distribution. */
KD_FN bool surface_layers_scatter(const surface *at) {
    const surface_layers *layers = &at->layers;
    const float passes = (1 - at->metallic) * layers->transmission;
    if (passes > 0 && at->alpha > 0 && at->ior != 1) return true;
    if (passes >= 1) return false;
    return at->alpha > 0 || (at->metallic < 1 && !vec3_is_zero(at->diffuse)) ||
           !vec3_is_zero(layers->sheen) || (layers->clear > 0 && layers->clear_alpha > 0);
}

/* --- Which surfaces store photons, and which only pass light on ---
   These functions decide it for all methods. A surface stores photons if it has a component that is
   neither mirror, glass nor metal; camera paths look up photons and sample lights there. Paths from
   the camera and from the lights continue through other surfaces. The functions with a material
   argument give bounds for all points of the material. */

/* Returns true if all lobes are delta distributions, so neither light sampling nor photons
   apply. */
KD_FN bool surface_is_specular(const surface *at) {
    switch (at->kind) {
    case MATERIAL_MIRROR: return true;
    case MATERIAL_GLASS:
    case MATERIAL_CONDUCTOR: return at->alpha == 0;
    case MATERIAL_PLASTIC:
        return at->alpha == 0 && (at->metallic >= 1 || vec3_is_zero(at->diffuse));
    case MATERIAL_PRINCIPLED: return !surface_layers_scatter(at);
    default: return false;
    }
}

/* Returns true if photons are stored at this surface. */
KD_FN bool surface_holds_photons(const surface *at) {
    if (at->kind == MATERIAL_DIFFUSE) return true;
    if (at->kind == MATERIAL_PRINCIPLED)
        return !surface_is_clear(at) && (!vec3_is_zero(at->layers.sheen) ||
                                         (at->metallic < 1 && !vec3_is_zero(at->diffuse)));
    return at->kind == MATERIAL_PLASTIC && at->metallic < 1 && !vec3_is_zero(at->diffuse);
}

/* Returns true if a surface that stores photons also has a component that is an ideal mirror. */
KD_FN bool surface_mirrors(const surface *at) {
    if (at->kind == MATERIAL_PRINCIPLED)
        return at->alpha == 0 || (at->layers.clear > 0 && at->layers.clear_alpha == 0);
    return at->kind == MATERIAL_PLASTIC && at->alpha == 0;
}

/* Returns true if photons may be stored at some point of a material; `layers` is its record if it
   is principled. */
KD_FN bool material_holds_photons(const material *made, const principled *layers) {
    if (made->kind == MATERIAL_DIFFUSE) return true;
    const bool mapped = made->metallic_map != KD_NONE;
    const bool ground = (made->metallic < 1 || mapped) && !vec3_is_zero(made->diffuse);
    if (made->kind != MATERIAL_PRINCIPLED) return made->kind == MATERIAL_PLASTIC && ground;
    const bool clear = layers->transmission > 0 && layers->transmission_map == KD_NONE &&
                       made->metallic < 1 && !mapped;
    return !clear && (ground || !vec3_is_zero(layers->sheen));
}

/* Returns true if some point of a material may not store photons, or may have a mirror
   component. */
KD_FN bool material_passes_on(const material *made, const principled *layers) {
    if (made->kind == MATERIAL_DIFFUSE) return false;
    if (made->kind != MATERIAL_PLASTIC && made->kind != MATERIAL_PRINCIPLED) return true;
    const bool smooth = surface_alpha(made->roughness) == 0 || made->roughness_map != KD_NONE;
    if (smooth || made->metallic > 0 || vec3_is_zero(made->diffuse)) return true;
    if (made->kind == MATERIAL_PLASTIC) return made->metallic_map != KD_NONE;
    return (layers->coat > 0 && (surface_alpha(layers->coat_roughness) == 0 ||
                                 layers->coat_roughness_map != KD_NONE)) ||
           (made->flags & MATERIAL_PASSES);
}

/* Returns the colour for albedo images. */
KD_FN vec3 surface_albedo(const surface *at) {
    if (at->kind == MATERIAL_GLASS) return vec3_all(1);
    if (at->kind == MATERIAL_PRINCIPLED && vec3_is_zero(at->diffuse)) return at->specular;
    return at->kind == MATERIAL_MIRROR || at->kind == MATERIAL_CONDUCTOR ? at->specular
                                                                         : at->diffuse;
}

/* Directions in the shading frame on wo's side: wo.z > 0, and wi.z > 0 for reflection. */
typedef struct bsdf_frame {
    frame3 axes;
    vec3 wo;
    float side;       /* +1: wo is on the front */
    glass_side glass; /* for glass */
} bsdf_frame;

KD_FN bsdf_frame bsdf_frame_at(const surface *at, vec3 wo) {
    bsdf_frame made;
    made.side = vec3_dot(wo, at->geometric) < 0 ? -1.0f : 1.0f;
    made.axes = frame3_around(vec3_scale(at->normal, made.side));
    if (at->kind == MATERIAL_PRINCIPLED)
        made.axes = principled_axes(&at->layers, vec3_scale(at->normal, made.side));
    made.wo = frame3_to_local(&made.axes, wo);
    made.glass.alpha = at->alpha;
    made.glass.eta = made.side > 0 ? at->ior : 1 / at->ior;
    made.glass.tint = at->transmission;
    made.glass.spreads = at->alpha > 0 && !at->scatters_once;
    return made;
}

KD_FN principled_side bsdf_principled(const surface *at, const bsdf_frame *base) {
    return principled_side_of(at, &base->axes, base->wo, base->side, &base->glass);
}

/* Veach 1997, eq. 5.19: correction of flux where shading and geometric normal differ. */
KD_FN float bsdf_flux_correction(const surface *at, vec3 wo, vec3 wi) {
    const float above = fabsf(vec3_dot(wo, at->normal) * vec3_dot(wi, at->geometric));
    const float below = fabsf(vec3_dot(wo, at->geometric) * vec3_dot(wi, at->normal));
    return below > 0 ? above / below : 0;
}

/* Returns true if light from wi, whose local direction is `local`, crosses the surface to the side
   of wo. Flux arrives at the triangles: there their plane decides for all surfaces. */
KD_FN bool bsdf_crosses(const surface *at, const bsdf_frame *base, vec3 wi, vec3 local,
                        bsdf_mode mode) {
    if (mode == BSDF_RADIANCE && at->smooth_height > 0) return local.z < 0;
    return vec3_dot(wi, at->geometric) * base->side < 0;
}

/* Returns f(wo, wi) of all lobes that are not delta distributions, in 1/sr. */
KD_FN vec3 bsdf_evaluate(const surface *at, vec3 wo, vec3 wi, bsdf_mode mode) {
    const bsdf_frame base = bsdf_frame_at(at, wo);
    const vec3 local = frame3_to_local(&base.axes, wi);
    const bool crosses = bsdf_crosses(at, &base, wi, local, mode);
    /* The geometric normal decides on which side of the surface the light is; the shading normal
       only affects its amount. */
    if (crosses != (local.z < 0)) return vec3_all(0);
    vec3 value = vec3_all(0);
    if (at->kind == MATERIAL_GLASS) {
        if (at->alpha > 0) value = glass_evaluate(&base.glass, base.wo, local, mode);
    } else if (at->kind == MATERIAL_PRINCIPLED) {
        const principled_side side = bsdf_principled(at, &base);
        value = principled_evaluate(&side, local, mode);
    } else if (!crosses && local.z > 0) {
        value = opaque_evaluate(at, base.wo, local);
    }
    if (mode == BSDF_FLUX) value = vec3_scale(value, bsdf_flux_correction(at, wo, wi));
    return value;
}

/* Returns the density (1/sr) with which bsdf_draw samples wi, delta distributions excluded. */
KD_FN float bsdf_pdf(const surface *at, vec3 wo, vec3 wi) {
    const bsdf_frame base = bsdf_frame_at(at, wo);
    const vec3 local = frame3_to_local(&base.axes, wi);
    if (at->kind == MATERIAL_GLASS)
        return at->alpha > 0 ? glass_pdf(&base.glass, base.wo, local) : 0;
    if (at->kind == MATERIAL_PRINCIPLED) {
        const principled_side side = bsdf_principled(at, &base);
        return principled_pdf(&side, local);
    }
    return local.z > 0 ? opaque_pdf(at, base.wo, local) : 0;
}

/* Samples in the shading frame. */
KD_FN lobe_sample bsdf_draw_lobe(const surface *at, const bsdf_frame *base, rng_block random,
                                 bsdf_mode mode) {
    if (at->kind == MATERIAL_GLASS) return glass_draw(&base->glass, base->wo, mode, random);
    if (at->kind != MATERIAL_PRINCIPLED) return opaque_draw(at, base->wo, random);
    const principled_side side = bsdf_principled(at, base);
    return principled_draw(&side, mode, random);
}

/* Samples the BSDF. Uses random.value[0..2]; [3] is for the caller (roulette, opacity). */
KD_FN bsdf_sample bsdf_draw(const surface *at, vec3 wo, rng_block random, bsdf_mode mode) {
    const bsdf_frame base = bsdf_frame_at(at, wo);
    const lobe_sample drawn = bsdf_draw_lobe(at, &base, random, mode);
    bsdf_sample sample;
    sample.direction = frame3_to_world(&base.axes, drawn.wi);
    sample.weight = drawn.weight;
    sample.pdf = drawn.pdf;
    sample.specular = drawn.specular;
    sample.transmitted = drawn.wi.z < 0;
    const bool crosses = bsdf_crosses(at, &base, sample.direction, drawn.wi, mode);
    if (crosses != sample.transmitted) sample.weight = vec3_all(0);
    if (mode == BSDF_FLUX && !vec3_is_zero(sample.weight))
        sample.weight = vec3_scale(sample.weight, bsdf_flux_correction(at, wo, sample.direction));
    return sample;
}

#endif
