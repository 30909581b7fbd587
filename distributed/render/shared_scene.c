#include "distributed/render/shared_scene.h"
#include "core/files/file.h"
#include "core/memory.h"

static kd_status load(scene **out, const scene_request *request) {
    return scene_open_instanced(out, request->path, request->environment, request->from_file,
                                request->job);
}

/* Reads the scene and all its files into the bundle. */
static kd_status load_and_pack(scene **out, file_bundle *bundle, const scene_request *request) {
    file_view map;
    file_bundle_pack();
    KD_TRY(load(out, request));
    const char *path = request->photon_map;
    if (!path) path = request->from_file->photon_map;
    if (path) KD_TRY(file_open(&map, path)); /* include it in the bundle */
    if (path) file_close(&map);
    KD_TRY(file_bundle_seal(bundle));
    return KD_OK;
}

kd_status scene_open_shared(scene **out, ranks *comm, file_bundle *bundle,
                            const scene_request *request) {
    if (!ranks_shared(comm)) return load(out, request);
    if (comm->rank == 0) KD_TRY(load_and_pack(out, bundle, request));
    uint64_t count = bundle->count;
    KD_TRY(ranks_broadcast(comm, &count, sizeof count));
    if (comm->rank > 0) KD_TRY(KD_RESERVE(bundle->bytes, count));
    bundle->count = count;
    KD_TRY(ranks_broadcast(comm, bundle->bytes, count));
    if (comm->rank == 0) {
        file_bundle_close(bundle);
        return KD_OK;
    }
    file_bundle_unpack(bundle);
    return load(out, request);
}
