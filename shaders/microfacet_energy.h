/* Energy compensation for rough boundaries: the energy that single scattering lacks, because light
   continues from facet to facet, and a lobe that returns it. Also the total reflectance of a rough
   coat.
   Source: Kulla and Conty 2017, "Revisiting physically based shading at Imageworks": a lobe that is
   a product of what both directions lack. It is reciprocal, and its integral is the missing energy.
   Differs: colours, and transmission through glass, are those of random walks among facets (Heitz
   et al. 2016) instead of mean Fresnel terms, which lose up to 8 % of a rough metal's colour; the
   lobe is sampled approximately in proportion to its shape, so that weights are bounded.
   Work: two to ten lookups in tables of 28 KiB, and 44 KiB more for anisotropic metals
   (microfacet_tables.h). Outside the tables (indices of glass outside [1/3, 3]) the last entry is
   used. */
#ifndef KD_SHADERS_MICROFACET_ENERGY_H
#define KD_SHADERS_MICROFACET_ENERGY_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"
#include "shaders/microfacet.h"
#include "shaders/microfacet_tables.h"

/* --- Metals --- */

/* Returns the fraction of light from `cosine` that a metal of reflectance 1 lacks with single
   scattering. */
KD_FN_NOINLINE float energy_missing(float alpha, float cosine) {
    const energy_place row = energy_row(alpha), at = energy_column(alpha, cosine, ENERGY_COSINES);
    float ends[2];
    for (int i = 0; i < 2; ++i)
        ends[i] = energy_mix(energy_table_missing(row.first + i, at.first),
                             energy_table_missing(row.first + i, at.first + 1), at.rest);
    return energy_mix(ends[0], ends[1], row.rest);
}

/* Returns the mean of energy_missing over the hemisphere, weighted by the cosine. */
KD_FN float energy_missing_mean(float alpha) {
    const energy_place row = energy_row(alpha);
    return alpha * alpha *
           energy_mix(energy_table_metal_mean(row.first, 0),
                      energy_table_metal_mean(row.first + 1, 0), row.rest);
}

/* (c0 + c1 F + c2 F^2 + c3 F^3) / (1 - k F), which is 1 for F = 1: the fraction that a metal of
   normal reflectance F returns of light that hits several facets. k, the mean fraction that
   continues to another facet, is the ratio of a geometric series. */
KD_FN float energy_polynomial(const float c[3], float k, float reflectance) {
    const float c3 = 1 - k - c[0] - c[1] - c[2];
    const float sum = c[0] + reflectance * (c[1] + reflectance * (c[2] + reflectance * c3));
    return float_max(sum, 0) / (1 - k * reflectance);
}

KD_FN vec3 energy_polynomials(const float c[3], float k, vec3 reflectance) {
    return vec3_make(energy_polynomial(c, k, reflectance.x), energy_polynomial(c, k, reflectance.y),
                     energy_polynomial(c, k, reflectance.z));
}

/* Returns the fraction of energy_missing that a metal returns by several facets. */
KD_FN_NOINLINE vec3 energy_metal_share(float alpha, float cosine, float mean, vec3 reflectance) {
    const energy_place row = energy_row(alpha),
                       at = energy_column(alpha, cosine, ENERGY_METAL_COSINES);
    float terms[3];
    for (int c = 0; c < 3; ++c) {
        float ends[2];
        for (int i = 0; i < 2; ++i)
            ends[i] = energy_mix(energy_table_metal(row.first + i, at.first, c),
                                 energy_table_metal(row.first + i, at.first + 1, c), at.rest);
        terms[c] = energy_mix(ends[0], ends[1], row.rest);
    }
    return energy_polynomials(terms, mean, reflectance);
}

/* Mean of energy_metal_share over all directions, weighted by their missing energy. */
KD_FN vec3 energy_metal_share_mean(float alpha, float mean, vec3 reflectance) {
    const energy_place row = energy_row(alpha);
    float terms[3];
    for (int c = 0; c < 3; ++c)
        terms[c] = energy_mix(energy_table_metal_mean(row.first, c + 1),
                              energy_table_metal_mean(row.first + 1, c + 1), row.rest);
    return energy_polynomials(terms, mean, reflectance);
}

