#include "render/ranks/maps_choice.h"
#include <string.h>

enum { NAME_BYTES = 16 }; /* of an option, which may have no end */

static const double unseen_seconds = 1, worth_it = 4;

static const char *const names[RANK_MAPS] = {"auto", "whole", "apart"};

const char *rank_maps_name(int which) {
    return which >= 0 && which < RANK_MAPS ? names[which] : NULL;
}

kd_status rank_maps_find(rank_maps *out, const char *name) {
    for (int i = 0; i < RANK_MAPS; ++i)
        if (strncmp(names[i], name, NAME_BYTES) == 0) {
            *out = (rank_maps)i;
            return KD_OK;
        }
    KD_FAIL(KD_ERROR_USAGE, "unknown maps \"%.15s\", expected auto, whole or apart", name);
}

bool rank_maps_apart(const char *name) {
    return strncmp(names[RANK_MAPS_APART], name, NAME_BYTES) == 0;
}

rank_maps maps_choice_of(const maps_choice *of, bool whole_fits, bool apart_fits) {
    if (!whole_fits || !apart_fits) return apart_fits ? RANK_MAPS_APART : RANK_MAPS_WHOLE;
    if (of->on_devices)
        return of->sent[RANK_MAPS_APART] < of->sent[RANK_MAPS_WHOLE] ? RANK_MAPS_APART
                                                                     : RANK_MAPS_WHOLE;
    if (!(of->bandwidth > 0)) return RANK_MAPS_WHOLE;
    const double whole = (double)of->sent[RANK_MAPS_WHOLE] / of->bandwidth;
    const double apart = (double)of->sent[RANK_MAPS_APART] / of->bandwidth;
    return whole > unseen_seconds && whole > worth_it * apart ? RANK_MAPS_APART : RANK_MAPS_WHOLE;
}
