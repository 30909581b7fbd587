/* The BSDF of a surface: evaluation, density and sampling for each material kind. Directions are
   unit vectors that point away from the surface: `wo` to where the path comes from (the camera, or
   the light for photons), `wi` to where it continues. Values are in 1/sr without the cosine, which
   is |dot(wi, normal)|.
   BSDF_RADIANCE transports radiance, against the direction of light (camera paths): light that
   crosses into another medium is scaled by the squared ratio of the indices. BSDF_FLUX transports
   flux (photons): it is not scaled. Where shading and geometric normal differ, a surface depends on
   the direction to the camera, from which its normal is bent and which may lie below the shading
   normal. There flux is defined by radiance: of what arrives from wo, the part towards wi is what
   the surface as seen from wi reflects of wo's light (Veach 1997, sections 5.2 and 5.3). */
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
    glass_side glass; /* glass only */
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

/* Returns true if light from wi, whose local direction is `local`, crosses the surface to the side
   of wo. Flux arrives at the triangles: there their plane decides for all surfaces. */
KD_FN bool bsdf_crosses(const surface *at, const bsdf_frame *base, vec3 wi, vec3 local,
                        bsdf_mode mode) {
    if (mode == BSDF_RADIANCE && at->smooth_height > 0) return local.z < 0;
    return vec3_dot(wi, at->geometric) * base->side < 0;
}

/* A pair of directions at a surface, with what evaluation and density both need. */
typedef struct bsdf_pair {
    bsdf_frame base;
    vec3 wi;
    bool crosses;         /* light from wi crosses the surface to the side of wo */
    opaque_layers layers; /* of opaque surfaces, if wi.z > 0 */
    principled_side side; /* of principled surfaces */
} bsdf_pair;

/* For the shading normal of `at`, as the following functions. */
KD_FN void bsdf_pair_make(bsdf_pair *pair, const surface *at, vec3 wo, vec3 wi, bsdf_mode mode) {
    pair->base = bsdf_frame_at(at, wo);
    pair->wi = frame3_to_local(&pair->base.axes, wi);
    pair->crosses = bsdf_crosses(at, &pair->base, wi, pair->wi, mode);
    if (at->kind == MATERIAL_PRINCIPLED)
        pair->side = bsdf_principled(at, &pair->base);
    else if (at->kind != MATERIAL_GLASS && pair->wi.z > 0)
        pair->layers = opaque_layers_of(at, pair->base.wo);
}

KD_FN vec3 bsdf_pair_evaluate(const bsdf_pair *pair, const surface *at, bsdf_mode mode) {
    const vec3 wo = pair->base.wo, wi = pair->wi;
    /* The geometric normal decides on which side of the surface the light is; the shading normal
       only affects its amount. */
    if (pair->crosses != (wi.z < 0)) return vec3_all(0);
    if (at->kind == MATERIAL_GLASS)
        return at->alpha > 0 ? glass_evaluate(&pair->base.glass, wo, wi, mode) : vec3_all(0);
    if (at->kind == MATERIAL_PRINCIPLED) return principled_evaluate(&pair->side, wi, mode);
    return !pair->crosses && wi.z > 0 ? opaque_evaluate(at, &pair->layers, wo, wi) : vec3_all(0);
}

KD_FN float bsdf_pair_pdf(const bsdf_pair *pair, const surface *at) {
    const vec3 wo = pair->base.wo, wi = pair->wi;
    if (at->kind == MATERIAL_GLASS) return at->alpha > 0 ? glass_pdf(&pair->base.glass, wo, wi) : 0;
    if (at->kind == MATERIAL_PRINCIPLED) return principled_pdf(&pair->side, wi);
    return wi.z > 0 ? opaque_pdf(at, &pair->layers, wo, wi) : 0;
}

/* bsdf_evaluate for the shading normal of `at`. */
KD_FN vec3 bsdf_evaluate_at(const surface *at, vec3 wo, vec3 wi, bsdf_mode mode) {
    bsdf_pair pair;
    bsdf_pair_make(&pair, at, wo, wi, mode);
    return bsdf_pair_evaluate(&pair, at, mode);
}

/* Returns the density (1/sr) with which bsdf_draw samples wi in BSDF_RADIANCE mode, delta
   distributions excluded. */
KD_FN float bsdf_pdf(const surface *at, vec3 wo, vec3 wi) {
    bsdf_pair pair;
    bsdf_pair_make(&pair, at, wo, wi, BSDF_RADIANCE);
    return bsdf_pair_pdf(&pair, at);
}

