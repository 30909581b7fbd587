#include "photon/maps/photon_file.h"
#include "core/files/file.h"
#include "core/hash.h"
#include "core/memory.h"
#include "points/select/builders.h"
#include <stdlib.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the file is written as it lies in memory");
static_assert(sizeof(photon) == 4 * sizeof(vec3) + 12, "the layout is part of the file format");

static const char file_magic[8] = "KDPHOTO";

typedef struct list_header {
    uint64_t count, emitted, rays, complete;
    double watts[6]; /* emitted, absorbed, escaped, ended, cut, media */
    uint64_t hash;   /* hash of the photons */
} list_header;

typedef struct file_header {
    char magic[8];
    uint64_t version, scene;
    list_header lists[PHOTON_LISTS];
    uint64_t hash; /* hash of all preceding bytes */
} file_header;

/* Follows the header in files of version PHOTON_FILE_VERSION_ORIGIN. */
typedef struct origin_header {
    double origin[3];
    uint64_t hash; /* hash of the origin */
} origin_header;

static_assert(sizeof(file_header) == PHOTON_FILE_HEADER_BYTES,
              "the layout is part of the file format");

static list_header list_header_of(const photon_list *list) {
    const photon_ledger *ledger = &list->ledger;
    list_header made = {list->count,
                        list->emitted,
                        list->rays,
                        list->complete,
                        {ledger->emitted, ledger->absorbed, ledger->escaped, ledger->ended,
                         ledger->cut, ledger->media},
                        hash_bytes(list->photons, list->count * sizeof(photon))};
    return made;
}

/* Finds the photon at each node of the list's tree. */
static kd_status find_nodes(uint32_t **out, const photon_list *list) {
    kd_status status = KD_OK;
    vec3 *positions = NULL;
    pointtree tree;
    memset(&tree, 0, sizeof tree);
    KD_TRY(KD_RESERVE(*out, list->count));
    if (list->nodes) {
        memcpy(*out, list->nodes, list->count * sizeof **out);
        return KD_OK;
    }
    KD_TRY_GOTO(KD_RESERVE(positions, list->count));
    for (uint64_t i = 0; i < list->count; ++i) positions[i] = list->photons[i].position;
    KD_TRY_GOTO(pointtree_open(&tree, positions, list->count, NULL, NULL, NULL));
    if (list->count) memcpy(*out, tree.ids, list->count * sizeof **out);
done:
    memory_free(positions);
    pointtree_close(&tree);
    return status;
}

static kd_status write_nodes(FILE *stream, const photon_file *file) {
    uint64_t sum = 0;
    for (int i = 0; i < PHOTON_LISTS; ++i) {
        uint32_t *nodes = NULL;
        const kd_status status = find_nodes(&nodes, &file->lists[i]);
        const uint64_t count = file->lists[i].count;
        if (status == KD_OK && count) fwrite(nodes, sizeof *nodes, count, stream);
        const uint64_t hash = hash_bytes(nodes, status == KD_OK ? count * sizeof *nodes : 0);
        memory_free(nodes);
        KD_TRY(status);
        sum = hash_combine(sum, &hash, sizeof hash);
    }
    fwrite(&sum, sizeof sum, 1, stream);
    return KD_OK;
}

static bool has_origin(const photon_file *file) {
    return file->origin[0] != 0 || file->origin[1] != 0 || file->origin[2] != 0;
}

static void write_origin(FILE *stream, const photon_file *file) {
    origin_header header = {.hash = hash_bytes(file->origin, sizeof file->origin)};
    memcpy(header.origin, file->origin, sizeof header.origin);
    fwrite(&header, sizeof header, 1, stream);
}

