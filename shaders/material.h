/* Materials, media and dispersion: their records, and functions that depend on nothing else. BSDFs
   are in shaders/bsdf.h. */
#ifndef KD_SHADERS_MATERIAL_H
#define KD_SHADERS_MATERIAL_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"
#include "core/math/platform.h"
#include "core/math/rng.h"
#include "core/math/sampling.h"

/* Homogeneous media that absorb and scatter light in the space between surfaces.
   Sources: Henyey and Greenstein 1941, "Diffuse radiation in the galaxy" (the phase function);
   Beer's law; Wilkie et al. 2014, "Hero wavelength spectral sampling", for chromatic free flights:
   one channel is sampled in proportion to its throughput, and a distance is weighted by the mean of
   the channels' densities, weighted in the same proportion.
   Idea: distances are sampled by the scattering coefficient alone; absorption attenuates the
   throughput, without noise. A medium that only absorbs is therefore exact in every sample.
   A medium fills the closed meshes whose material names it. All other space, up to the sphere
   around the scene, contains the scene's fog. Glass always bounds media (its inside is a vacuum
   unless it names a medium). Other materials bound media if they name one, which matters if their
   opacity lets light pass.
   Invariants: a sample's weight is its integrand divided by its density. The sum of the three
   channels of the throughput is the same before and after sampling, so no sequence of samples makes
   fireflies. */

#define MEDIUM_FOG 0xfffffffeu  /* the scene's fog, or vacuum if there is none */
#define MEDIUM_SAME 0xfffffffdu /* no boundary: the medium stays the same */

typedef struct medium {
    vec3 absorption; /* absorption coefficient, 1/m */
    vec3 scattering; /* scattering coefficient, 1/m */
    float g;         /* mean cosine of the scattering angle, (-1, 1); 0: isotropic */
} medium;

/* The part of a ray inside a medium, in lengths of the ray's direction. */
typedef struct medium_span {
    float begin, end;
} medium_span;

/* Returns the part of a ray up to `end` inside the sphere that media fill; empty: begin == end. */
KD_FN medium_span medium_clip(vec3 centre, float radius, const ray *ray, float end) {
    medium_span span;
    const vec3 out = vec3_sub(ray->origin, centre);
    const float a = vec3_length2(ray->direction), b = vec3_dot(out, ray->direction);
    const float c = vec3_length2(out) - radius * radius;
    const float square = b * b - a * c;
    span.begin = span.end = ray->tmin;
    if (!(square > 0) || !(a > 0)) return span;
    const float half = sqrtf(square);
    const float near = float_max(ray->tmin, (-b - half) / a), far = float_min(end, (half - b) / a);
    if (!(far > near)) return span;
    span.begin = near;
    span.end = far;
    return span;
}

/* Returns the transmittance per channel of `length` with the coefficient `per_length`. */
KD_FN vec3 medium_decay(vec3 per_length, float length) {
    return vec3_make(float_exp(-per_length.x * length), float_exp(-per_length.y * length),
                     float_exp(-per_length.z * length));
}

/* Beer's law. */
KD_FN vec3 medium_transmittance(const medium *medium, float length) {
    return medium_decay(vec3_add(medium->absorption, medium->scattering), length);
}

/* Returns each channel's fraction of the throughput `carried`; 1/3 if that is zero. */
KD_FN vec3 medium_shares(vec3 carried) {
    const float sum = carried.x + carried.y + carried.z;
    return sum > 0 && sum <= FLT_MAX ? vec3_scale(carried, 1 / sum) : vec3_all(1.0f / 3);
}

/* --- Free-flight sampling --- */

typedef struct medium_flight {
    bool scattered;
    float length; /* at most the requested length */
    vec3 kept;    /* transmittance of absorption */
    vec3 drawn;   /* the rest of the weight: 1 in a grey medium */
} medium_flight;

/* Samples the distance to the next scattering event within `length`, by u; `channel` selects a
   channel. `carried` is the throughput. */
KD_FN medium_flight medium_fly(const medium *medium, float length, vec3 carried, float u,
                               float channel) {
    const vec3 s = medium->scattering, share = medium_shares(carried);
    const float chosen = channel < share.x ? s.x : channel < share.x + share.y ? s.y : s.z;
    medium_flight flight;
    flight.length = chosen > 0 ? -float_log(1 - u) / chosen : INFINITY;
    flight.scattered = flight.length < length;
    if (!flight.scattered) flight.length = length;
    flight.kept = medium_decay(medium->absorption, flight.length);
    vec3 density = medium_decay(s, flight.length);
    if (flight.scattered) density = vec3_mul(density, s);
    const float mean = vec3_dot(share, density);
    const bool grey = s.x == s.y && s.y == s.z;
    flight.drawn = grey ? vec3_all(1) : mean > 0 ? vec3_scale(density, 1 / mean) : vec3_all(0);
    return flight;
}

