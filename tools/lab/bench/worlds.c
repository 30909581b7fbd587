/* kandela bench worlds: a scene of rays as a simulator of robots has it. Each world holds four
   spheres of 2,450 triangles and eight boxes at random poses, and a lidar of 10,000 rays. Rows:
   moving all instances and committing, closest hits, any hits. Before timing, the hits in the first
   worlds are compared with those of the same scene on the CPU. */
#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/math/rng.h"
#include "core/memory.h"
#include "tools/lab/bench/bench.h"
#include "tools/lab/bench/inputs.h"
#include <kandela/ray_scenes.h>
#include <math.h>
#include <string.h>

enum { MESHES = 2, ROBOTS = 4, PLACED = 12, ELEVATIONS = 20, AZIMUTHS = 500, CHECKED = 50 };
enum { RAYS = ELEVATIONS * AZIMUTHS, SIDE = 36, CORNERS = SIDE * SIDE };

static const double PI = 3.14159265358979323846;

typedef struct worlds_mesh {
    float xyz[3 * CORNERS];
    uint32_t triangles[6 * CORNERS];
} worlds_mesh;

typedef struct worlds_case {
    const bench_request *request;
    const char *device;
    bool on_device;
    uint32_t worlds;
    uint64_t count; /* rays */
    kd_triangles *trees[MESHES];
    kd_ray_scene *scene;
    double *transforms; /* two sets of one per instance, used in turn */
    int turn;
    kd_ray_query query;
    void *rays, *ray_worlds, *results; /* where the scene is */
} worlds_case;

/* Builds the tree of a bumpy sphere of 36 x 36 vertices, or of a box. */
static kd_status make_tree(kd_triangles **out, worlds_mesh *mesh, bool sphere, const char *device) {
    static const uint32_t box[36] = {0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1,
                                     2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3};
    uint64_t vertices = 8, triangles = 12;
    memcpy(mesh->triangles, box, sizeof box);
    for (int i = 0; i < 24; ++i) mesh->xyz[i] = (i / 3) >> (2 - i % 3) & 1 ? 1 : -1;
    if (sphere) {
        vertices = triangles = 0;
        for (uint32_t i = 0; i < CORNERS; ++i, ++vertices) {
            const double u = 2 * PI * (i % SIDE) / (SIDE - 1), v = PI * (i / SIDE) / (SIDE - 1);
            const double r = 1 + 0.1 * sin(9 * u) * sin(7 * v);
            const double at[3] = {cos(u) * sin(v) * r, sin(u) * sin(v) * r, cos(v) * r};
            for (uint32_t axis = 0; axis < 3; ++axis) mesh->xyz[3 * i + axis] = (float)at[axis];
            if (i % SIDE == SIDE - 1 || i / SIDE == SIDE - 1) continue;
            const uint32_t corners[6] = {i, i + SIDE, i + SIDE + 1, i, i + SIDE + 1, i + 1};
            memcpy(mesh->triangles + 3 * triangles, corners, sizeof corners);
            triangles += 2;
        }
    }
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", device);
    const kd_triangle_mesh given =
        kd_triangle_mesh_make(mesh->xyz, vertices, mesh->triangles, triangles);
    return kd_triangles_open(out, &given, &options);
}

