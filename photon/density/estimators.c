#include "photon/density/estimators.h"
#include "core/names.h"
#include <stdio.h>
#include <string.h>

#define ROW(id, name, one_radius, adaptive) {#name, one_radius, adaptive},
const photon_estimator_row photon_estimators[PHOTON_ESTIMATORS] = {PHOTON_ESTIMATOR_ROWS(ROW)};
#undef ROW

#define ROW(id, name, walks) {#name, walks},
const photon_lookup_row photon_lookups[PHOTON_LOOKUPS] = {PHOTON_LOOKUP_ROWS(ROW)};
#undef ROW

#define ROW(id, name, beams) {#name, beams},
const photon_media_row photon_media_rows[PHOTON_MEDIA_KINDS] = {PHOTON_MEDIA_ROWS(ROW)};
#undef ROW

#define ROW(id, name) [PHOTON_KERNEL_##id] = #name,
static const char *const kernel_names[] = {PHOTON_KERNEL_ROWS(ROW)};
enum { KERNELS = sizeof kernel_names / sizeof *kernel_names };
#undef ROW

const char *photon_kernel_name(int index) {
    return index < KERNELS ? kernel_names[index] : NULL;
}

const char *photon_estimator_name(int index) {
    return index < PHOTON_ESTIMATORS ? photon_estimators[index].name : NULL;
}

const char *photon_lookup_name(int index) {
    return index < PHOTON_LOOKUPS ? photon_lookups[index].name : NULL;
}

const char *photon_media_name(int index) {
    return index < PHOTON_MEDIA_KINDS ? photon_media_rows[index].name : NULL;
}

/* Finds the index of a name in a table; KD_ERROR_USAGE with a list of all names. */
static kd_status find(int *out, const char *kind, const char *(*name_of)(int index),
                      const char *name) {
    char names[128] = "";
    const char *row = NULL;
    for (*out = 0; (row = name_of(*out)) != NULL; ++*out) {
        if (strcmp(row, name) == 0) return KD_OK;
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", row);
    }
    KD_FAIL(KD_ERROR_USAGE, "unknown %s \"%s\"; expected one of %s", kind, name, names);
}

kd_status photon_kernel_find(photon_kernel *out, const char *name) {
    int index = 0;
    KD_TRY(find(&index, "kernel", photon_kernel_name, name));
    *out = (photon_kernel)index;
    return KD_OK;
}

kd_status photon_estimator_find(photon_estimator *out, const char *name) {
    int index = 0;
    KD_TRY(find(&index, "estimator", photon_estimator_name, name));
    *out = (photon_estimator)index;
    return KD_OK;
}

kd_status photon_lookup_find(photon_lookup *out, const char *name) {
    int index = 0;
    if (!name_is_auto(name)) KD_TRY(find(&index, "lookup", photon_lookup_name, name));
    *out = (photon_lookup)index;
    return KD_OK;
}

kd_status photon_media_find(photon_media *out, const char *name) {
    int index = 0;
    KD_TRY(find(&index, "media", photon_media_name, name));
    *out = (photon_media)index;
    return KD_OK;
}

const photon_lookup_row *photon_lookup_named(const char *name) {
    photon_lookup lookup = (photon_lookup)0;
    return &photon_lookups[photon_lookup_find(&lookup, name) == KD_OK ? lookup : 0];
}

const photon_media_row *photon_media_named(const char *name) {
    photon_media media = PHOTON_MEDIA_POINTS;
    return &photon_media_rows[photon_media_find(&media, name) == KD_OK ? media
                                                                       : PHOTON_MEDIA_POINTS];
}

const photon_estimator_row *photon_estimator_named(const char *name) {
    int index = 0;
    while (index + 1 < PHOTON_ESTIMATORS && strcmp(photon_estimators[index].name, name) != 0)
        ++index;
    return &photon_estimators[index];
}