/* A point at which light is scattered into a path that passes the whole of `length`. */
typedef struct medium_place {
    float length;
    float pdf;     /* 1/m */
    vec3 reaching; /* transmittance from there to the ray's origin */
} medium_place;

KD_FN medium_place medium_draw_place(const medium *medium, float length, float u) {
    const vec3 lost = vec3_add(medium->absorption, medium->scattering);
    const float minimum = float_min(lost.x, float_min(lost.y, lost.z));
    const float share = 1 - float_exp(-minimum * length);
    medium_place place;
    if (share > 0.01f) { /* in proportion to transmittance, else uniform */
        place.length = float_min(-float_log(1 - u * share) / minimum, length);
        place.pdf = minimum * float_exp(-minimum * place.length) / share;
    } else {
        place.length = u * length;
        place.pdf = 1 / length;
    }
    place.reaching = medium_decay(lost, place.length);
    return place;
}

/* --- The phase function --- */

/* Henyey-Greenstein phase function in 1/sr, which is also its density. `cosine`: between the
   directions of propagation before and after. */
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

/* Samples the direction of propagation after `direction`, with density medium_phase. */
KD_FN vec3 medium_phase_draw(float g, vec3 direction, float u, float v) {
    const float cosine = medium_phase_cosine(g, u);
    const float sine = sqrtf(float_max(0, 1 - cosine * cosine)), angle = 2 * KD_PI * v;
    const frame3 axes = frame3_around(direction);
    return vec3_normalize(frame3_to_world(
        &axes, vec3_make(sine * float_cos(angle), sine * float_sin(angle), cosine)));
}

typedef enum material_kind {
    MATERIAL_DIFFUSE = 0, /* Lambertian with albedo `diffuse` */
    MATERIAL_MIRROR = 1,  /* ideal mirror with reflectance `specular` */
    /* dielectric, smooth (roughness 0) or GGX; `transmission` tints refracted light */
    MATERIAL_GLASS = 2,
    MATERIAL_CONDUCTOR = 3, /* GGX, Schlick with normal reflectance `specular` */
    /* GGX dielectric coat over Lambertian `diffuse`; the fraction `metallic` is a GGX conductor
       with `diffuse` as normal reflectance (principled: `specular`, with MATERIAL_SPECULAR) */
    MATERIAL_PLASTIC = 4,
    /* plastic that transmits the fraction `transmission` of its `principled` record, under a clear
       coat, under sheen */
    MATERIAL_PRINCIPLED = 5,
    MATERIAL_KINDS
} material_kind;

typedef enum dispersion_kind {
    DISPERSION_NONE = 0,
    DISPERSION_CAUCHY = 1,   /* n = A + B / w^2 + C / w^4, w in micrometres */
    DISPERSION_SELLMEIER = 2 /* n^2 = 1 + sum of B w^2 / (w^2 - C) */
} dispersion_kind;

/* Multiple scattering between the microfacets of a rough boundary. */
typedef enum material_energy {
    ENERGY_FULL = 0,  /* included: no energy is lost */
    ENERGY_SINGLE = 1 /* lost, as in renderers without energy compensation */
} material_energy;

typedef enum material_flags {
    MATERIAL_PASSES = 1, /* principled: its transmission may be above 0 */
    MATERIAL_THIN = 2, /* principled: a thin sheet, which does not refract and encloses no medium */
    MATERIAL_UNLIT = 4, /* `emission` is visible to the camera but lights nothing */
    MATERIAL_MASK = 8,  /* opacity, texture included, is 1 from MATERIAL_MASK_AT on, else 0 */
    MATERIAL_VERTEX_OPACITY = 16, /* vertex colours may reduce the opacity */
    MATERIAL_HIDDEN = 64,         /* the camera does not see it directly */
    MATERIAL_CATCHER = 128, /* the camera sees only the shadows on it (render/frame/catcher.h) */
    MATERIAL_SPECULAR = 32  /* principled: the metallic part reflects `specular`, not `diffuse` */
} material_flags;

#define MATERIAL_MASK_AT 0.5f