/* Returns the albedo of multiple scattering for light from `cosine`. */
KD_FN vec3 energy_metal_albedo(float alpha, float cosine, vec3 reflectance) {
    const float mean = energy_missing_mean(alpha);
    return vec3_scale(energy_metal_share(alpha, cosine, mean, reflectance),
                      energy_missing(alpha, cosine));
}

KD_FN float energy_ratio(float a, float b, float mean) {
    return mean > 0 ? a * b / (KD_PI * mean) : 0;
}

/* The lobe in 1/sr: the product of both albedos, divided by pi times their mean. */
KD_FN_NOINLINE vec3 energy_metal_evaluate(float alpha, float cosine_a, float cosine_b,
                                          vec3 reflectance) {
    const float mean = energy_missing_mean(alpha);
    const vec3 a = energy_metal_albedo(alpha, cosine_a, reflectance);
    const vec3 b = energy_metal_albedo(alpha, cosine_b, reflectance);
    const vec3 all = vec3_scale(energy_metal_share_mean(alpha, mean, reflectance), mean);
    return vec3_make(energy_ratio(a.x, b.x, all.x), energy_ratio(a.y, b.y, all.y),
                     energy_ratio(a.z, b.z, all.z));
}

/* --- Anisotropic metals --- */

/* Returns the alpha of a surface's profile along a direction. */
KD_FN float energy_seen_alpha(ggx_ellipse ellipse, vec3 direction) {
    const float low = direction.x * direction.x + direction.y * direction.y;
    if (!(low > 0)) return ellipse.y;
    return sqrtf((float_square(ellipse.x * direction.x) + float_square(ellipse.y * direction.y)) /
                 low);
}

typedef struct energy_long_place {
    energy_place row, ratio;
} energy_long_place;

KD_FN energy_long_place energy_long_place_of(float longer, float shorter, int rows, int ratios) {
    energy_long_place at;
    at.row = energy_place_at(sqrtf(longer) * (float)(rows - 1), rows);
    at.ratio = energy_place_at(sqrtf(shorter / longer) * (float)(ratios - 1), ratios);
    return at;
}

/* energy_missing of a direction, for anisotropic microfacets. */
KD_FN_NOINLINE float energy_missing_long(ggx_ellipse ellipse, vec3 direction) {
    const float longer = float_max(ellipse.x, ellipse.y), shorter = float_min(ellipse.x, ellipse.y);
    const float seen = float_clamp(energy_seen_alpha(ellipse, direction), shorter, longer);
    const float round = energy_missing(seen, direction.z);
    if (!(longer > shorter)) return round;
    const energy_long_place place =
        energy_long_place_of(longer, shorter, ENERGY_LONGS, ENERGY_RATIOS);
    const energy_place turn = energy_turn(shorter, longer, seen);
    const energy_place at = energy_long_column(seen, direction.z);
    float rows[2];
    for (int i = 0; i < 2; ++i) {
        float ratios[2];
        for (int j = 0; j < 2; ++j) {
            const int a = place.row.first + i, b = place.ratio.first + j;
            float turns[2];
            for (int k = 0; k < 2; ++k)
                turns[k] =
                    energy_mix(energy_table_long(a, b, turn.first + k, at.first),
                               energy_table_long(a, b, turn.first + k, at.first + 1), at.rest);
            ratios[j] = energy_mix(turns[0], turns[1], turn.rest);
        }
        rows[i] = energy_mix(ratios[0], ratios[1], place.ratio.rest);
    }
    return float_max(round + energy_mix(rows[0], rows[1], place.row.rest), 0);
}

/* Returns the mean of energy_missing_long over the hemisphere, weighted by the cosine. */
KD_FN float energy_missing_long_mean(ggx_ellipse ellipse) {
    const float longer = float_max(ellipse.x, ellipse.y), shorter = float_min(ellipse.x, ellipse.y);
    const energy_long_place place =
        energy_long_place_of(longer, shorter, ENERGY_MEAN_LONGS, ENERGY_MEAN_RATIOS);
    float rows[2];
    for (int i = 0; i < 2; ++i)
        rows[i] = energy_mix(energy_table_long_mean(place.row.first + i, place.ratio.first),
                             energy_table_long_mean(place.row.first + i, place.ratio.first + 1),
                             place.ratio.rest);
    return longer * longer * energy_mix(rows[0], rows[1], place.row.rest);
}

