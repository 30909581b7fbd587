/* Tables of the energy that single scattering at a rough boundary lacks, and where it goes; the
   positions of their entries, and interpolation. tests/shaders/energy_tables.c generates the tables
   and documents how.
   Idea: the missing energy rises where a direction's cosine mu is about alpha. As a function of s =
   1 - sqrt(alpha (1 - mu) / (mu + alpha)) it looks similar for every roughness. Fractions are
   multiples of 2^-16. */
#ifndef KD_SHADERS_MICROFACET_TABLES_H
#define KD_SHADERS_MICROFACET_TABLES_H
#include "core/math/platform.h"

enum {
    ENERGY_ROUGHNESSES = 16, /* rows: uniform in sqrt(alpha) */
    ENERGY_COSINES = 48,     /* cosines for metals; uniform in s, as in all tables */
    ENERGY_METAL_COSINES = 8,
    ENERGY_GLASS_COSINES = 12,
    ENERGY_COAT_COSINES = 12,
    /* indices of glass from 1/3 to 3, uniform in the square root of the logarithm */
    ENERGY_INDICES = 25,
    ENERGY_SHARE_COSINES = 5,
    ENERGY_COATS = 5, /* (n - 1) / (n + 1) from 0.1 to 0.5: indices 1.22 to 3 */
    /* The table of anisotropic metals is uniform in four coordinates:
         the square root of the larger alpha
         the square root of the ratio of the smaller alpha to the larger one
         the square root of the alpha that a direction sees, relative to both, because near the
           smaller alpha this value hardly depends on the direction
         q (1 + c) / (q + c) with q = 1 - (1 - s)^2
       Near the horizon, where q is 0, anisotropic metals differ most from isotropic ones. At normal
       incidence everything is smooth in q. */
    ENERGY_LONGS = 9,
    ENERGY_RATIOS = 12,
    ENERGY_TURNS = 12,
    ENERGY_LONG_COSINES = 16,
    ENERGY_MEAN_LONGS = 33, /* entries of their means, which are not linear near alpha 0 */
    ENERGY_MEAN_RATIOS = 23
};
/* Offsets of the tables within a file. */
enum {
    ENERGY_MISSING_AT = 0,
    ENERGY_GLASS_AT = ENERGY_MISSING_AT + ENERGY_ROUGHNESSES * ENERGY_COSINES,
    ENERGY_SHARES = ENERGY_GLASS_AT + ENERGY_INDICES * ENERGY_ROUGHNESSES * ENERGY_GLASS_COSINES,
    ENERGY_METAL_AT = 0,
    ENERGY_METAL_MEAN_AT = ENERGY_METAL_AT + ENERGY_ROUGHNESSES * ENERGY_METAL_COSINES * 3,
    ENERGY_COAT_AT = ENERGY_METAL_MEAN_AT + ENERGY_ROUGHNESSES * 4,
    ENERGY_COAT_MEAN_AT = ENERGY_COAT_AT + ENERGY_COATS * ENERGY_ROUGHNESSES * ENERGY_COAT_COSINES,
    ENERGY_GLASS_MEAN_AT = ENERGY_COAT_MEAN_AT + ENERGY_COATS * ENERGY_ROUGHNESSES,
    ENERGY_SHARE_AT = ENERGY_GLASS_MEAN_AT + ENERGY_INDICES * ENERGY_ROUGHNESSES,
    ENERGY_SHARE_MEAN_AT =
        ENERGY_SHARE_AT + ENERGY_INDICES * ENERGY_ROUGHNESSES * ENERGY_SHARE_COSINES,
    ENERGY_TERMS = ENERGY_SHARE_MEAN_AT + (ENERGY_INDICES / 2 + 1) * ENERGY_ROUGHNESSES
};
#define ENERGY_LONG_CROWDING 0.8f    /* c */
#define ENERGY_INDEX_SPAN 1.0986123f /* ln 3 */

KD_FN float energy_alpha(int row) {
    const float root = (float)row / (ENERGY_ROUGHNESSES - 1);
    return float_max(root * root, 1e-3f);
}
KD_FN float energy_coat_index(int which) {
    const float root = 0.1f * (float)(which + 1);
    return (1 + root) / (1 - root);
}

typedef struct energy_place {
    int first; /* index of the entry before it */
    float rest;
} energy_place;

/* `at` is a position in entries, clamped to 0 ... nodes - 1. */
KD_FN energy_place energy_place_at(float at, int nodes) {
    const float inside = float_clamp(at, 0, (float)(nodes - 1));
    energy_place place;
    place.first = (int)inside;
    if (place.first > nodes - 2) place.first = nodes - 2;
    place.rest = inside - (float)place.first;
    return place;
}
KD_FN energy_place energy_row(float alpha) {
    return energy_place_at(sqrtf(alpha) * (ENERGY_ROUGHNESSES - 1), ENERGY_ROUGHNESSES);
}
KD_FN energy_place energy_column(float alpha, float cosine, int nodes) {
    const float mu = float_clamp(cosine, 0, 1);
    const float left = sqrtf(alpha * (1 - mu) / (mu + alpha));
    return energy_place_at((1 - left) * (float)(nodes - 1), nodes);
}
KD_FN float energy_long_crowded(float q) {
    return q * (1 + ENERGY_LONG_CROWDING) / (q + ENERGY_LONG_CROWDING);
}
KD_FN energy_place energy_long_column(float alpha, float cosine) {
    const float mu = float_clamp(cosine, 0, 1), q = mu * (1 + alpha) / (mu + alpha);
    return energy_place_at(energy_long_crowded(q) * (ENERGY_LONG_COSINES - 1), ENERGY_LONG_COSINES);
}
/* Returns entry `node` of `nodes` for anisotropic metals: the larger alpha, or the ratio of the
   smaller to it. */
