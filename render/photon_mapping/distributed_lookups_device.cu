/* Lookups in photons that are distributed over ranks with a CUDA device each.
   Idea: each rank traces only the paths of its own rows. All ranks receive the requests of all
         ranks, and each answers them from its own photons, in integer sums (flux_sum.h). The sums
         are reduced over the ranks, and each rank uses those of its own requests.
   Work: paths and film for 1/N of the rows, lookups of all rows in 1/N of the photons.
   Memory: the requests of all ranks, and 48 bytes of sums for each.
   Invariants: the sums have the bits of a single rank with all photons.
   Data flow: 1. The rank's requests and packets are copied to their offsets in the lists of all
                 ranks.
              2. shift_packets, one thread per packet, adds the offset of the rank's requests.
              3. An all-gather completes both lists on every rank.
              4. The gathering kernels, once per map, write the sums of all requests.
              5. The sums are reduced over the ranks.
              6. The rank's own sums are copied, and fill_radii, one thread per request, writes
                 their radii. */
#include "core/device/cuda.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "points/tree/pointtree.h"
#include "render/photon_mapping/photon.h"

namespace {

constexpr int BLOCK = 256, MAPS = 2, CHANNELS = sizeof(flux_sum) / sizeof(int64_t);

__global__ void shift_packets(eye_packet *packets, uint32_t count, uint32_t shift) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) packets[i].first += shift;
}

__global__ void fill_radii(float *radii, uint32_t count, float radius) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) radii[i] = radius;
}

/* Offsets of each rank's requests and packets among those of all; size + 1 values each. */
struct places {
    uint64_t *requests, *packets;
};

kd_status find_places(places *out, ranks *comm, const eye_request_counts *counts) {
    const uint64_t size = (uint64_t)comm->size;
    eye_request_counts *all = NULL;
    KD_TRY(KD_RESERVE(all, size));
    all[comm->rank] = *counts;
    kd_status status = ranks_all_gather_even(comm, all, sizeof *all);
    if (status == KD_OK) status = KD_RESERVE_ZEROED(out->requests, 2 * (size + 1));
    if (status == KD_OK) {
        out->packets = out->requests + size + 1;
        for (uint64_t r = 0; r < size; ++r) {
            out->requests[r + 1] = out->requests[r] + all[r].requests;
            out->packets[r + 1] = out->packets[r] + all[r].packets;
        }
    }
    memory_free(all);
    return status;
}

/* Reserves memory for the data of all ranks. If one rank fails, the others must not start a device
   collective, which would never end: so the ranks exchange the result through the host first. */
kd_status reserve_received(lookups_received *received, ranks *comm, const places *at) {
    const uint64_t requests = at->requests[comm->size], packets = at->packets[comm->size];
    bool any = false;
    KD_TRY(device_buffer_reserve(&received->requests, requests * sizeof(eye_request)));
    KD_TRY(device_buffer_reserve(&received->packets, packets * sizeof(eye_packet)));
    KD_TRY(device_buffer_reserve(&received->sums, MAPS * requests * sizeof(flux_sum)));
    KD_TRY(device_buffer_reserve(&received->radii, requests * sizeof(float)));
    KD_TRY(device_buffer_reserve(&received->alone, (requests + 2) * sizeof(uint32_t)));
    return ranks_any(comm, false, &any);
}

/* Copies this rank's part of a list to its offset. */
kd_status put_own(device_buffer *to, const device_buffer *from, const uint64_t *begins,
                  const ranks *comm, uint64_t bytes) {
    const uint64_t begin = begins[comm->rank], end = begins[comm->rank + 1];
    return device_copy((char *)to->memory + begin * bytes, from->memory, (end - begin) * bytes,
                       NULL);
}

/* All-gather of a list, with offsets converted to bytes. */
kd_status gather_list(ranks *comm, device_buffer *list, const uint64_t *begins, uint64_t bytes) {
    uint64_t *in_bytes = NULL;
    KD_TRY(KD_RESERVE(in_bytes, (uint64_t)comm->size + 1));
    for (int32_t r = 0; r <= comm->size; ++r) in_bytes[r] = begins[r] * bytes;
    const kd_status status = ranks_device_gather(comm, list->memory, in_bytes);
    memory_free(in_bytes);
    return status;
}

