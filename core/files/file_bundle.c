/* Layout of a record: size of the name with its terminating zero, size of the file, then both; each
   part is aligned to 64 bytes, as readers expect of a file in memory. */
#include "core/files/file_bundle.h"
#include "core/files/file.h"
#include "core/memory.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { ALIGN = 64 };

typedef struct bundle_record {
    uint64_t name, bytes;
    char padding[ALIGN - 2 * sizeof(uint64_t)];
} bundle_record;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool open, full; /* full: memory for a name could not be allocated */
    char **names;
    uint64_t count, capacity;
} packing;
static const file_bundle *unpacked; /* changes only while no thread opens files */

static uint64_t rounded(uint64_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void drop_names(void) {
    for (uint64_t i = 0; i < packing.count; ++i) memory_free(packing.names[i]);
    memory_free(packing.names);
    memset(&packing, 0, sizeof packing);
}

void file_bundle_pack(void) {
    pthread_mutex_lock(&mutex);
    drop_names();
    packing.open = true;
    pthread_mutex_unlock(&mutex);
}

static kd_status add_name(const char *path) {
    for (uint64_t i = 0; i < packing.count; ++i)
        if (strcmp(packing.names[i], path) == 0) return KD_OK;
    if (packing.count == packing.capacity) {
        KD_TRY(KD_GROW(packing.names, packing.count, 2 * packing.capacity + 16));
        packing.capacity = 2 * packing.capacity + 16;
    }
    char *name = NULL;
    KD_TRY(KD_RESERVE(name, strlen(path) + 1));
    memcpy(name, path, strlen(path) + 1);
    packing.names[packing.count++] = name;
    return KD_OK;
}

void file_bundle_note(const char *path) {
    pthread_mutex_lock(&mutex);
    if (packing.open && add_name(path) != KD_OK) {
        packing.full = true;
        status_clear();
    }
    pthread_mutex_unlock(&mutex);
}

/* Appends a file's record. */
static kd_status add_file(file_bundle *bundle, uint64_t *capacity, const char *path) {
    file_view file;
    kd_status status = KD_OK;
    KD_TRY(file_open(&file, path));
    const uint64_t name = strlen(path) + 1;
    const uint64_t more = sizeof(bundle_record) + rounded(name) + rounded(file.count);
    if (bundle->count + more > *capacity) {
        const uint64_t larger =
            2 * *capacity > bundle->count + more ? 2 * *capacity : bundle->count + more;
        KD_TRY_GOTO(KD_GROW(bundle->bytes, bundle->count, larger));
        *capacity = larger;
    }
    char *at = bundle->bytes + bundle->count;
    const bundle_record record = {.name = name, .bytes = file.count};
    memset(at, 0, more);
    memcpy(at, &record, sizeof record);
    memcpy(at + sizeof record, path, name);
    if (file.count) memcpy(at + sizeof record + rounded(name), file.bytes, file.count);
    bundle->count += more;
done:
    file_close(&file);
    return status;
}

kd_status file_bundle_seal(file_bundle *out) {
    uint64_t capacity = 0;
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    packing.open = false;
    KD_REQUIRE(!packing.full, KD_ERROR_MEMORY, "out of memory for the names of files");
    for (uint64_t i = 0; i < packing.count && status == KD_OK; ++i)
        status = add_file(out, &capacity, packing.names[i]);
    drop_names();
    if (status != KD_OK) file_bundle_close(out);
    return status;
}

void file_bundle_unpack(const file_bundle *bundle) {
    unpacked = bundle;
}

void file_bundle_close(file_bundle *owned) {
    memory_free(owned->bytes);
    memset(owned, 0, sizeof *owned);
}

bool file_bundle_find(const char *path, const char **bytes, size_t *count) {
    if (!unpacked) return false;
    for (uint64_t at = 0; at < unpacked->count;) {
        const char *entry = unpacked->bytes + at;
        bundle_record record;
        memcpy(&record, entry, sizeof record);
        *bytes = entry + sizeof record + rounded(record.name);
        *count = record.bytes;
        if (strcmp(entry + sizeof record, path) == 0) return true;
        at += sizeof record + rounded(record.name) + rounded(record.bytes);
    }
    return false;
}

bool file_bundle_match(char *path) {
    const char *best = NULL;
    for (uint64_t at = 0; unpacked && at < unpacked->count;) {
        bundle_record record;
        memcpy(&record, unpacked->bytes + at, sizeof record);
        const char *name = unpacked->bytes + at + sizeof record;
        if (strcasecmp(name, path) == 0 && (!best || strcmp(name, best) < 0)) best = name;
        at += sizeof record + rounded(record.name) + rounded(record.bytes);
    }
    if (best) memcpy(path, best, strlen(path));
    return best != NULL;
}

bool file_bundle_holds(const char *bytes) {
    return unpacked && bytes >= unpacked->bytes && bytes < unpacked->bytes + unpacked->count;
}
