/* Colours of light of one wavelength, and what glass does with it.
   Idea: white light is light of all wavelengths. A path that meets dispersive glass draws one of
         them and carries its colour from there on. The three channels see densities of
         wavelengths (tents, which overlap); a channel is drawn by its share in what the path
         carries, then a wavelength by its density, and the colour is each channel's density over
         their mean.
   Invariants: the mean of the colours over the draws is exactly white, what is carried adds up
               to the same before and after: no watt is made or lost by a draw, and no colour is
               negative. The tents were laid over the CIE 1931 observer's colours in Rec. 709
               primaries, cut off where those are negative; red has a second one for the violet
               end.
   Sources: Cauchy 1836 and Sellmeier 1871 (the index of refraction); the draw is the one-sample
            balance heuristic of Veach 1997, section 9.2.4. */
#ifndef KD_SHADERS_SPECTRUM_H
#define KD_SHADERS_SPECTRUM_H
#include "core/math/geometry.h"
#include "core/math/platform.h"
#include "shaders/material.h"

/* Tents in micrometres: from, top, to. */
#define SPECTRUM_RED 0.530f, 0.605f, 0.690f
#define SPECTRUM_VIOLET 0.395f, 0.425f, 0.460f
#define SPECTRUM_GREEN 0.480f, 0.540f, 0.610f
#define SPECTRUM_BLUE 0.405f, 0.450f, 0.510f
#define SPECTRUM_VIOLET_SHARE 0.06f /* of red */
#define SPECTRUM_SHORTEST 0.395f
#define SPECTRUM_LONGEST 0.690f

/* Density of a tent, 1/micrometre. */
KD_FN float tent_density(float from, float top, float to, float x) {
    if (!(x > from && x < to)) return 0;
    const float height = 2 / (to - from);
    return x < top ? height * (x - from) / (top - from) : height * (to - x) / (to - top);
}

KD_FN float tent_draw(float from, float top, float to, float u) {
    const float below = (top - from) / (to - from);
    if (u < below) return from + (top - from) * sqrtf(u / below);
    return to - (to - top) * sqrtf((1 - u) / (1 - below));
}

/* The colour of a wavelength as a weight of the light that drew it. */
KD_FN_CALL vec3 spectrum_colour(float wavelength, vec3 carried) {
    vec3 density;
    density.x = (1 - SPECTRUM_VIOLET_SHARE) * tent_density(SPECTRUM_RED, wavelength) +
                SPECTRUM_VIOLET_SHARE * tent_density(SPECTRUM_VIOLET, wavelength);
    density.y = tent_density(SPECTRUM_GREEN, wavelength);
    density.z = tent_density(SPECTRUM_BLUE, wavelength);
    const float mean = vec3_dot(medium_shares(carried), density);
    return mean > 0 ? vec3_scale(density, 1 / mean) : vec3_all(0);
}

/* A wavelength in micrometres: `channel` chooses a tent, u a place in it. */
KD_FN_CALL float spectrum_draw(vec3 carried, float channel, float u) {
    const vec3 share = medium_shares(carried);
    if (channel < SPECTRUM_VIOLET_SHARE * share.x) return tent_draw(SPECTRUM_VIOLET, u);
    if (channel < share.x) return tent_draw(SPECTRUM_RED, u);
    if (channel < share.x + share.y || !(share.z > 0)) return tent_draw(SPECTRUM_GREEN, u);
    return tent_draw(SPECTRUM_BLUE, u);
}

/* Index of refraction of a material that disperses, at a wavelength in micrometres. */
KD_FN_CALL float spectrum_index(const material *of, float wavelength) {
    const float *t = of->index_terms;
    const float square = wavelength * wavelength;
    if (of->dispersion == DISPERSION_CAUCHY) return t[0] + (t[1] + t[2] / square) / square;
    const float sum = t[0] * square / (square - t[3]) + t[1] * square / (square - t[4]) +
                      t[2] * square / (square - t[5]);
    return sqrtf(float_max(1 + sum, 0.01f));
}

/* Whether the smallest and the largest index that light can meet make sense. */
KD_FN bool spectrum_index_is_sound(const material *made) {
    for (int i = 0; i <= 16; ++i) {
        const float across = SPECTRUM_LONGEST - SPECTRUM_SHORTEST;
        const float index = spectrum_index(made, SPECTRUM_SHORTEST + across * (float)i / 16);
        if (!(index > 0.101f && index <= 10)) return false; /* 0.1: no root */
    }
    return true;
}

#endif