kd_status photon_file_write(const char *path, const photon_file *file) {
    file_header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, file_magic, sizeof header.magic);
    header.version = has_origin(file) ? PHOTON_FILE_VERSION_ORIGIN : PHOTON_FILE_VERSION;
    header.scene = file->scene;
    for (int i = 0; i < PHOTON_LISTS; ++i) header.lists[i] = list_header_of(&file->lists[i]);
    header.hash = hash_bytes(&header, offsetof(file_header, hash));
    file_output output;
    KD_TRY(file_output_open(&output, path));
    fwrite(&header, sizeof header, 1, output.stream); /* file_output_commit reports write errors */
    if (has_origin(file)) write_origin(output.stream, file);
    for (int i = 0; i < PHOTON_LISTS; ++i)
        if (file->lists[i].count)
            fwrite(file->lists[i].photons, sizeof(photon), file->lists[i].count, output.stream);
    const kd_status status = write_nodes(output.stream, file);
    if (status != KD_OK) {
        file_output_discard(&output);
        return status;
    }
    KD_TRY(file_output_commit(&output));
    return KD_OK;
}

/* Identifies the file: the header includes the hashes of the photons. */
static uint64_t content_of(const file_header *header) {
    return hash_combine(1, header->lists, sizeof header->lists);
}

/* --- reading ---------------------------------------------------------------------------------- */

static kd_status check_header(const file_view *file, const char *path, const file_header *header) {
    KD_REQUIRE(file->count >= sizeof *header && memcmp(header->magic, file_magic, 8) == 0,
               KD_ERROR_INPUT, "%s: not a photon map file", path);
    KD_REQUIRE(header->version != __builtin_bswap64(PHOTON_FILE_VERSION), KD_ERROR_INPUT,
               "%s: found a big-endian photon map, expected little-endian", path);
    KD_REQUIRE(header->version >= PHOTON_FILE_VERSION_OLD &&
                   header->version <= PHOTON_FILE_VERSION_ORIGIN,
               KD_ERROR_INPUT, "%s: found photon map version %llu, expected %d", path,
               (unsigned long long)header->version, PHOTON_FILE_VERSION);
    KD_REQUIRE(header->hash == hash_bytes(header, offsetof(file_header, hash)), KD_ERROR_INPUT,
               "%s: damaged: the checksum of the header does not match", path);
    uint64_t photons = 0;
    for (int i = 0; i < PHOTON_LISTS; ++i) {
        const uint64_t count = header->lists[i].count;
        KD_REQUIRE(count <= POINTTREE_COUNT_MAX / 2 && header->lists[i].complete <= 1,
                   KD_ERROR_INPUT, "%s: found %llu photons, expected at most %u", path,
                   (unsigned long long)count, POINTTREE_COUNT_MAX / 2);
        photons += count;
    }
    uint64_t bytes = sizeof *header + photons * sizeof(photon);
    if (header->version >= PHOTON_FILE_VERSION) bytes += photons * sizeof(uint32_t) + sizeof bytes;
    if (header->version == PHOTON_FILE_VERSION_ORIGIN) bytes += sizeof(origin_header);
    KD_REQUIRE(file->count == bytes, KD_ERROR_INPUT,
               "%s: found %zu bytes, expected %llu for %llu photons: the file is %s", path,
               file->count, (unsigned long long)bytes, (unsigned long long)photons,
               file->count < bytes ? "truncated" : "too long");
    return KD_OK;
}

static bool is_unit(vec3 v) {
    return fabsf(vec3_length2(v) - 1) <= 1e-3f; /* false for NaN */
}

/* `kinds`: mask of the bits 1 << photon_kind that are allowed in the map. */
static bool is_photon(const photon *p, uint32_t kinds) {
    const vec3 power = p->power;
    return vec3_is_finite(p->position) && vec3_is_finite(power) && power.x >= 0 && power.y >= 0 &&
           power.z >= 0 && is_unit(p->direction) && is_unit(p->normal) && p->kind < 32 &&
           (kinds >> p->kind & 1u);
}

