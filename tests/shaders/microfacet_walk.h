/* Reference: random walks of light among the facets of a rough boundary, facet by facet.
   Source: Heitz, Hanika, d'Eon and Dachsbacher 2016, "Multiple-scattering microfacet BSDFs with the Smith model" (heights uniform in [-1, 1], sections 4 and 5).
   Differs: without weights, light is reflected or refracted as a whole; a walk inside glass is the same walk upside down. */
#ifndef KD_TESTS_SHADERS_MICROFACET_WALK_H
#define KD_TESTS_SHADERS_MICROFACET_WALK_H
#include "core/math/rng.h"
#include "shaders/microfacet.h"

typedef struct microfacet_walk {
    int facets;     /* number of facets hit */
    bool across;    /* true if the walk ended beyond the boundary */
    vec3 direction; /* direction of departure; z is up on the side where the walk began */
    vec3 weight;    /* product of a metal's reflectances */
} microfacet_walk;

typedef struct walk_numbers {
    rng_key key;
    uint32_t drawn;
    rng_block block;
} walk_numbers;

static float walk_next(walk_numbers *numbers) {
    if (numbers->drawn % 4 == 0) numbers->block = rng_draw(numbers->key, numbers->drawn / 4, 0);
    return numbers->block.value[numbers->drawn++ % 4];
}

/* Computes the height at which light in `direction` from `height` hits a facet; returns false if it
   leaves. */
static bool walk_intersects(float alpha, vec3 direction, float *height, float u) {
    const double below = ((double)*height + 1) / 2;
    const double lambda = (double)ggx_lambda(alpha, direction.z); /* of |z| */
    double to = 0;
    if (direction.z > 0) {
        const double free = lambda < 1e9 ? pow(below, lambda) : 0;
        if ((double)u >= 1 - free) return false;
        to = lambda > 0 ? below / pow(1 - (double)u, 1 / lambda) : below;
    } else {
        to = below * pow(1 - (double)u, 1 / (1 + lambda));
    }
    *height = (float)(2 * (to < 1 ? to : 1) - 1);
    return true;
}

/* Runs one walk. `eta` is the index behind the boundary over the index in front of it, or 0 for a
   metal of the given normal reflectance. */
static microfacet_walk microfacet_walk_run(float alpha, float eta, vec3 reflectance, vec3 wo,
                                           walk_numbers *numbers) {
    microfacet_walk made = {0, false, vec3_make(0, 0, 1), vec3_all(1)};
    vec3 going = vec3_negate(wo);
    float height = 1;
    while (made.facets < 1000) {
        if (!walk_intersects(alpha, going, &height, walk_next(numbers))) break;
        made.facets += 1;
        const float u = walk_next(numbers), v = walk_next(numbers);
        const vec3 back = vec3_negate(going);
        const vec3 m = ggx_draw_visible(alpha, back, u, v);
        const float cosine = float_clamp(vec3_dot(back, m), 0, 1);
        const float choice = walk_next(numbers);
        if (!(eta > 0)) {
            made.weight = vec3_mul(made.weight, fresnel_schlick(reflectance, cosine));
        } else if (choice >= fresnel_dielectric(cosine, eta) &&
                   fresnel_refract(back, m, eta, &going)) {
            going = vec3_negate(going); /* continues on the other side, turned upside down */
            height = -height;
            eta = 1 / eta;
            made.across = !made.across;
            continue;
        }
        going = vec3_normalize(fresnel_reflect(back, m));
    }
    made.direction = made.across ? vec3_negate(going) : going;
    return made;
}

#endif
