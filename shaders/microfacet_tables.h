/* What a rough boundary's single scattering loses, and where it goes: tables made by
   tests/shaders/energy_tables.c, which says how; nodes: microfacet_nodes.h. Shares are whole
   65536ths.
 */
#ifndef KD_SHADERS_MICROFACET_TABLES_H
#define KD_SHADERS_MICROFACET_TABLES_H
#include "core/math/platform.h"

/* Lost by a metal of reflectance 1, by roughness and cosine. */
KD_FN float energy_table_missing(int i, int j) {
    static const uint16_t table[768] = {
#include "shaders/microfacet_missing.inc"
    };
    return table[i * 48 + j] * 0x1p-16f;
}

/* Of it, returned by metals: terms of energy_polynomial. */
KD_FN float energy_table_metal(int i, int j, int k) {
    static const float table[384] = {
#include "shaders/microfacet_metal.inc"
    };
    return table[(i * 8 + j) * 3 + k];
}

/* Mean lost over alpha^2; the same three terms, in the mean. */
KD_FN float energy_table_metal_mean(int i, int j) {
    static const float table[64] = {
#include "shaders/microfacet_metal_mean.inc"
    };
    return table[i * 4 + j];
}

/* Lost by a metal of long facets, less what one of round facets loses whose alpha is what the
   direction sees; 32768 is 0. By longer alpha, ratio, direction, cosine. */
KD_FN float energy_table_long(int i, int j, int k, int l) {
    static const uint16_t table[20736] = {
#include "shaders/microfacet_long.inc"
    };
    return ((float)table[((i * 12 + j) * 12 + k) * 16 + l] - 32768) * 0x1p-16f;
}

/* The mean that these lose, over the square of the longer alpha. */
KD_FN float energy_table_long_mean(int i, int j) {
    static const float table[759] = {
#include "shaders/microfacet_long_mean.inc"
    };
    return table[i * 23 + j];
}

/* A coat's effective cosine less the cosine, over alpha. */
KD_FN float energy_table_coat(int i, int j, int k) {
    static const float table[960] = {
#include "shaders/microfacet_coat.inc"
    };
    return table[(i * 16 + j) * 12 + k];
}

/* A coat's mean reflectance over a smooth one's. */
KD_FN float energy_table_coat_mean(int i, int j) {
    static const float table[80] = {
#include "shaders/microfacet_coat_mean.inc"
    };
    return table[i * 16 + j];
}

/* Lost by glass, by index, roughness, cosine. */
KD_FN float energy_table_glass(int i, int j, int k) {
    static const uint16_t table[4800] = {
#include "shaders/microfacet_glass.inc"
    };
    return table[(i * 16 + j) * 12 + k] * 0x1p-16f;
}

/* Its mean over alpha^2. */
KD_FN float energy_table_glass_mean(int i, int j) {
    static const float table[400] = {
#include "shaders/microfacet_glass_mean.inc"
    };
    return table[i * 16 + j];
}

/* The share of what glass loses that ends beyond. */
KD_FN float energy_table_share(int i, int j, int k) {
    static const float table[2000] = {
#include "shaders/microfacet_share.inc"
    };
    return table[(i * 16 + j) * 5 + k];
}

/* The mean of what is lost and ends beyond, over alpha^2. */
KD_FN float energy_table_share_mean(int i, int j) {
    static const float table[208] = {
#include "shaders/microfacet_share_mean.inc"
    };
    return table[i * 16 + j];
}

#endif