static kd_status read_list(photon_list *out, const char *path, const char *bytes,
                           const list_header *header, uint32_t kinds) {
    const size_t size = header->count * sizeof(photon);
    KD_REQUIRE(header->hash == hash_bytes(bytes, size), KD_ERROR_INPUT,
               "%s: damaged: the checksum of the photons does not match", path);
    for (int i = 0; i < 6; ++i)
        KD_REQUIRE(isfinite(header->watts[i]), KD_ERROR_INPUT,
                   "%s: damaged: found the power %g W, expected a finite number", path,
                   header->watts[i]);
    out->photons = (photon *)(uintptr_t)bytes; /* borrowed, never written to */
    out->borrowed = true;
    out->count = header->count;
    out->emitted = header->emitted;
    out->rays = header->rays;
    out->complete = header->complete != 0;
    out->ledger.emitted = header->watts[0];
    out->ledger.absorbed = header->watts[1];
    out->ledger.escaped = header->watts[2];
    out->ledger.ended = header->watts[3];
    out->ledger.cut = header->watts[4];
    out->ledger.media = header->watts[5];
    for (uint64_t i = 0; i < out->count; ++i)
        KD_REQUIRE(is_photon(out->photons + i, kinds), KD_ERROR_INPUT,
                   "%s: damaged: photon %llu has values out of range", path, (unsigned long long)i);
    return KD_OK;
}

/* Reads the trees behind the photons. They are validated when the maps are built. */
static kd_status read_nodes(photon_file *out, const char *path, const char *bytes) {
    uint64_t sum = 0, actual;
    for (int i = 0; i < PHOTON_LISTS; ++i) {
        const size_t size = out->lists[i].count * sizeof(uint32_t);
        const uint64_t hash = hash_bytes(bytes, size);
        sum = hash_combine(sum, &hash, sizeof hash);
        out->lists[i].nodes = (const uint32_t *)(const void *)bytes;
        bytes += size;
    }
    memcpy(&actual, bytes, sizeof actual);
    KD_REQUIRE(actual == sum, KD_ERROR_INPUT,
               "%s: damaged: the checksum of the trees does not match", path);
    return KD_OK;
}

static kd_status read_origin(photon_file *out, const char *path, const char *bytes) {
    origin_header header;
    memcpy(&header, bytes, sizeof header);
    KD_REQUIRE(header.hash == hash_bytes(header.origin, sizeof header.origin) &&
                   isfinite(header.origin[0]) && isfinite(header.origin[1]) &&
                   isfinite(header.origin[2]),
               KD_ERROR_INPUT, "%s: damaged: the checksum of the origin does not match", path);
    memcpy(out->origin, header.origin, sizeof out->origin);
    return KD_OK;
}

kd_status photon_file_read_content(uint64_t *content, const char *path) {
    kd_status status = KD_OK;
    file_header header;
    file_view file;
    memset(&header, 0, sizeof header);
    KD_TRY(file_open(&file, path));
    memcpy(&header, file.bytes, file.count < sizeof header ? file.count : sizeof header);
    KD_TRY_GOTO(check_header(&file, path, &header));
    *content = content_of(&header);
done:
    file_close(&file);
    return status;
}

kd_status photon_file_open(photon_file *out, const char *path) {
    static const uint32_t kinds[PHOTON_LISTS] = {1u << PHOTON_INDIRECT, 1u << PHOTON_CAUSTIC,
                                                 1u << PHOTON_CAUSTIC | 1u << PHOTON_INDIRECT};
    kd_status status = KD_OK;
    file_header header;
    memset(out, 0, sizeof *out);
    memset(&header, 0, sizeof header);
    KD_TRY(file_open(&out->mapped, path));
    const file_view file = out->mapped;
    memcpy(&header, file.bytes, file.count < sizeof header ? file.count : sizeof header);
    KD_TRY_GOTO(check_header(&file, path, &header));
    out->scene = header.scene;
    out->content = content_of(&header);
    const char *bytes = file.bytes + sizeof header;
    if (header.version == PHOTON_FILE_VERSION_ORIGIN) {
        KD_TRY_GOTO(read_origin(out, path, bytes));
        bytes += sizeof(origin_header);
    }
    for (int i = 0; i < PHOTON_LISTS; ++i) {
        KD_TRY_GOTO(read_list(&out->lists[i], path, bytes, &header.lists[i], kinds[i]));
        bytes += header.lists[i].count * sizeof(photon);
    }
    if (header.version >= PHOTON_FILE_VERSION) KD_TRY_GOTO(read_nodes(out, path, bytes));
done:
    if (status != KD_OK) photon_file_close(out);
    return status;
}