/* Sets a random rotation, and a position in a cube of side 16. */
static void place(double *m, uint64_t i) {
    const rng_block a = rng_draw(rng_key_make(7, 0, i), 0, 0);
    const rng_block b = rng_draw(rng_key_make(7, 0, i), 0, 1);
    const double turn = 2 * PI * (double)a.value[0], roll = 2 * PI * (double)a.value[1];
    const double s = sqrt((double)a.value[2]), c = sqrt(1 - (double)a.value[2]);
    const double x = s * cos(turn), y = s * sin(turn), z = c * cos(roll), w = c * sin(roll);
    const double rows[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                               {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                               {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    for (int row = 0; row < 3; ++row) {
        memcpy(m + 4 * row, rows[row], sizeof rows[row]);
        m[4 * row + 3] = 16 * (double)b.value[row] - 8;
    }
}

static kd_status fill_scene(worlds_case *bench) {
    const uint64_t total = (uint64_t)bench->worlds * PLACED;
    worlds_mesh *mesh = NULL;
    kd_status status = KD_RESERVE(mesh, 1);
    for (int i = 0; i < MESHES && status == KD_OK; ++i)
        status = make_tree(&bench->trees[i], mesh, i == 0, bench->device);
    memory_free(mesh);
    KD_TRY(status);
    KD_TRY(kd_ray_scene_open(&bench->scene, bench->worlds));
    for (int i = 0; i < MESHES; ++i)
        KD_TRY(kd_ray_scene_add_geometry(bench->scene, bench->trees[i], NULL));
    KD_TRY(KD_RESERVE(bench->transforms, 24 * total));
    for (uint64_t i = 0; i < total; ++i) {
        kd_ray_instance instance = kd_ray_instance_make(i % PLACED >= ROBOTS);
        instance.world = (uint32_t)(i / PLACED);
        place(bench->transforms + 12 * i, i);
        place(bench->transforms + 12 * (total + i), i);
        bench->transforms[12 * (total + i) + 3] += 0.01; /* a small step */
        memcpy(instance.transform, bench->transforms + 12 * i, sizeof instance.transform);
        KD_TRY(kd_ray_scene_add_instances(bench->scene, &instance, 1, NULL));
    }
    return kd_ray_scene_commit(bench->scene);
}

/* Copies an array to where the scene is, and frees it. */
static kd_status take_array(worlds_case *bench, void **out, void *host, uint64_t bytes) {
    *out = host;
    if (!bench->on_device) return KD_OK;
    *out = NULL;
    kd_status status = device_memory_reserve(out, bytes);
    if (status == KD_OK) status = device_memory_upload(*out, host, bytes);
    memory_free(host);
    return status;
}

static kd_status fill_rays(worlds_case *bench) {
    kd_ray *rays = NULL;
    uint32_t *worlds = NULL;
    void *results = NULL;
    KD_TRY(KD_RESERVE(rays, bench->count));
    for (uint64_t i = 0; i < bench->count; ++i) {
        const uint32_t at = (uint32_t)(i % RAYS);
        const double up = PI / 180 * (-25 + 40.0 * (at / AZIMUTHS) / (ELEVATIONS - 1));
        const double turn = 2 * PI * (at % AZIMUTHS) / AZIMUTHS;
        const float d[3] = {(float)(cos(up) * cos(turn)), (float)(cos(up) * sin(turn)),
                            (float)sin(up)};
        memset(&rays[i], 0, sizeof rays[i]);
        memcpy(rays[i].direction, d, sizeof d);
        rays[i].tmax = INFINITY;
    }
    KD_TRY(take_array(bench, &bench->rays, rays, bench->count * sizeof *rays));
    KD_TRY(KD_RESERVE(worlds, bench->count));
    for (uint64_t i = 0; i < bench->count; ++i) worlds[i] = (uint32_t)(i / RAYS);
    KD_TRY(take_array(bench, &bench->ray_worlds, worlds, bench->count * sizeof *worlds));
    KD_TRY(memory_reserve_zeroed(&results, bench->count, sizeof(kd_scene_hit)));
    KD_TRY(take_array(bench, &bench->results, results, bench->count * sizeof(kd_scene_hit)));
    kd_ray_query_default(&bench->query);
    bench->query.rays = (const kd_ray *)bench->rays;
    bench->query.worlds = (const uint32_t *)bench->ray_worlds;
    bench->query.count = bench->count;
    return KD_OK;
}

static kd_status move_all(worlds_case *bench) {
    const uint64_t total = (uint64_t)bench->worlds * PLACED;
    bench->turn = !bench->turn;
    KD_TRY(kd_ray_scene_set_transforms(
        bench->scene, 0, bench->transforms + 12 * total * (uint64_t)bench->turn, total));
    return kd_ray_scene_commit(bench->scene);
}

static kd_status find_closest(worlds_case *bench) {
    return kd_ray_scene_intersect(bench->scene, &bench->query, (kd_scene_hit *)bench->results);
}

static kd_status find_any(worlds_case *bench) {
    return kd_ray_scene_occluded(bench->scene, &bench->query, (uint8_t *)bench->results);
}

static kd_status time_call(worlds_case *bench, kd_status (*call)(worlds_case *), const char *name,
                           uint64_t items) {
    bench_row row = {.bench = "worlds",
                     .set = "lidar",
                     .builder = name,
                     .device = bench->device,
                     .n = bench->worlds,
                     .runs = bench->request->runs,
                     .items = (double)items,
                     .rate_name = call == move_all ? "instances_per_second" : "rays_per_second",
                     .checked = bench->on_device};
    for (int run = -1; run < row.runs; ++run) {
        const double started = timing_now();
        KD_TRY(call(bench));
        if (bench->on_device) KD_TRY(device_wait());
        if (run >= 0) row.seconds[run] = timing_now() - started;
    }
    return bench_report(bench->request, &row);
}

static void close_case(worlds_case *bench) {
    void (*release)(void *) = bench->on_device ? device_memory_free : memory_free;
    kd_ray_scene_close(bench->scene);
    for (int i = 0; i < MESHES; ++i) kd_triangles_close(bench->trees[i]);
    memory_free(bench->transforms);
    release(bench->rays);
    release(bench->ray_worlds);
    release(bench->results);
}

static kd_status open_case(worlds_case *bench, const bench_request *request, const char *device,
                           uint32_t worlds) {
    memset(bench, 0, sizeof *bench);
    bench->request = request;
    bench->device = device;
    bench->on_device = strcmp(device, "cpu") != 0;
    bench->worlds = worlds;
    bench->count = (uint64_t)worlds * RAYS;
    KD_TRY(fill_scene(bench));
    return fill_rays(bench);
}

/* Compares the hits in the first worlds with those of the same worlds on the CPU. */
static kd_status check_hits(worlds_case *bench) {
    const uint32_t worlds = bench->worlds < CHECKED ? bench->worlds : CHECKED;
    const uint64_t bytes = (uint64_t)worlds * RAYS * sizeof(kd_scene_hit);
    worlds_case oracle;
    void *hits = NULL;
    kd_status status = open_case(&oracle, bench->request, "cpu", worlds);
    if (status == KD_OK) status = find_closest(&oracle);
    if (status == KD_OK) status = find_closest(bench);
    if (status == KD_OK) status = memory_reserve(&hits, bytes, 1);
    if (status == KD_OK) status = device_memory_download(hits, bench->results, bytes);
    if (status == KD_OK && memcmp(hits, oracle.results, bytes) != 0)
        status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                             "worlds: the hits on %s differ from the CPU's", bench->device);
    memory_free(hits);
    close_case(&oracle);
    return status;
}

static kd_status run_case(worlds_case *bench) {
    if (bench->on_device) KD_TRY(check_hits(bench));
    KD_TRY(time_call(bench, find_closest, "closest", bench->count));
    KD_TRY(time_call(bench, find_any, "any", bench->count));
    return time_call(bench, move_all, "commit", (uint64_t)bench->worlds * PLACED);
}

kd_status bench_worlds(const bench_request *request) {
    static const char *const devices[] = {"cpu", "cuda:0"};
    uint64_t worlds = request->quick ? 20 : 1000;
    if (request->sizes.count) KD_TRY(bench_count(&worlds, &request->sizes, 0));
    KD_REQUIRE(worlds >= 1 && worlds <= 100000, KD_ERROR_USAGE,
               "the size is %llu; expected 1 to 100000 worlds", (unsigned long long)worlds);
    for (int i = 0; i < 2; ++i) {
        worlds_case bench;
        if (i ? !bench_selects_cuda(request) : !bench_selects(&request->devices, "cpu")) continue;
        kd_status status = open_case(&bench, request, devices[i], (uint32_t)worlds);
        if (status == KD_OK) status = run_case(&bench);
        close_case(&bench);
        KD_TRY(status);
    }
    return KD_OK;
}
