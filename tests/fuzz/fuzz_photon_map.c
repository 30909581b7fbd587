/* Photon map files: arbitrary bytes are rejected, or give maps whose estimates are finite. Each
   input is read as it is and with recomputed checksums, as an attacker would write them. */
#include "accel/builders.h"
#include "core/hash.h"
#include "core/job.h"
#include "photon/density/estimate_radius.h"
#include "photon/maps/photon_file.h"
#include "photon/maps/photon_map.h"
#include "tests/fuzz/fuzz.h"
#include <signal.h>
#include <string.h>
#include <time.h>

enum { LISTS = sizeof((photon_file *)0)->lists / sizeof *((photon_file *)0)->lists };
enum { LIST_BYTES = (PHOTON_FILE_HEADER_BYTES - 32) / LISTS };

/* A square of two triangles on which every photon must lie. */
static const vec3 corners[4] = {{-1, 0, -1}, {1, 0, -1}, {1, 0, 1}, {-1, 0, 1}};
static const uint32_t triangles[6] = {0, 1, 2, 0, 2, 3};
static const uint32_t materials[2] = {0, 0};

static void make_scene(scene_view *out) {
    static tritree tree; /* built once for all inputs */
    static material white;
    if (tree.node_count == 0) {
        const tritree_input input = {corners, triangles, 4, 2};
        const tritree_options options = tritree_options_default();
        FUZZ_REQUIRE(tritree_open(&tree, &input, &options, "auto", NULL) == KD_OK);
        white = material_default();
    }
    memset(out, 0, sizeof *out);
    out->mesh.positions = corners;
    out->mesh.triangles = triangles;
    out->mesh.triangle_materials = materials;
    out->mesh.position_count = 4;
    out->mesh.triangle_count = out->mesh.stored_count = 2;
    out->materials = &white;
    out->material_count = 1;
    out->tree = tritree_get_view(&tree);
}

/* Recomputes the hashes of the sections whose sizes the header claims, as far as the bytes
   suffice. */
static void sign(uint8_t *bytes, size_t count) {
    size_t at = PHOTON_FILE_HEADER_BYTES;
    if (count < at) return;
    for (size_t l = 0; l < LISTS; ++l) {
        uint8_t *list = bytes + 24 + l * LIST_BYTES;
        uint64_t photons;
        memcpy(&photons, list, sizeof photons);
        if (photons > (count - at) / sizeof(photon)) return;
        const uint64_t hash = hash_bytes(bytes + at, photons * sizeof(photon));
        memcpy(list + LIST_BYTES - sizeof hash, &hash, sizeof hash);
        at += photons * sizeof(photon);
    }
    uint64_t trees = 0;
    for (size_t l = 0; l < LISTS; ++l) {
        uint64_t photons;
        memcpy(&photons, bytes + 24 + l * LIST_BYTES, sizeof photons);
        if (photons > (count - at) / sizeof(uint32_t)) break; /* files of version 2 have no trees */
        const uint64_t hash = hash_bytes(bytes + at, photons * sizeof(uint32_t));
        trees = hash_combine(trees, &hash, sizeof hash);
        at += photons * sizeof(uint32_t);
    }
    if (count - at == sizeof trees) memcpy(bytes + at, &trees, sizeof trees);
    const size_t place = PHOTON_FILE_HEADER_BYTES - sizeof(uint64_t);
    const uint64_t hash = hash_bytes(bytes, place);
    memcpy(bytes + place, &hash, sizeof hash);
}

/* The tiles of a tiny gather radius take a minute under sanitizers: each build is cancelled after
   CANCEL_SECONDS, and one that does not end soon afterwards is reported as a timeout. */
enum { CANCEL_SECONDS = 1 };
static job_control job;

static void cancel(int number) {
    (void)number;
    atomic_store(&job.cancelled, true);
}

static void set_timer(timer_t timer, time_t seconds) {
    const struct itimerspec when = {{0, 0}, {seconds, 0}};
    FUZZ_REQUIRE(timer_settime(timer, 0, &when, NULL) == 0);
}

static kd_status build_maps(photon_maps *maps, const scene_view *scene, photon_list *lists,
                            const photon_options *options) {
    static timer_t timer;
    static bool timer_made;
    if (!timer_made) {
        struct sigevent event;
        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGRTMIN; /* libFuzzer uses SIGALRM */
        signal(SIGRTMIN, cancel);
        FUZZ_REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
        timer_made = true;
    }
    job_init(&job);
    set_timer(timer, CANCEL_SECONDS);
    const kd_status status = photon_maps_build_trees(maps, scene, lists, options, &job);
    set_timer(timer, 0);
    return status;
}

static void lookup_all(photon_file *file, const scene_view *scene) {
    photon_options options = photon_options_default();
    photon_maps maps;
    options.gather = 4;
    if (build_maps(&maps, scene, file->lists, &options) != KD_OK) return;
    photon_map_view view = photon_maps_global(&maps);
    const tile_view tiles = photon_maps_tiles(&maps);
    const estimate_point at = {{0.1f, 0, 0.2f}, {0, 1, 0}, 0, NULL, NULL};
    for (int adaptive = 0; adaptive < 2; ++adaptive) {
        view.adaptive = adaptive != 0;
        const vec3 actual = photon_irradiance(&view, &tiles, &at);
        FUZZ_REQUIRE(actual.x >= 0 && actual.y >= 0 && actual.z >= 0); /* false for NaN */
    }
    photon_maps_close(&maps);
}

static void open_once(const uint8_t *bytes, size_t count) {
    scene_view scene;
    photon_file file;
    make_scene(&scene);
    if (photon_file_open(&file, fuzz_file(bytes, count)) != KD_OK) return;
    uint64_t photons = 0;
    for (int l = 0; l < LISTS; ++l) photons += file.lists[l].count;
    const size_t trees =
        file.lists[PHOTON_LIST_GLOBAL].nodes ? photons * sizeof(uint32_t) + sizeof(uint64_t) : 0;
    FUZZ_REQUIRE(PHOTON_FILE_HEADER_BYTES + photons * sizeof(photon) + trees == count);
    if (photon_file_check_scene(&file, "fuzz", &scene, file.scene) == KD_OK)
        lookup_all(&file, &scene);
    photon_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    open_once(bytes, count);
    uint8_t *copy = (uint8_t *)malloc(count ? count : 1);
    if (!copy) return 0;
    if (count) memcpy(copy, bytes, count);
    sign(copy, count);
    open_once(copy, count);
    free(copy);
    return 0;
}
