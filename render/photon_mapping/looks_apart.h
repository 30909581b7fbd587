/* Samples of `photon`, `sppm` and `ppm` where photons lie apart, at the ranks that have traced them
   (photon_options.apart): each rank follows all paths from the eye, looks into its own photons, and
   whole numbers meet. The same bits as with all photons at one rank. */
#ifndef KD_RENDER_PHOTON_MAPPING_LOOKS_APART_H
#define KD_RENDER_PHOTON_MAPPING_LOOKS_APART_H
#include "photon/maps/photon_map.h"
#include "render/frame/frame.h"
#include "render/photon_mapping/eye_path.h"

/* Sample `range->sample` of the film's rows, by all ranks together; the own rows' sums are kept.
   The camera's ray is that of sample modulo `period`, if that is not 0. *over: a rank was told to
   stop. */
kd_status looks_apart_take(const frame *of, film *to, const photon_maps *maps,
                           const photon_view *view, const apart_range *range, uint32_t period,
                           sample_counts *counts, bool *over);
/* Bytes that a rank keeps for it, and that it sends for the samples of so many pixels: by an
   estimate of `gather` nearest photons, 0: within a fixed radius. */
uint64_t looks_apart_bytes(uint32_t gather);
uint64_t looks_apart_sent(uint64_t pixels, uint32_t gather, int32_t rank_count);

#endif
