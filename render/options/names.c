#include "render/options/names.h"
#include <stddef.h>

#define TEXT(name) #name,
#define SECOND(id, name) name,
#define NAMES(function, rows, text)                                                                \
    const char *function(int index) {                                                              \
        static const char *const names[] = {rows(text)};                                           \
        return index >= 0 && index < (int)(sizeof names / sizeof *names) ? names[index] : NULL;    \
    }

NAMES(integrator_name, INTEGRATOR_ROWS, TEXT)
NAMES(debug_channel_name, DEBUG_CHANNEL_NAMES, SECOND)
NAMES(pixel_filter_name, PIXEL_FILTER_NAMES, SECOND)
NAMES(rank_maps_name, RANK_MAPS_NAMES, SECOND)