void photon_file_close(photon_file *owned) {
    for (int i = 0; i < PHOTON_LISTS; ++i) photon_list_close(&owned->lists[i]);
    file_close(&owned->mapped);
    memset(owned, 0, sizeof *owned);
}

kd_status photon_file_check_scene(const photon_file *file, const char *path,
                                  const scene_view *scene, uint64_t scene_hash_found) {
    KD_REQUIRE(file->scene == scene_hash_found, KD_ERROR_INPUT,
               "%s: the photon map belongs to another scene (hash %016llx; this scene has %016llx)",
               path, (unsigned long long)file->scene, (unsigned long long)scene_hash_found);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const bool media = l == PHOTON_LIST_MEDIA;
        const uint32_t places = media ? scene->medium_count : scene->mesh.triangle_count;
        for (uint64_t i = 0; i < file->lists[l].count; ++i)
            KD_REQUIRE(file->lists[l].photons[i].triangle < places, KD_ERROR_INPUT,
                       "%s: damaged: a photon is %s %u of %u", path,
                       media ? "in medium" : "on triangle", file->lists[l].photons[i].triangle,
                       places);
    }
    return KD_OK;
}

/* --- merging -----------------------------------------------------------------------------------
   Idea: maps are sorted by the hashes of their contents, so the order of arguments has no effect;
         each power is scaled once, by its map's share of all paths. Maps that share photons (the
         same map twice, a smaller one with the same seed, one that was merged before) would count
         light twice: each photon's hash without its power is searched for in the other maps.
   Work: O(n log n) for n photons in total.
   Memory: 16 bytes per photon besides the result. */

/* maps that share more than 1/SHARED_PART of their photons do not do so by chance */
enum { SHARED_PART = 2 };

typedef struct photon_mark {
    uint64_t hash;
    uint32_t map;
} photon_mark;

static int by_mark(const void *a, const void *b) {
    const photon_mark *x = (const photon_mark *)a, *y = (const photon_mark *)b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->map > y->map) - (x->map < y->map);
}

static photon_mark mark_of(const photon *record, uint32_t map) {
    photon unlit = *record;
    unlit.power = vec3_all(0);
    const photon_mark mark = {hash_bytes(&unlit, sizeof unlit), map};
    return mark;
}

/* Given marks with equal hashes, sorted by map, adds to each pair of maps the number of photons
   that they share. */
static void count_pairs(const photon_mark *marks, uint64_t count, size_t across, uint64_t *shared) {
    for (uint64_t i = 0, after; i < count; i = after) {
        for (after = i; after < count && marks[after].map == marks[i].map;) ++after;
        for (uint64_t j = after, next; j < count; j = next) {
            for (next = j; next < count && marks[next].map == marks[j].map;) ++next;
            shared[across * marks[i].map + marks[j].map] +=
                after - i < next - j ? after - i : next - j;
        }
    }
}

/* Returns an error if one map holds many photons of another; `shared` holds count^2 values. */
static kd_status find_shared(const photon_mark *marks, uint64_t count, int list,
                             const photon_file *maps, const char *const *names, int map_count,
                             uint64_t *shared) {
    const size_t across = (size_t)map_count;
    for (uint64_t i = 0, after; i < count; i = after) {
        for (after = i; after < count && marks[after].hash == marks[i].hash;) ++after;
        if (marks[after - 1].map != marks[i].map) count_pairs(marks + i, after - i, across, shared);
    }
    for (size_t a = 0; a < across; ++a)
        for (size_t b = a + 1; b < across; ++b) {
            const uint64_t in_a = maps[a].lists[list].count, in_b = maps[b].lists[list].count;
            const uint64_t fewer = in_a < in_b ? in_a : in_b;
            KD_REQUIRE(fewer == 0 || SHARED_PART * shared[across * a + b] <= fewer, KD_ERROR_INPUT,
                       "%s and %s contain the same photons; emit maps to be merged with different "
                       "--seed values",
                       names[a], names[b]);
        }
    return KD_OK;
}