/* Samples in the shading frame. */
KD_FN lobe_sample bsdf_draw_lobe(const surface *at, const bsdf_frame *base, rng_block random,
                                 bsdf_mode mode) {
    if (at->kind == MATERIAL_GLASS) return glass_draw(&base->glass, base->wo, mode, random);
    if (at->kind != MATERIAL_PRINCIPLED) return opaque_draw(at, base->wo, random);
    const principled_side side = bsdf_principled(at, base);
    return principled_draw(&side, mode, random);
}

/* Samples the BSDF of the surface with the shading normal of `at`. */
KD_FN bsdf_sample bsdf_draw_at(const surface *at, vec3 wo, rng_block random, bsdf_mode mode) {
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
    return sample;
}

/* --- flux at surfaces whose shading normal differs from the geometric one --- */

/* Probability with which flux is sampled by the cosine about the geometric normal: the lobes about
   the shading normal do not reach all directions above the surface. */
#define BSDF_EVEN_ODDS 0.25f
KD_FN float bsdf_even_odds(const surface *at) {
    if (!surface_is_tilted(at) || surface_is_specular(at)) return 0;
    if (at->kind == MATERIAL_DIFFUSE) return 1;
    const float cosine = vec3_dot(at->mapped, at->geometric);
    return BSDF_EVEN_ODDS * sqrtf(float_max(0, 1 - cosine * cosine));
}

/* Returns the density of such samples, 1/sr. */
KD_FN float bsdf_even_pdf(const surface *at, vec3 wo, vec3 wi) {
    const float cosine = vec3_dot(wi, at->geometric);
    if (surface_is_clear(at)) return fabsf(cosine) * (0.5f / KD_PI);
    return cosine * vec3_dot(wo, at->geometric) > 0 ? fabsf(cosine) / KD_PI : 0;
}

/* bsdf_flux of a tilted surface. */
KD_FN vec3 bsdf_flux_tilted(const surface *at, vec3 wo, vec3 wi) {
    const float arrives = vec3_dot(wo, at->geometric), leaves = vec3_dot(wi, at->geometric);
    surface seen = *at;
    surface_turn(&seen, wi);
    if (arrives == 0 || (at->smooth_height > 0 && arrives * leaves <= 0)) return vec3_all(0);
    const vec3 value = bsdf_evaluate_at(&seen, wi, wo, BSDF_RADIANCE);
    return vec3_scale(value, fabsf(vec3_dot(wo, seen.normal) * leaves / arrives));
}

/* Returns what is scattered towards wi (1/sr) per flux from wo: f |cos|, all lobes that are not
   delta distributions. */
KD_FN_NOINLINE vec3 bsdf_flux(const surface *at, vec3 wo, vec3 wi) {
    if (surface_is_tilted(at)) return bsdf_flux_tilted(at, wo, wi);
    const float leaves = vec3_dot(wi, at->geometric);
    return vec3_scale(bsdf_evaluate_at(at, wi, wo, BSDF_RADIANCE), fabsf(leaves));
}

/* Returns the density (1/sr) with which bsdf_draw samples wi in BSDF_FLUX mode. */
KD_FN_NOINLINE float bsdf_flux_pdf(const surface *at, vec3 wo, vec3 wi) {
    const float even = bsdf_even_odds(at);
    float pdf = 0;
    if (even > 0) pdf = even * bsdf_even_pdf(at, wo, wi);
    if (even < 1) pdf += (1 - even) * bsdf_pdf(at, wo, wi);
    return pdf;
}

KD_FN vec3 bsdf_draw_even(const surface *at, vec3 wo, float u, float v, float side) {
    float sign = vec3_dot(wo, at->geometric) < 0 ? -1.0f : 1.0f;
    if (surface_is_clear(at) && side < 0.5f) sign = -sign;
    const frame3 axes = frame3_around(vec3_scale(at->geometric, sign));
    return frame3_to_world(&axes, sample_cosine_hemisphere(u, v));
}

KD_FN bool bsdf_transmits(const surface *at, vec3 wo, vec3 wi) {
    return vec3_dot(wi, at->geometric) * vec3_dot(wo, at->geometric) < 0;
}