KD_FN float energy_long(int node, int nodes) {
    const float root = (float)node / (float)(nodes - 1);
    return float_max(root * root, 1e-3f);
}
/* Returns the position of the alpha that a direction sees, between the smaller and the larger
   one. */
KD_FN energy_place energy_turn(float shorter, float longer, float seen) {
    const float share = float_clamp((seen - shorter) / (longer - shorter), 0, 1);
    return energy_place_at(sqrtf(share) * (ENERGY_TURNS - 1), ENERGY_TURNS);
}
KD_FN float energy_mix(float a, float b, float share) {
    return a + share * (b - a);
}

/* --- The tables --- */

KD_FN float energy_share_of(int at) {
    static const uint16_t table[ENERGY_SHARES] = {
#include "shaders/microfacet_shares.inc"
    };
    return table[at] * 0x1p-16f;
}

KD_FN float energy_term(int at) {
    static const float table[ENERGY_TERMS] = {
#include "shaders/microfacet_terms.inc"
    };
    return table[at];
}

/* Missing energy of a metal of reflectance 1, by roughness and cosine. */
KD_FN float energy_table_missing(int i, int j) {
    return energy_share_of(ENERGY_MISSING_AT + i * ENERGY_COSINES + j);
}

/* The fraction of the missing energy that metals return, as terms of energy_polynomial. */
KD_FN float energy_table_metal(int i, int j, int k) {
    return energy_term(ENERGY_METAL_AT + (i * ENERGY_METAL_COSINES + j) * 3 + k);
}

/* Mean missing energy divided by alpha^2; means of the three terms of energy_table_metal. */
KD_FN float energy_table_metal_mean(int i, int j) {
    return energy_term(ENERGY_METAL_MEAN_AT + i * 4 + j);
}

/* Missing energy of an anisotropic metal, minus that of an isotropic one with the alpha that the
   direction sees, by larger alpha, ratio, direction and cosine. 32768 encodes 0. */
KD_FN float energy_table_long(int i, int j, int k, int l) {
    static const uint16_t table[ENERGY_LONGS * ENERGY_RATIOS * ENERGY_TURNS * ENERGY_LONG_COSINES] =
        {
#include "shaders/microfacet_long.inc"
        };
    const int at = ((i * ENERGY_RATIOS + j) * ENERGY_TURNS + k) * ENERGY_LONG_COSINES + l;
    return ((float)table[at] - 32768) * 0x1p-16f;
}

/* Mean missing energy of anisotropic metals, divided by the square of the larger alpha. */
KD_FN float energy_table_long_mean(int i, int j) {
    static const float table[ENERGY_MEAN_LONGS * ENERGY_MEAN_RATIOS] = {
#include "shaders/microfacet_long_mean.inc"
    };
    return table[i * ENERGY_MEAN_RATIOS + j];
}

/* Effective cosine of a coat minus the cosine, divided by alpha. */
KD_FN float energy_table_coat(int i, int j, int k) {
    return energy_term(ENERGY_COAT_AT + (i * ENERGY_ROUGHNESSES + j) * ENERGY_COAT_COSINES + k);
}

/* Mean reflectance of a coat, divided by that of a smooth coat. */
KD_FN float energy_table_coat_mean(int i, int j) {
    return energy_term(ENERGY_COAT_MEAN_AT + i * ENERGY_ROUGHNESSES + j);
}

/* Missing energy of glass, by index, roughness, cosine. */
KD_FN float energy_table_glass(int i, int j, int k) {
    return energy_share_of(ENERGY_GLASS_AT + (i * ENERGY_ROUGHNESSES + j) * ENERGY_GLASS_COSINES +
                           k);
}

/* Mean missing energy of glass, divided by alpha^2. */
KD_FN float energy_table_glass_mean(int i, int j) {
    return energy_term(ENERGY_GLASS_MEAN_AT + i * ENERGY_ROUGHNESSES + j);
}

/* The fraction of the missing energy of glass that is transmitted. */
KD_FN float energy_table_share(int i, int j, int k) {
    return energy_term(ENERGY_SHARE_AT + (i * ENERGY_ROUGHNESSES + j) * ENERGY_SHARE_COSINES + k);
}

/* Mean missing energy of glass that is transmitted, divided by alpha^2. */
KD_FN float energy_table_share_mean(int i, int j) {
    return energy_term(ENERGY_SHARE_MEAN_AT + i * ENERGY_ROUGHNESSES + j);
}

#endif
