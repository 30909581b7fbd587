/* What fills the space between surfaces: media that absorb and scatter light, the same
   everywhere inside.
   Sources: Henyey and Greenstein 1941, "Diffuse radiation in the galaxy" (the phase function);
            Beer's law; Wilkie et al. 2014, "Hero wavelength spectral sampling", for free flights
            in colour: a channel is drawn, and a length counts by the mean of all channels'
            densities; both by how much of each channel is still carried.
   Idea: flights are drawn by the scattering coefficient alone; what is absorbed on the way
         weakens what flies, without noise. A medium that only absorbs is then exact at every
         sample.
   Where a medium is: inside closed meshes whose material names it; all other space holds the
         scene's fog, as far as the sphere around the scene. Glass always bounds media (its
         inside is clear unless it names one), other materials if they name one: they matter
         where light passes them, by their opacity.
   Invariants: a draw's weight is its integrand over its density; the three channels carried add
               up to the same before and after a draw, so no chain of draws makes a spark. */
#ifndef KD_SHADERS_MEDIUM_H
#define KD_SHADERS_MEDIUM_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"
#include "core/math/rng.h"
#include "core/math/sampling.h"

#define MEDIUM_FOG 0xfffffffeu  /* the scene's own, or nothing if it has none */
#define MEDIUM_SAME 0xfffffffdu /* no boundary: what was there before */

typedef struct medium {
    vec3 absorption; /* 1/m: share of the light that is lost per length */
    vec3 scattering; /* 1/m: share of it that changes its direction */
    float g;         /* mean cosine of that change, (-1, 1); 0: into all directions alike */
} medium;

/* A part of a ray inside a medium, in lengths of its direction. */
typedef struct medium_span {
    float begin, end;
} medium_span;

/* The part of a ray up to `end` that lies in the sphere which media fill; empty: begin == end. */
KD_FN medium_span medium_clip(vec3 centre, float radius, const ray *cast, float end) {
    medium_span span;
    const vec3 out = vec3_sub(cast->origin, centre);
    const float a = vec3_length2(cast->direction), b = vec3_dot(out, cast->direction);
    const float c = vec3_length2(out) - radius * radius;
    const float square = b * b - a * c;
    span.begin = span.end = cast->tmin;
    if (!(square > 0) || !(a > 0)) return span;
    const float half = sqrtf(square);
    const float near = float_max(cast->tmin, (-b - half) / a), far = float_min(end, (half - b) / a);
    if (!(far > near)) return span;
    span.begin = near;
    span.end = far;
    return span;
}

/* Share of light per channel that passes `length` of something that takes `per_length` of it. */
KD_FN vec3 medium_decay(vec3 per_length, float length) {
    return vec3_make(float_exp(-per_length.x * length), float_exp(-per_length.y * length),
                     float_exp(-per_length.z * length));
}

/* Beer's law. */
KD_FN vec3 medium_transmittance(const medium *in, float length) {
    return medium_decay(vec3_add(in->absorption, in->scattering), length);
}

/* The share of each channel in what is carried; even if that is nothing. */
KD_FN vec3 medium_shares(vec3 carried) {
    const float sum = carried.x + carried.y + carried.z;
    return sum > 0 && sum <= FLT_MAX ? vec3_scale(carried, 1 / sum) : vec3_all(1.0f / 3);
}

/* --- free flights ---------------------------------------------------------------------------- */

typedef struct medium_flight {
    bool scattered;
    float length; /* flown, at most what was asked */
    vec3 kept;    /* share that was not absorbed on the way */
    vec3 drawn;   /* the rest of the weight: 1 in a grey medium */
} medium_flight;

/* How far what is `carried` flies within `length` before it is scattered; by u, and `channel`
   chooses. */
KD_FN medium_flight medium_fly(const medium *in, float length, vec3 carried, float u,
                               float channel) {
    const vec3 s = in->scattering, share = medium_shares(carried);
    const float chosen = channel < share.x ? s.x : channel < share.x + share.y ? s.y : s.z;
    medium_flight flight;
    flight.length = chosen > 0 ? -float_log(1 - u) / chosen : INFINITY;
    flight.scattered = flight.length < length;
    if (!flight.scattered) flight.length = length;
    flight.kept = medium_decay(in->absorption, flight.length);
    vec3 density = medium_decay(s, flight.length);
    if (flight.scattered) density = vec3_mul(density, s);
    const float mean = vec3_dot(share, density);
    const bool grey = s.x == s.y && s.y == s.z;
    flight.drawn = grey ? vec3_all(1) : mean > 0 ? vec3_scale(density, 1 / mean) : vec3_all(0);
    return flight;
}

/* A place for light to be scattered into a path that flies through all of `length`. */
typedef struct medium_place {
    float length;
    float pdf;     /* 1/m */
    vec3 reaching; /* share of light that comes from there to the ray's start */
} medium_place;

KD_FN medium_place medium_draw_place(const medium *in, float length, float u) {
    const vec3 lost = vec3_add(in->absorption, in->scattering);
    const float least = float_min(lost.x, float_min(lost.y, lost.z));
    const float share = 1 - float_exp(-least * length);
    medium_place place;
    if (share > 0.01f) { /* in proportion to what reaches the start, else evenly */
        place.length = float_min(-float_log(1 - u * share) / least, length);
        place.pdf = least * float_exp(-least * place.length) / share;
    } else {
        place.length = u * length;
        place.pdf = 1 / length;
    }
    place.reaching = medium_decay(lost, place.length);
    return place;
}

/* --- the phase function ------------------------------------------------------------------------
 */

/* 1/sr, its own pdf: `cosine` between the directions of flight before and after. */
KD_FN float medium_phase(float g, float cosine) {
    const float square = float_max(1 + g * g - 2 * g * cosine, 1e-12f);
    return (1 - g * g) / (4 * KD_PI * square * sqrtf(square));
}

KD_FN float medium_phase_cosine(float g, float u) {
    const float even = 2 * u - 1;
    if (fabsf(g) < 1e-3f) return even + 1.5f * g * (1 - even * even);
    const float part = (1 - g * g) / (1 - g + 2 * g * u);
    return float_clamp((1 + g * g - part * part) / (2 * g), -1, 1);
}

/* A direction of flight after `direction`, drawn by medium_phase. */
KD_FN vec3 medium_phase_draw(float g, vec3 direction, float u, float v) {
    const float cosine = medium_phase_cosine(g, u);
    const float sine = sqrtf(float_max(0, 1 - cosine * cosine)), angle = 2 * KD_PI * v;
    const frame3 axes = frame3_around(direction);
    return vec3_normalize(frame3_to_world(
        &axes, vec3_make(sine * float_cos(angle), sine * float_sin(angle), cosine)));
}

#endif
