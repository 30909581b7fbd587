/* Guiding of light paths and eye paths through openings between the light and what the camera sees.
   Idea: where light reaches the camera's room through a gap only, hardly any scattered direction
         leads through it. At diffuse surfaces a share of the directions is sampled towards the
         opening, an axis-aligned box: light paths from behind it, eye paths from before it. The
         rest is sampled by the BSDF; the density is that of the mixture, a pure function of the
         vertex, as vcm_weights.h requires. vcm_guide.c finds the boxes.
   Share: a path should leave the room with the probability that roulette would end it, 1 - albedo;
          then the weight of a path that stays is about 1 at each vertex, and needs no roulette.
   With a share of one half at an albedo of 3/4 the variance would grow by 3/2 with each vertex.
   Density of a uniform point in a box of volume V per solid angle: the integral of t^2 / V along
   the ray in the box. */
#ifndef KD_RENDER_INTEGRATORS_VCM_GUIDE_H
#define KD_RENDER_INTEGRATORS_VCM_GUIDE_H
#include "core/math/rng.h"
#include "shaders/bsdf.h"

enum { GUIDE_OPENINGS = 4 };

typedef enum guide_way { GUIDE_LIGHT, GUIDE_EYE } guide_way;

typedef struct guide_opening {
    box3 box;
    vec3 through; /* unit: the mean direction of light */
} guide_opening;

typedef struct vcm_guide {
    guide_opening openings[GUIDE_OPENINGS];
    uint32_t count; /* 0: paths are not guided */
} vcm_guide;

/* Returns the density (1/sr) of directions from `place` to uniform points in the box. */
KD_FN float guide_box_pdf(const box3 *box, vec3 place, vec3 direction) {
    const vec3 size = box3_size(*box);
    float begin = 0, end = INFINITY;
    for (int i = 0; i < 3; ++i) {
        const float from = vec3_axis(place, i), along = vec3_axis(direction, i);
        const float lo = vec3_axis(box->lo, i) - from, hi = vec3_axis(box->hi, i) - from;
        if (along == 0) {
            if (lo > 0 || hi < 0) return 0;
            continue;
        }
        const float a = lo / along, b = hi / along;
        begin = float_max(begin, float_min(a, b));
        end = float_min(end, float_max(a, b));
    }
    if (!(end > begin)) return 0;
    return (end - begin) * (end * end + end * begin + begin * begin) /
           (3 * size.x * size.y * size.z);
}

/* As guide_ahead, at a place on a surface that guides paths. The functions that few scenes need are
   called, so that kernels stay small. */
KD_FN_NOINLINE uint32_t guide_ahead_of(const vcm_guide *guide, guide_way way, vec3 place,
                                       vec3 normal, vec3 from) {
    uint32_t ahead = 0;
    const float side = vec3_dot(from, normal) < 0 ? -1.0f : 1.0f;
    for (uint32_t i = 0; i < guide->count; ++i) {
        const guide_opening *opening = &guide->openings[i];
        const vec3 to = vec3_sub(box3_centre(opening->box), place);
        const float distance = vec3_length(to), along = vec3_dot(to, opening->through);
        if ((way == GUIDE_EYE ? -along : along) > 0.1f * distance &&
            side * vec3_dot(to, normal) > 0.02f * distance)
            ahead |= 1u << i;
    }
    return ahead;
}

/* Returns a bit for each opening towards which paths of that kind are guided at the surface when
   they come from `from`: those ahead of it, and above its plane. */
KD_FN uint32_t guide_ahead(const vcm_guide *guide, guide_way way, const surface *at, vec3 from) {
    if (guide->count == 0 || !surface_holds_photons(at) || surface_mirrors(at)) return 0;
    return guide_ahead_of(guide, way, at->position, at->geometric, from);
}

/* Share of the directions that are guided. */
KD_FN float guide_share(const surface *at) {
    return float_clamp(1 - vec3_largest(at->diffuse), 0.1f, 0.5f);
}

