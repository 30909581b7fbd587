/* Light that media scatter towards the camera, estimated from photon beams that cross the camera
   ray.
   Source: Jarosz, Nowrouzezahrai, Sadeghi and Jensen 2011, "A comprehensive theory of volumetric
           radiance estimation using photon points and beams", sections 5.2 (long beams) and 5.3
           (beam x beam, 1D blur); Jarosz, Zwicker and Jensen 2008, "The beam radiance estimate for
           volumetric photon mapping", which introduced queries along whole rays.
   Idea: a photon's whole path through the medium is stored. At the closest approach of ray and
         beam, the power that the medium scatters from the beam into the ray follows from their
         angle; only the shortest connection between them, a line, is blurred by a kernel.
             L = sum of power phase Tr(t + s) K(u / r) / (r sine),  t on the ray, s on the beam
         A beam contributes if the connection is unoccluded. The kernel is normalised over the
         unoccluded part of that line, so that the normalisation covers exactly the beams that are
         accepted.
   Work: the beam segments in boxes, enlarged by the radius, that the ray intersects; two short rays
         for each beam that contributes.
   Invariants: a crossing belongs to exactly one segment of a beam, since the test uses the same
               numbers for all segments; sums are integers (flux_sum.h), so the result has the same
               bits for any order of segments on any device. Apart from the kernel's blur and the
               end of a beam at a transmittance of 1 / 60,000, the estimate is unbiased.
   Differs from the source in: nearly parallel lines, for which 1 / sine is unbounded, are blurred
         in two dimensions (section 5.3), without regard to occlusion. */
#ifndef KD_PHOTON_DENSITY_BEAM_RADIANCE_H
#define KD_PHOTON_DENSITY_BEAM_RADIANCE_H
#include "photon/density/beams.h"
#include "photon/density/flux_sum.h"
#include "photon/density/kernels.h"
#include "shaders/transmittance.h"

/* A segment of a camera ray in one medium. */
typedef struct beam_flight {
    vec3 origin, direction; /* unit, away from the camera */
    float length;
    uint32_t medium_index; /* index of the medium */
    const struct medium *medium;
} beam_flight;

/* Lines are treated as parallel if the sine of their angle is below this. */
#define BEAM_PARALLEL 0x1p-8f
/* Sample points on a segment of a parallel beam. */
enum { BEAM_PARALLEL_STEPS = 8 };

/* Closest approach of two lines. Lengths on them are multiplied by the squared sine of the angle,
   so that most pairs are rejected without a division. */
typedef struct beam_crossing {
    vec3 normal; /* perpendicular to both lines, with the length of the sine */
    float sine2;
    float t, s; /* parameters of ray and beam, times sine2 */
    float u;    /* distance from ray to beam along `normal`, times the sine */
} beam_crossing;

KD_FN beam_crossing beam_cross(const beam_flight *flight, const beam *lit) {
    beam_crossing crossing;
    const vec3 offset = vec3_sub(lit->start, flight->origin);
    crossing.normal = vec3_cross(flight->direction, lit->direction);
    crossing.sine2 = vec3_length2(crossing.normal);
    crossing.u = vec3_dot(offset, crossing.normal);
    crossing.t = vec3_dot(vec3_cross(offset, lit->direction), crossing.normal);
    crossing.s = vec3_dot(vec3_cross(offset, flight->direction), crossing.normal);
    return crossing;
}

/* Returns true if the crossing lies within the radius, the ray segment and the beam segment. */
KD_FN bool beam_crosses(const beam_crossing *at, float radius, const beam_flight *flight,
                        const beam_piece *piece) {
    return at->u * at->u < radius * radius * at->sine2 && at->t >= 0 &&
           at->t < flight->length * at->sine2 && at->s >= piece->begin * at->sine2 &&
           at->s < piece->end * at->sine2;
}

/* Unoccluded length of a line from a point in the medium, at most `radius`. */
KD_FN float beam_free(const scene_view *world, vec3 from, vec3 direction, float radius,
                      uint32_t *rays) {
    const ray ray = ray_make(from, direction, 0, radius);
    ++*rays;
    const ray_hit hit = tritree_closest(&world->tree, ray);
    const medium_span span =
        transmittance_span(world, &ray, hit.triangle == KD_NONE ? radius : hit.t);
    return span.begin > 0 ? 0 : span.end;
}

/* Value of the kernel at u, divided by its integral along the unoccluded part of the line through a
   point of the ray, on which u is measured in direction `to`; 0 if the beam is occluded. */
KD_FN float beam_weight(const scene_view *world, const beam_view *beams, vec3 from, vec3 to,
                        float u, uint32_t *rays) {
    const float radius = beams->radius, per_radius = 1 / radius;
    const float ahead = beam_free(world, from, to, radius, rays);
    if (!(u <= ahead)) return 0;
    const float behind = beam_free(world, from, vec3_negate(to), radius, rays);
    const float whole = photon_kernel_line(beams->kernel, ahead * per_radius) +
                        photon_kernel_line(beams->kernel, behind * per_radius);
    return photon_kernel_at(beams->kernel, u * per_radius * (u * per_radius)) / whole;
}

/* Power of a beam that reaches the camera, after t on the ray and s on the beam. */
KD_FN vec3 beam_reaching(const beam_flight *flight, const beam *lit, float t, float s) {
    return vec3_mul(lit->power, medium_transmittance(flight->medium, t + s));
}

/* Contribution of a segment of a nearly parallel beam: the kernel over its disc, along the segment.
   Adds W/sr per length times the radius. */
