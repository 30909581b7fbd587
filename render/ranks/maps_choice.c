#include "render/ranks/maps_choice.h"
#include <string.h>

static const double unseen_seconds = 1, worth_it = 4;

rank_maps rank_maps_find(const char *name) {
    int i = 0;
    while (i < RANK_MAPS && strcmp(rank_maps_name(i), name) != 0) ++i;
    return i < RANK_MAPS ? (rank_maps)i : RANK_MAPS_AUTO;
}

bool rank_maps_apart(const char *name) {
    return rank_maps_find(name) == RANK_MAPS_APART;
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