kd_status gather_requests(photon_cuda *device_photons, ranks *comm, const places *at) {
    lookups_received *received = &device_photons->received;
    const uint64_t first = at->packets[comm->rank], packets = at->packets[comm->rank + 1] - first;
    KD_TRY(put_own(&received->requests, &device_photons->requests, at->requests, comm,
                   sizeof(eye_request)));
    KD_TRY(put_own(&received->packets, &device_photons->packets, at->packets, comm,
                   sizeof(eye_packet)));
    if (packets) {
        shift_packets<<<cuda_blocks(packets, BLOCK), BLOCK>>>(
            (eye_packet *)received->packets.memory + first, (uint32_t)packets,
            (uint32_t)at->requests[comm->rank]);
        KD_CUDA_LAUNCHED("shift_packets");
    }
    KD_TRY(device_wait());
    KD_TRY(gather_list(comm, &received->requests, at->requests, sizeof(eye_request)));
    return gather_list(comm, &received->packets, at->packets, sizeof(eye_packet));
}

const photon_map_view *map_of(const photon_view *view, int m) {
    return m ? &view->caustic : &view->global;
}

/* Answers all requests from this rank's photons, then reduces the sums over the ranks. */
kd_status sum_all(photon_cuda *device_photons, ranks *comm, const photon_view *view,
                  const places *at) {
    lookups_received *received = &device_photons->received;
    const uint64_t count = at->requests[comm->size];
    photon_gather_cuda gather;
    gather.requests = (const eye_request *)received->requests.memory;
    gather.count = (uint32_t)count;
    gather.packets = (const eye_packet *)received->packets.memory;
    gather.packet_count = (uint32_t)at->packets[comm->size];
    gather.order = NULL;
    gather.alone = (uint32_t *)received->alone.memory;
    gather.radii = (float *)received->radii.memory;
    for (int m = 0; m < MAPS; ++m) {
        gather.sums = (flux_sum *)received->sums.memory + (uint64_t)m * count;
        const float radius = map_of(view, m)->radius;
        KD_TRY(photon_maps_cuda_gather(&device_photons->maps, m, 0, radius, &gather));
        KD_TRY(photon_maps_cuda_hide(&device_photons->maps, m, 0, radius, &gather, NULL));
    }
    KD_TRY(device_wait());
    return ranks_device_sum(comm, (int64_t *)received->sums.memory, MAPS * CHANNELS * count);
}

kd_status fill_local(photon_cuda *device_photons, const ranks *comm, const photon_view *view,
                     const places *at) {
    const uint64_t begin = at->requests[comm->rank], count = at->requests[comm->size],
                   owned_count = at->requests[comm->rank + 1] - begin;
    for (int m = 0; owned_count && m < MAPS; ++m) {
        const float radius = map_of(view, m)->radius;
        const bool valid =
            device_photons->maps.map[m].list.count > 0 && pointtree_bound2(radius) > 0;
        KD_TRY(device_copy(device_photons->sums[m].memory,
                           (flux_sum *)device_photons->received.sums.memory + (uint64_t)m * count +
                               begin,
                           owned_count * sizeof(flux_sum), NULL));
        fill_radii<<<cuda_blocks(owned_count, BLOCK), BLOCK>>>(
            (float *)device_photons->radii[m].memory, (uint32_t)owned_count, valid ? radius : 0);
        KD_CUDA_LAUNCHED("fill_radii");
    }
    return KD_OK;
}

kd_status show(photon_cuda *device_photons, ranks *comm, const photon_view *view,
               const places *at) {
    KD_REQUIRE(at->requests[comm->size] < UINT32_MAX, KD_ERROR_USAGE,
               "%llu lookups at once exceed the limit of 2^32 for distributed photon maps: use a "
               "smaller --resolution or a --crop",
               (unsigned long long)at->requests[comm->size]);
    if (at->requests[comm->size] == 0) return KD_OK;
    KD_TRY(reserve_received(&device_photons->received, comm, at));
    KD_TRY(gather_requests(device_photons, comm, at));
    KD_TRY(sum_all(device_photons, comm, view, at));
    return fill_local(device_photons, comm, view, at);
}

} // namespace

extern "C" kd_status distributed_lookups_device(photon_cuda *device_photons, ranks *comm,
                                                const photon_view *view,
                                                const eye_request_counts *counts) {
    places at = {NULL, NULL};
    KD_TRY(find_places(&at, comm, counts));
    const kd_status status = show(device_photons, comm, view, &at);
    memory_free(at.requests);
    return status;
}