KD_FN_NOINLINE float guide_mixed_at(const vcm_guide *guide, uint32_t ahead, vec3 place, float share,
                                    vec3 to, float pdf) {
    float sum = 0, count = 0;
    for (uint32_t i = 0; i < guide->count; ++i)
        if (ahead >> i & 1) {
            count += 1;
            sum += guide_box_pdf(&guide->openings[i].box, place, to);
        }
    return count > 0 ? (1 - share) * pdf + share * sum / count : pdf;
}

/* Density of the mixture; `pdf`: of the BSDF. */
KD_FN float guide_mixed(const vcm_guide *guide, uint32_t ahead, const surface *at, vec3 to,
                        float pdf) {
    return guide_mixed_at(guide, ahead, at->position, guide_share(at), to, pdf);
}

/* Density of sampling `to` at a surface when coming from `from`; `pdf`: of the BSDF. */
KD_FN float guide_pdf(const vcm_guide *guide, guide_way way, const surface *at, vec3 from, vec3 to,
                      float pdf) {
    const uint32_t ahead = guide_ahead(guide, way, at, from);
    return ahead ? guide_mixed(guide, ahead, at, to, pdf) : pdf;
}

/* Returns a uniform point in one of the openings `ahead`; `u` in [0, 1) selects it. */
KD_FN vec3 guide_point(const vcm_guide *guide, uint32_t ahead, float u, rng_block random) {
    uint32_t count = 0, which = 0;
    for (uint32_t i = 0; i < guide->count; ++i) count += ahead >> i & 1;
    uint32_t rest = (uint32_t)(u * (float)count);
    if (rest >= count) rest = count - 1;
    for (; which + 1 < guide->count; ++which)
        if (ahead >> which & 1 && rest-- == 0) break;
    const box3 *box = &guide->openings[which].box;
    const vec3 size = box3_size(*box);
    return vec3_make(box->lo.x + size.x * random.value[1], box->lo.y + size.y * random.value[2],
                     box->lo.z + size.z * random.value[3]);
}

/* Replaces a direction that the BSDF has sampled by one through an opening, with the probability of
   the share, and sets weight and density to those of the mixture. Returns true if it is replaced.
 */
KD_FN_NOINLINE bool guide_draw(const vcm_guide *guide, guide_way way, const surface *at, vec3 wo,
                               rng_block random, bsdf_sample *drawn) {
    const uint32_t ahead = guide_ahead(guide, way, at, wo);
    if (!ahead) return false;
    const float u = random.value[0] / guide_share(at);
    if (!(u < 1)) {
        const float mixed = guide_mixed(guide, ahead, at, drawn->direction, drawn->pdf);
        if (mixed > 0) drawn->weight = vec3_scale(drawn->weight, drawn->pdf / mixed);
        drawn->pdf = mixed;
        return false;
    }
    const vec3 point = guide_point(guide, ahead, u, random);
    const vec3 wi = vec3_normalize(vec3_sub(point, at->position));
    vec3 value = vec3_all(0);
    float pdf;
    if (way == GUIDE_EYE) {
        pdf = bsdf_pdf(at, wo, wi);
        value =
            vec3_scale(bsdf_evaluate(at, wo, wi, BSDF_RADIANCE), fabsf(vec3_dot(wi, at->normal)));
    } else {
        pdf = bsdf_flux_pdf(at, wo, wi);
        if (vec3_dot(wi, at->geometric) * vec3_dot(wo, at->geometric) > 0)
            value = bsdf_flux(at, wo, wi);
    }
    drawn->direction = wi;
    drawn->pdf = guide_mixed(guide, ahead, at, wi, pdf);
    drawn->weight = drawn->pdf > 0 ? vec3_scale(value, 1 / drawn->pdf) : vec3_all(0);
    drawn->specular = drawn->transmitted = false;
    return true;
}

#endif