typedef struct KD_ALIGNED_16 material {
    int32_t kind;  /* material_kind */
    vec3 diffuse;  /* albedo, 0..1 */
    vec3 specular; /* normal reflectance, 0..1 */
    /* tint of refracted light at each crossing, 0..1; principled: also tinted by the square root of
       `diffuse` */
    vec3 transmission;
    vec3 emission;     /* radiance, W/(sr m^2), on the side of the winding's normal */
    float roughness;   /* perceptual, 0..1; GGX alpha = roughness^2, below 1e-3 counts as smooth */
    float metallic;    /* 0..1 */
    float ior;         /* index of refraction inside / outside */
    float opacity;     /* below 1 the surface is skipped with probability 1 - opacity */
    uint8_t two_sided; /* emits on both sides */
    uint8_t flags;     /* material_flags */
    uint8_t energy;    /* material_energy of rough conductors, glass, metallic plastic */
    uint8_t priority;  /* among overlapping closed meshes (nested.h); 0: none given */
    /* Texture indices or KD_NONE; a texture multiplies its constant. */
    uint32_t diffuse_map, specular_map, emission_map, opacity_map, roughness_map, metallic_map;
    uint32_t normal_map; /* tangent space */
    uint32_t bump_map;   /* height */
    float bump_scale;    /* height of white, in units of the texture's period */
    /* index of the medium behind the surface; KD_NONE: vacuum; MEDIUM_FOG: that of the scene */
    uint32_t medium;
    uint32_t medium_outside; /* index of the medium in front of the surface */
    /* dispersion_kind; if not NONE, the index of glass follows from index_terms */
    int32_t dispersion;
    float index_terms[6]; /* Cauchy: A, B, C; Sellmeier: B1, B2, B3, C1, C2, C3 */
} material;

/* Less frequently used parameters of a principled material, at its index in scene_view.layers. The
   following fields of `material` also apply: diffuse (base colour), roughness, metallic, ior,
   transmission, emission, opacity, normal_map, media, dispersion. */
typedef struct principled {
    float specular;     /* factor of the dielectric's normal reflectance, 0..1 / that of ior */
    vec3 specular_tint; /* tint of the dielectric's reflection at normal incidence */
    /* 0..1: alpha along the tangent is alpha / a, across it alpha a, with a^2 = 1 - 0.9
       anisotropy */
    float anisotropy;
    float turn; /* rotation of the tangent from u, counter-clockwise, radians */
    vec3 sheen; /* colour of the sheen, 0..1; 0: none */
    float sheen_roughness;
    float coat; /* fraction of the surface under a clear coat, 0..1 */
    float coat_roughness, coat_ior;
    float transmission; /* fraction of the non-metallic part that transmits light, 0..1 */
    float normal_scale; /* factor of the normal map's slopes */
    /* Texture indices or KD_NONE; a texture multiplies its constant. */
    uint32_t specular_map, specular_tint_map;
    uint32_t anisotropy_map; /* red, green: direction from u, -1..1; blue: factor */
    uint32_t sheen_map, sheen_roughness_map;
    uint32_t coat_map, coat_roughness_map, coat_normal_map;
    uint32_t transmission_map;
} principled;

KD_FN principled principled_default(void) {
    principled made;
    memset(&made, 0, sizeof made);
    made.specular = 1;
    made.specular_tint = vec3_all(1);
    made.sheen_roughness = 0.5f;
    made.coat_ior = 1.5f;
    made.normal_scale = 1;
    made.specular_map = made.specular_tint_map = made.anisotropy_map = KD_NONE;
    made.sheen_map = made.sheen_roughness_map = made.transmission_map = KD_NONE;
    made.coat_map = made.coat_roughness_map = made.coat_normal_map = KD_NONE;
    return made;
}

KD_FN material material_default(void) {
    material made;
    memset(&made, 0, sizeof made);
    made.kind = MATERIAL_DIFFUSE;
    made.diffuse = vec3_all(0.7f);
    made.transmission = vec3_all(1);
    made.ior = 1.5f;
    made.opacity = 1;
    made.diffuse_map = made.specular_map = made.emission_map = made.opacity_map = KD_NONE;
    made.roughness_map = made.metallic_map = made.normal_map = made.bump_map = KD_NONE;
    made.bump_scale = 1;
    made.medium = KD_NONE;
    made.medium_outside = MEDIUM_FOG;
    return made;
}