/* Corrects the weight of a sample of a delta distribution for the tilt: Veach 1997, eq. 5.19. */
KD_FN void bsdf_tilt_specular(const surface *at, vec3 wo, float even, bsdf_sample *sample) {
    const float above = vec3_dot(wo, at->normal) * vec3_dot(sample->direction, at->geometric);
    const float below = vec3_dot(wo, at->geometric) * vec3_dot(sample->direction, at->normal);
    const float share = below != 0 ? fabsf(above / below) / (1 - even) : 0;
    sample->weight = vec3_scale(sample->weight, share);
}

/* Samples the flux of a tilted surface. */
KD_FN_NOINLINE bsdf_sample bsdf_draw_flux(const surface *at, vec3 wo, rng_block random) {
    const float even = bsdf_even_odds(at), lot = random.value[2];
    bsdf_sample sample;
    if (lot < even) {
        sample.direction = bsdf_draw_even(at, wo, random.value[0], random.value[1], lot / even);
        sample.specular = false;
    } else {
        random.value[2] = float_min((lot - even) / (1 - even), 0x1.fffffep-1f);
        sample = bsdf_draw_at(at, wo, random, BSDF_FLUX);
        if (sample.specular) {
            bsdf_tilt_specular(at, wo, even, &sample);
            return sample;
        }
        if (!(sample.pdf > 0)) return sample; /* absorbed */
    }
    sample.transmitted = bsdf_transmits(at, wo, sample.direction);
    sample.pdf = bsdf_flux_pdf(at, wo, sample.direction);
    sample.weight = vec3_all(0);
    if (sample.pdf > 0)
        sample.weight = vec3_scale(bsdf_flux(at, wo, sample.direction), 1 / sample.pdf);
    return sample;
}

/* bsdf_draw_flux of a diffuse surface: all samples are drawn about the geometric normal. */
KD_FN bsdf_sample bsdf_draw_flux_diffuse(const surface *at, vec3 wo, rng_block random) {
    bsdf_sample sample;
    sample.direction = bsdf_draw_even(at, wo, random.value[0], random.value[1], random.value[2]);
    sample.specular = false;
    sample.transmitted = bsdf_transmits(at, wo, sample.direction);
    sample.pdf = bsdf_even_pdf(at, wo, sample.direction);
    sample.weight = vec3_all(0);
    if (sample.pdf > 0)
        sample.weight = vec3_scale(bsdf_flux_tilted(at, wo, sample.direction), 1 / sample.pdf);
    return sample;
}

/* --- the BSDF --- */

/* Returns f(wo, wi) of all lobes that are not delta distributions, in 1/sr. */
KD_FN vec3 bsdf_evaluate(const surface *at, vec3 wo, vec3 wi, bsdf_mode mode) {
    if (mode == BSDF_RADIANCE || !surface_is_tilted(at)) return bsdf_evaluate_at(at, wo, wi, mode);
    const float cosine = fabsf(vec3_dot(wi, at->normal));
    return cosine > 0 ? vec3_scale(bsdf_flux(at, wo, wi), 1 / cosine) : vec3_all(0);
}

/* Samples the BSDF. Uses random.value[0..2]; [3] is for the caller (roulette, opacity). */
KD_FN bsdf_sample bsdf_draw(const surface *at, vec3 wo, rng_block random, bsdf_mode mode) {
    if (mode == BSDF_RADIANCE || !surface_is_tilted(at)) return bsdf_draw_at(at, wo, random, mode);
    return bsdf_draw_flux(at, wo, random);
}

/* bsdf_draw with BSDF_FLUX. `kind`: as for surface_of_hit. A surface whose address a called
   function gets is kept in memory by kernels, so this function calls none for the kinds diffuse,
   mirror and smooth glass. */
KD_FN bsdf_sample bsdf_draw_flux_kind(const surface *at, int32_t kind, vec3 wo, rng_block random) {
    const bool tilted = surface_is_tilted(at);
    if (kind != MATERIAL_DIFFUSE && kind != MATERIAL_MIRROR && kind != MATERIAL_GLASS)
        return bsdf_draw(at, wo, random, BSDF_FLUX);
    if (kind == MATERIAL_DIFFUSE && tilted) return bsdf_draw_flux_diffuse(at, wo, random);
    if (kind == MATERIAL_GLASS && tilted && at->alpha > 0) {
        const surface copy = *at;
        return bsdf_draw_flux(&copy, wo, random);
    }
    bsdf_sample sample = bsdf_draw_at(at, wo, random, BSDF_FLUX);
    if (tilted && sample.specular) bsdf_tilt_specular(at, wo, 0, &sample);
    return sample;
}

#endif