KD_FN void beam_add_parallel(const beam_view *beams, const beam_flight *flight, const beam *lit,
                             const beam_piece *piece, flux_sum *sum) {
    const float radius = beams->radius, step = (piece->end - piece->begin) / BEAM_PARALLEL_STEPS;
    const float phase =
        medium_phase(flight->medium->g, -vec3_dot(lit->direction, flight->direction));
    const float scale = step * phase / (2 * KD_PI * photon_kernel_sector(beams->kernel) * radius);
    for (int i = 0; i < BEAM_PARALLEL_STEPS; ++i) {
        const float s = piece->begin + ((float)i + 0.5f) * step;
        const vec3 place = vec3_along(lit->start, s, lit->direction);
        const vec3 offset = vec3_sub(place, flight->origin);
        const float t = vec3_dot(offset, flight->direction);
        if (!(t >= 0 && t < flight->length)) continue;
        const vec3 off = vec3_sub(offset, vec3_scale(flight->direction, t));
        const float s2 = vec3_length2(off) / (radius * radius);
        const float weight = photon_kernel_at(beams->kernel, s2) * scale;
        if (weight > 0) flux_sum_add(sum, weight, beam_reaching(flight, lit, t, s), beams->scale);
    }
}

/* Contribution of a beam at a crossing. */
KD_FN void beam_add_crossed(const scene_view *world, const beam_view *beams,
                            const beam_flight *flight, const beam *lit, const beam_crossing *at,
                            flux_sum *sum, uint32_t *rays) {
    const float sine = sqrtf(at->sine2), t = at->t / at->sine2, s = at->s / at->sine2;
    const vec3 to = vec3_scale(at->normal, (at->u < 0 ? -1.0f : 1.0f) / sine);
    const vec3 from = vec3_along(flight->origin, t, flight->direction);
    const float kernel = beam_weight(world, beams, from, to, fabsf(at->u) / sine, rays);
    if (!(kernel > 0)) return;
    const float phase =
        medium_phase(flight->medium->g, -vec3_dot(lit->direction, flight->direction));
    flux_sum_add(sum, kernel * phase / sine, beam_reaching(flight, lit, t, s), beams->scale);
}

/* Contribution of a beam segment to the ray segment, W/sr per length times the radius. */
KD_FN void beam_add(const scene_view *world, const beam_view *beams, const beam_flight *flight,
                    const beam_piece *piece, flux_sum *sum, uint32_t *rays) {
    const beam *lit = &beams->beams[piece->beam];
    const beam_crossing at = beam_cross(flight, lit);
    if (lit->medium != flight->medium_index) return;
    if (!(at.sine2 >= BEAM_PARALLEL * BEAM_PARALLEL))
        beam_add_parallel(beams, flight, lit, piece, sum);
    else if (beam_crosses(&at, beams->radius, flight, piece))
        beam_add_crossed(world, beams, flight, lit, &at, sum, rays);
}

/* --- traversal -------------------------------------------------------------------------------- */

/* A ray prepared for box tests: no component of the direction is 0. */
typedef struct beam_line {
    vec3 origin, inverse;
    float length, wide;
} beam_line;

KD_FN float beam_inverse(float x) {
    return 1 / (fabsf(x) > 1e-18f ? x : 1e-18f);
}

KD_FN beam_line beam_line_of(const beam_flight *flight, float wide) {
    beam_line line;
    line.origin = flight->origin;
    line.inverse = vec3_make(beam_inverse(flight->direction.x), beam_inverse(flight->direction.y),
                             beam_inverse(flight->direction.z));
    line.length = flight->length;
    line.wide = wide;
    return line;
}

KD_FN void beam_slab(float lo, float hi, float origin, float inverse, float *near, float *far) {
    const float a = (lo - origin) * inverse, b = (hi - origin) * inverse;
    *near = float_max(*near, float_min(a, b));
    *far = float_min(*far, float_max(a, b));
}

/* Returns true if the line passes within `wide` of the box. */
KD_FN bool beam_intersects(const beam_line *line, const beam_node *node) {
    const vec3 o = line->origin, d = line->inverse;
    const float w = line->wide;
    float near = 0, far = line->length;
    beam_slab(node->lo.x - w, node->hi.x + w, o.x, d.x, &near, &far);
    beam_slab(node->lo.y - w, node->hi.y + w, o.y, d.y, &near, &far);
    beam_slab(node->lo.z - w, node->hi.z + w, o.z, d.z, &near, &far);
    return near <= far + w;
}

/* Sum over the beam segments near the ray segment, in the units of beam_add. */
KD_FN flux_sum beams_sum(const scene_view *world, const beam_view *beams, const beam_flight *flight,
                         uint32_t *rays) {
    flux_sum sum = flux_sum_none();
    const beam_line line = beam_line_of(flight, beams->radius + beams->slack);
    for (uint32_t n = 0; n < beams->node_count;) {
        const beam_node *node = &beams->nodes[n];
        if (!beam_intersects(&line, node)) {
            n = node->beyond;
            continue;
        }
        ++n;
        if (node->first == KD_NONE) continue;
        for (uint32_t p = node->first; p < node->first + BEAM_LEAF && p < beams->piece_count; ++p)
            beam_add(world, beams, flight, &beams->pieces[p], &sum, rays);
    }
    return sum;
}

/* Radiance that the medium scatters from beams against the ray's direction, at the start of the ray
   segment, W/(sr m^2). `rays` counts the rays traced. */
KD_FN_NOINLINE vec3 beams_radiance(const scene_view *world, const beam_view *beams,
                                   const beam_flight *flight, uint32_t *rays) {
    if (beams->node_count == 0 || !(beams->radius > 0)) return vec3_all(0);
    const flux_sum sum = beams_sum(world, beams, flight, rays);
    if (flux_sum_is_zero(&sum)) return vec3_all(0);
    return vec3_mul(flux_sum_scaled(&sum, beams->scale, 1 / beams->radius),
                    flight->medium->scattering);
}

#endif