/* Returns true if some ray may skip the surface: it is a cut-out, a veil or hidden. */
KD_FN bool material_has_cutouts(const material *made) {
    return made->opacity < 1 || made->opacity_map != KD_NONE ||
           (made->flags & (MATERIAL_VERTEX_OPACITY | MATERIAL_HIDDEN));
}

/* Returns true if the material refracts light into what is behind it. */
KD_FN bool material_is_glassy(const material *made) {
    return made->kind == MATERIAL_GLASS ||
           (made->flags & (MATERIAL_PASSES | MATERIAL_THIN)) == MATERIAL_PASSES;
}

/* Returns true if there may be different media on the two sides. */
KD_FN bool material_bounds_media(const material *made) {
    return material_is_glassy(made) || made->medium != KD_NONE ||
           made->medium_outside != MEDIUM_FOG;
}

/* Colours of monochromatic light, and dispersion.
   Idea: white light contains all wavelengths. A path that hits dispersive glass samples one of them
   and has its colour from then on. The three channels see densities of wavelengths (overlapping
   tents). A channel is sampled by its fraction of the throughput, then a wavelength by its density;
   the colour is each channel's density divided by their mean.
   Invariants: the mean colour over all samples is exactly white, and the sum of the throughput's
   channels is the same before and after, so sampling neither creates nor loses energy, and no
   colour is negative. The tents were fitted to the colours of the CIE 1931 observer in Rec. 709
   primaries, clamped where those are negative; red has a second tent for the violet end.
   Sources: Cauchy 1836 and Sellmeier 1871 (the index of refraction); sampling is the one-sample
   balance heuristic of Veach 1997, section 9.2.4. */

/* Tents in micrometres: begin, peak, end. */
#define SPECTRUM_RED 0.530f, 0.605f, 0.690f
#define SPECTRUM_VIOLET 0.395f, 0.425f, 0.460f
#define SPECTRUM_GREEN 0.480f, 0.540f, 0.610f
#define SPECTRUM_BLUE 0.405f, 0.450f, 0.510f
#define SPECTRUM_VIOLET_SHARE 0.06f /* weight of the violet tent relative to the red one */
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

/* Returns the colour of a wavelength as the weight of its sample. */
KD_FN_CALL vec3 spectrum_colour(float wavelength, vec3 carried) {
    vec3 density;
    density.x = (1 - SPECTRUM_VIOLET_SHARE) * tent_density(SPECTRUM_RED, wavelength) +
                SPECTRUM_VIOLET_SHARE * tent_density(SPECTRUM_VIOLET, wavelength);
    density.y = tent_density(SPECTRUM_GREEN, wavelength);
    density.z = tent_density(SPECTRUM_BLUE, wavelength);
    const float mean = vec3_dot(medium_shares(carried), density);
    return mean > 0 ? vec3_scale(density, 1 / mean) : vec3_all(0);
}

/* Samples a wavelength in micrometres: `channel` selects a tent, u a position in it. */
KD_FN_CALL float spectrum_draw(vec3 carried, float channel, float u) {
    const vec3 share = medium_shares(carried);
    if (channel < SPECTRUM_VIOLET_SHARE * share.x) return tent_draw(SPECTRUM_VIOLET, u);
    if (channel < share.x) return tent_draw(SPECTRUM_RED, u);
    if (channel < share.x + share.y || !(share.z > 0)) return tent_draw(SPECTRUM_GREEN, u);
    return tent_draw(SPECTRUM_BLUE, u);
}

/* Returns the index of refraction of a dispersive material at a wavelength in micrometres. */
KD_FN_CALL float spectrum_index(const material *material, float wavelength) {
    const float *t = material->index_terms;
    const float square = wavelength * wavelength;
    if (material->dispersion == DISPERSION_CAUCHY) return t[0] + (t[1] + t[2] / square) / square;
    const float sum = t[0] * square / (square - t[3]) + t[1] * square / (square - t[4]) +
                      t[2] * square / (square - t[5]);
    return sqrtf(float_max(1 + sum, 0.01f));
}

/* Returns true if the indices at all visible wavelengths are valid. */
KD_FN bool spectrum_index_is_sound(const material *made) {
    for (int i = 0; i <= 16; ++i) {
        const float across = SPECTRUM_LONGEST - SPECTRUM_SHORTEST;
        const float index = spectrum_index(made, SPECTRUM_SHORTEST + across * (float)i / 16);
        /* 0.1: the argument of the root was clamped */
        if (!(index > 0.101f && index <= 10)) return false;
    }
    return true;
}

#endif