/* As energy_metal_evaluate; the colours are those of isotropic microfacets that lack about as
   much. */
KD_FN_NOINLINE vec3 energy_long_evaluate(ggx_ellipse ellipse, vec3 a, vec3 b, vec3 reflectance) {
    const float alpha = ggx_ellipse_mean(ellipse), mean = energy_missing_mean(alpha);
    const vec3 from = vec3_scale(energy_metal_share(alpha, a.z, mean, reflectance),
                                 energy_missing_long(ellipse, a));
    const vec3 to = vec3_scale(energy_metal_share(alpha, b.z, mean, reflectance),
                               energy_missing_long(ellipse, b));
    const vec3 all = vec3_scale(energy_metal_share_mean(alpha, mean, reflectance),
                                energy_missing_long_mean(ellipse));
    return vec3_make(energy_ratio(from.x, to.x, all.x), energy_ratio(from.y, to.y, all.y),
                     energy_ratio(from.z, to.z, all.z));
}

/* --- Coats --- */

KD_FN energy_place energy_coat_place(float eta) {
    return energy_place_at(10 * (eta - 1) / (eta + 1) - 1, ENERGY_COATS);
}

/* Returns the fraction of light from `cosine` that a rough dielectric with index eta >= 1 reflects
   by one facet: that of a metal, times the Fresnel reflectance at an effective cosine, which hardly
   depends on the index. */
KD_FN_NOINLINE float energy_coat(float alpha, float cosine, float eta) {
    const float mu = float_clamp(cosine, 0, 1);
    const energy_place index = energy_coat_place(eta);
    const energy_place row = energy_row(alpha), at = energy_column(alpha, mu, ENERGY_COAT_COSINES);
    float ends[2];
    for (int c = 0; c < 2; ++c) {
        float sides[2];
        for (int i = 0; i < 2; ++i)
            sides[i] = energy_mix(energy_table_coat(index.first + c, row.first + i, at.first),
                                  energy_table_coat(index.first + c, row.first + i, at.first + 1),
                                  at.rest);
        ends[c] = energy_mix(sides[0], sides[1], row.rest);
    }
    const float effective =
        float_clamp(mu + alpha * energy_mix(ends[0], ends[1], index.rest), 0, 1);
    return (1 - energy_missing(alpha, mu)) * fresnel_dielectric(effective, eta);
}

/* Returns the mean of energy_coat over the hemisphere, weighted by the cosine. */
KD_FN float energy_coat_mean(float alpha, float eta) {
    const energy_place index = energy_coat_place(eta);
    const energy_place row = energy_row(alpha);
    float ends[2];
    for (int c = 0; c < 2; ++c)
        ends[c] = energy_mix(energy_table_coat_mean(index.first + c, row.first),
                             energy_table_coat_mean(index.first + c, row.first + 1), row.rest);
    return energy_mix(ends[0], ends[1], index.rest) * fresnel_dielectric_average(eta);
}

/* --- Glass --- */

/* Returns the position in the table of a relative index `dense` >= 1; the table goes from 1 to
   3. */
KD_FN float energy_index_nodes(float dense) {
    const float half = (float)(ENERGY_INDICES / 2);
    return half * sqrtf(float_log(dense) / ENERGY_INDEX_SPAN);
}

KD_FN energy_place energy_index_place(float eta) {
    const float middle = (float)(ENERGY_INDICES / 2);
    return energy_place_at(eta >= 1 ? middle + energy_index_nodes(eta)
                                    : middle - energy_index_nodes(1 / eta),
                           ENERGY_INDICES);
}

/* The energy that glass lacks with single scattering, for light from one direction, and the part of
   it that is transmitted; the rest is reflected. */
typedef struct energy_glass {
    float lost, across;
} energy_glass;

KD_FN energy_glass energy_glass_mix(energy_glass a, energy_glass b, float share) {
    energy_glass made;
    made.lost = energy_mix(a.lost, b.lost, share);
    made.across = energy_mix(a.across, b.across, share);
    return made;
}

