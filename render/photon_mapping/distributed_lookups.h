/* Samples of `photon` and `sppm` on CPUs with photons distributed over the ranks that traced
   them (photon_options.distributed). Each rank traces all camera paths and looks up its own
   photons; integer sums are reduced over the ranks, so the result has the same bits as on a single
   rank. */
#ifndef KD_RENDER_PHOTON_MAPPING_DISTRIBUTED_LOOKUPS_H
#define KD_RENDER_PHOTON_MAPPING_DISTRIBUTED_LOOKUPS_H
#include "photon/maps/photon_map.h"
#include "render/frame/frame.h"
#include "render/photon_mapping/eye_path.h"

/* Takes sample `range->sample` of the film's rows; keeps the sums of the rank's own rows.
   Collective. Sets *over if the job of some rank was cancelled. */
kd_status distributed_lookups_take(const frame *frame, film *film, const photon_maps *maps,
                                   const photon_view *view, const distributed_range *range,
                                   sample_counts *counts, bool *over);
/* Bytes that a rank needs. `gather`: k of the estimate; 0: fixed radius. */
uint64_t distributed_lookups_bytes(uint32_t gather);
/* Bytes that a rank sends for one sample of each of `pixels` pixels. */
uint64_t distributed_lookups_sent(uint64_t pixels, uint32_t gather, int32_t rank_count);

#endif
