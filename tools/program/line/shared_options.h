/* Rows that several verbs share; their fields are those of kd_render_options. */
#ifndef KD_TOOLS_PROGRAM_LINE_SHARED_OPTIONS_H
#define KD_TOOLS_PROGRAM_LINE_SHARED_OPTIONS_H
#include "tools/program/line/options.h"
#include <kandela/render.h>

extern const option_row device_rows[];  /* --device */
extern const option_row tritree_rows[]; /* --builder, --sah-costs, --empty-factor */
const char *lookup_choice(int index);   /* of --lookup: auto and the table's; NULL: no more */

/* Single rows of kd_render_options, for tables that have others around them. */
#define SHARED_ROW_RESOLUTION(shown)                                                               \
    {                                                                                              \
        .name = "resolution", .argument = "WxH", .help = "pixels", .initial = (shown),             \
        .kind = OPTION_INT32, .count = 2, .separator = 'x', .least = 1, .most = 65536,             \
        OPTION_FIELD(kd_render_options, width)                                                     \
    }
#define SHARED_ROW_CROP(type, pixels, limit)                                                       \
    {                                                                                              \
        .name = "crop", .argument = "X0,Y0,X1,Y1", .help = "only these " pixels,                   \
        .kind = OPTION_INT32, .count = 4, .least = 0, .most = (limit), OPTION_FIELD(type, crop)    \
    }
#define SHARED_ROW_PHOTONS                                                                         \
    {                                                                                              \
        .name = "photons", .argument = "N",                                                        \
        .help = "photons to store in the global map, about: 200000, 2M, 2e6", .initial = "200000", \
        .kind = OPTION_UINT64, .least = 0, .most = 4e9, OPTION_FIELD(kd_render_options, photons)   \
    }
#define SHARED_ROW_CAUSTIC_PHOTONS                                                                 \
    {                                                                                              \
        .name = "caustic-photons", .argument = "N",                                                \
        .help = "the same for the caustic map; 0 is as many as --photons", .initial = "0",         \
        .kind = OPTION_UINT64, .least = 0, .most = 4e9,                                            \
        OPTION_FIELD(kd_render_options, caustic_photons)                                           \
    }
#define SHARED_ROW_MEDIA_PHOTONS                                                                   \
    {                                                                                              \
        .name = "media-photons", .argument = "N",                                                  \
        .help = "the same for the map of media; 0 is as many as --photons", .initial = "0",        \
        .kind = OPTION_UINT64, .least = 0, .most = 4e9,                                            \
        OPTION_FIELD(kd_render_options, media_photons)                                             \
    }
#define SHARED_ROW_MEDIA                                                                           \
    {                                                                                              \
        .name = "media", .argument = "NAME",                                                       \
        .help = "what the map of media keeps: points, where photons are scattered, or beams, "     \
                "their whole flights, seen wherever a ray crosses them",                           \
        .initial = "points", .kind = OPTION_NAME, .choice = photon_media_name,                     \
        OPTION_FIELD(kd_render_options, media)                                                     \
    }
#define SHARED_ROW_MAX_DEPTH                                                                       \
    {                                                                                              \
        .name = "max-depth", .argument = "N",                                                      \
        .help = "surfaces that a path may meet, and scatterings in media", .initial = "32",        \
        .kind = OPTION_INT32, .least = 1, .most = 65536,                                           \
        OPTION_FIELD(kd_render_options, max_depth)                                                 \
    }
#define SHARED_ROW_SEED                                                                            \
    {                                                                                              \
        .name = "seed", .argument = "N",                                                           \
        .help = "of the random numbers: the same seed gives the same result, bit for bit",         \
        .initial = "0", .kind = OPTION_UINT64, OPTION_FIELD(kd_render_options, seed)               \
    }
/* Of verbs that read scenes: a bool of any struct. Loading comes before the line is applied, so
   they ask option_line_has. */
#define SHARED_ROW_ALLOW_OUTSIDE(type)                                                             \
    {                                                                                              \
        .name = "allow-outside",                                                                   \
        .help = "the scene's files may name files outside of its folder, too; without it these "   \
                "are refused, or left out with a warning, whether they are there or not",          \
        .kind = OPTION_FLAG, OPTION_FIELD(type, allow_outside)                                     \
    }
/* --progress, an int32_t progress_mode of any struct. */
#define SHARED_ROW_PROGRESS(type)                                                                  \
    {                                                                                              \
        .name = "progress", .argument = "MODE",                                                    \
        .help = "progress on stderr (auto is a bar on a terminal, else nothing)",                  \
        .initial = "auto", .kind = OPTION_CHOICE, .choice = progress_choice,                       \
        OPTION_FIELD(type, progress)                                                               \
    }

#endif