/* Returns the values of one entry of index and roughness. */
KD_FN energy_glass energy_glass_node(int index, int row, energy_place at, energy_place coarse) {
    energy_glass made;
    made.lost = energy_mix(energy_table_glass(index, row, at.first),
                           energy_table_glass(index, row, at.first + 1), at.rest);
    made.across =
        made.lost * energy_mix(energy_table_share(index, row, coarse.first),
                               energy_table_share(index, row, coarse.first + 1), coarse.rest);
    return made;
}

/* Looks up the values; eta as seen from the direction. */
KD_FN_NOINLINE energy_glass energy_glass_at(float alpha, float cosine, float eta) {
    const energy_place index = energy_index_place(eta), row = energy_row(alpha),
                       at = energy_column(alpha, cosine, ENERGY_GLASS_COSINES),
                       coarse = energy_column(alpha, cosine, ENERGY_SHARE_COSINES);
    energy_glass ends[2];
    for (int n = 0; n < 2; ++n)
        ends[n] = energy_glass_mix(energy_glass_node(index.first + n, row.first, at, coarse),
                                   energy_glass_node(index.first + n, row.first + 1, at, coarse),
                                   row.rest);
    return energy_glass_mix(ends[0], ends[1], index.rest);
}

KD_FN float energy_glass_missing_mean(float alpha, float eta) {
    const energy_place index = energy_index_place(eta), row = energy_row(alpha);
    float ends[2];
    for (int n = 0; n < 2; ++n)
        ends[n] = energy_mix(energy_table_glass_mean(index.first + n, row.first),
                             energy_table_glass_mean(index.first + n, row.first + 1), row.rest);
    return alpha * alpha * energy_mix(ends[0], ends[1], index.rest);
}

/* Returns the mean of `across` from the side of the lower index; from the other side it is less by
   the square of the index, as for all refracted light. */
KD_FN float energy_glass_across_mean(float alpha, float dense) {
    const energy_place row = energy_row(alpha);
    const energy_place index = energy_place_at(energy_index_nodes(dense), ENERGY_INDICES / 2 + 1);
    float ends[2];
    for (int n = 0; n < 2; ++n)
        ends[n] = energy_mix(energy_table_share_mean(index.first + n, row.first),
                             energy_table_share_mean(index.first + n, row.first + 1), row.rest);
    return alpha * alpha * energy_mix(ends[0], ends[1], index.rest);
}

/* The lobes in 1/sr, for flux; `beyond`: wi is on the other side. Transmission: the product of
   `across` on both sides, divided by the mean of the far side. Reflection: the product of what is
   reflected in both directions. */
KD_FN float energy_glass_evaluate(float alpha, float cosine_o, float cosine_i, float eta,
                                  bool beyond) {
    const float dense = float_max(eta, 1 / eta);
    const energy_glass from = energy_glass_at(alpha, cosine_o, eta),
                       to = energy_glass_at(alpha, cosine_i, beyond ? 1 / eta : eta);
    const float thin = energy_glass_across_mean(alpha, dense), inside = thin / (dense * dense);
    if (beyond) return energy_ratio(from.across, to.across, eta >= 1 ? inside : thin);
    const float back = energy_glass_missing_mean(alpha, eta) - (eta >= 1 ? thin : inside);
    return energy_ratio(from.lost - from.across, to.lost - to.across, back);
}

/* --- Sampling --- */

/* Samples a direction above the surface with density 2 mu / (alpha^2 + mu^2) over the cosine. */
KD_FN vec3 energy_draw(float alpha, float u, float v) {
    const float square = alpha * alpha, span = float_log(1 + 1 / square);
    const float mu2 = float_clamp(square * (float_exp(u * span) - 1), 0, 1);
    const float sine = sqrtf(1 - mu2), angle = 2 * KD_PI * v;
    return vec3_make(sine * float_cos(angle), sine * float_sin(angle), sqrtf(mu2));
}
/* Density of energy_draw in 1/sr. */
KD_FN float energy_pdf(float alpha, float cosine) {
    const float square = alpha * alpha;
    return cosine / ((square + cosine * cosine) * float_log(1 + 1 / square) * KD_PI);
}

#endif