/* Checks one of the lists in every pair of maps. */
static kd_status check_list(const photon_file *maps, const char *const *names, int map_count,
                            int list) {
    kd_status status = KD_OK;
    photon_mark *marks = NULL;
    uint64_t *shared = NULL, count = 0, at = 0;
    for (int m = 0; m < map_count; ++m) count += maps[m].lists[list].count;
    KD_REQUIRE(count <= POINTTREE_COUNT_MAX / 2, KD_ERROR_INPUT,
               "the merged map would have %llu photons; supported: at most %u",
               (unsigned long long)count, POINTTREE_COUNT_MAX / 2);
    KD_TRY_GOTO(KD_RESERVE(marks, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(shared, (uint64_t)map_count * (uint64_t)map_count));
    for (int m = 0; m < map_count; ++m)
        for (uint64_t i = 0; i < maps[m].lists[list].count; ++i)
            marks[at++] = mark_of(maps[m].lists[list].photons + i, (uint32_t)m);
    qsort(marks, count, sizeof *marks, by_mark);
    KD_TRY_GOTO(find_shared(marks, count, list, maps, names, map_count, shared));
done:
    memory_free(marks);
    memory_free(shared);
    return status;
}

static int by_content(const void *a, const void *b) {
    const photon_file *x = *(const photon_file *const *)a, *y = *(const photon_file *const *)b;
    return (x->content > y->content) - (x->content < y->content);
}

static void add_ledger(photon_ledger *sum, const photon_ledger *more, double share) {
    sum->emitted += share * more->emitted;
    sum->absorbed += share * more->absorbed;
    sum->escaped += share * more->escaped;
    sum->ended += share * more->ended;
    sum->cut += share * more->cut;
    sum->media += share * more->media;
}

static kd_status merge_list(photon_list *out, const photon_file *const *ordered, int map_count,
                            int list) {
    uint64_t count = 0;
    out->complete = true;
    for (int m = 0; m < map_count; ++m) {
        count += ordered[m]->lists[list].count;
        out->emitted += ordered[m]->lists[list].emitted;
    }
    KD_TRY(KD_RESERVE(out->photons, count));
    for (int m = 0; m < map_count; ++m) {
        const photon_list *from = &ordered[m]->lists[list];
        const double share =
            out->emitted ? (double)from->emitted / (double)out->emitted : 1 / (double)map_count;
        for (uint64_t i = 0; i < from->count; ++i) {
            photon *one = out->photons + out->count++;
            *one = from->photons[i];
            one->power = vec3_scale(one->power, (float)share);
        }
        add_ledger(&out->ledger, &from->ledger, share);
        out->rays += from->rays;
        out->complete = out->complete && from->complete;
    }
    return KD_OK;
}

kd_status photon_file_merge(photon_file *out, const photon_file *maps, const char *const *names,
                            int count) {
    kd_status status = KD_OK;
    const photon_file **ordered = NULL;
    memset(out, 0, sizeof *out);
    for (int m = 1; m < count; ++m)
        KD_REQUIRE(maps[m].scene == maps[0].scene, KD_ERROR_INPUT,
                   "%s and %s are photon maps of different scenes (hashes %016llx and %016llx) and "
                   "cannot be merged",
                   names[0], names[m], (unsigned long long)maps[0].scene,
                   (unsigned long long)maps[m].scene);
    for (int l = 0; l < PHOTON_LISTS; ++l) KD_TRY(check_list(maps, names, count, l));
    KD_TRY(KD_RESERVE(ordered, (uint64_t)count));
    for (int m = 0; m < count; ++m) ordered[m] = maps + m;
    qsort(ordered, (size_t)count, sizeof(const photon_file *), by_content);
    out->scene = maps[0].scene;
    memcpy(out->origin, maps[0].origin, sizeof out->origin);
    for (int l = 0; l < PHOTON_LISTS; ++l)
        KD_TRY_GOTO(merge_list(&out->lists[l], ordered, count, l));
done:
    memory_free(ordered);
    if (status != KD_OK) photon_file_close(out);
    return status;
}
