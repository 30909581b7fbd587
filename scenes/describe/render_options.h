/* The options of a rendering, in one table. A new option is a row in render_options.c and a field
   at the end of kd_render_options. The table defines defaults, checks, the command line and --help,
   keys of scene files (scenes/DESCRIPTION.md), Python's keyword arguments, --stats and the hash of
   a saved state. */
#ifndef KD_SCENES_DESCRIBE_RENDER_OPTIONS_H
#define KD_SCENES_DESCRIBE_RENDER_OPTIONS_H
#include "core/option.h"
#include <kandela/render.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows by group, each terminated by a row with name NULL. */
extern const option_row render_method_rows[], render_photon_rows[], render_picture_rows[],
    render_input_rows[], render_device_rows[], render_lab_rows[];
extern const option_group render_option_groups[]; /* all groups; terminated by heading NULL */

/* Returns the row after `row`, the first one for NULL; NULL at the end. */
const option_row *render_option_next(const option_row *row);
/* Finds a row by name, with - or _; NULL if there is none. */
const option_row *render_option_find(const char *name);

/* Copies the options of render_input_rows, which limit what scene files may do. */
void render_options_take_input(kd_render_options *to, const kd_render_options *from);

/* Returns KD_ERROR_USAGE for the first field whose value its row does not accept. */
kd_status render_options_check(const kd_render_options *options);
/* Hash of all options that must be the same when a rendering is resumed from a saved state. */
uint64_t render_options_hash(uint64_t hash, const kd_render_options *options);

/* Lists of the names that options choose from. Enums, tables, --help, keys of scene files and their
   errors are generated from them. A new integrator is a file that ends with its row,
   integrator_NAME, and its NAME in the list here. */

#define INTEGRATOR_ROWS(ROW)                                                                       \
    ROW(path)                                                                                      \
    ROW(direct) ROW(photon) ROW(sppm) ROW(light) ROW(vcm) ROW(whitted) ROW(ao) ROW(debug)
/* Id, name. */
#define DEBUG_CHANNEL_NAMES(ROW)                                                                   \
    ROW(NORMALS, "normals")                                                                        \
    ROW(DEPTH, "depth")                                                                            \
    ROW(IDS, "ids")                                                                                \
    ROW(DENSITY, "density") ROW(RADIUS, "radius") ROW(DISTANCE, "distance")
#define PIXEL_FILTER_NAMES(ROW)                                                                    \
    ROW(BOX, "box")                                                                                \
    ROW(BLACKMAN_HARRIS, "blackman-harris") ROW(GAUSSIAN, "gaussian") ROW(MITCHELL, "mitchell")
#define LOOK_NAMES(ROW) ROW(AUTO, "auto") ROW(STUDIO, "studio") ROW(SKY, "sky") ROW(PLAIN, "plain")
#define SHOWN_MATERIAL_NAMES(ROW)                                                                  \
    ROW(OWN, "own")                                                                                \
    ROW(CLAY, "clay")                                                                              \
    ROW(PLASTIC, "plastic")                                                                        \
    ROW(METAL, "metal")                                                                            \
    ROW(GOLD, "gold") ROW(COPPER, "copper") ROW(GLASS, "glass") ROW(MIRROR, "mirror")
#define RANK_MAPS_NAMES(ROW) ROW(AUTO, "auto") ROW(WHOLE, "whole") ROW(DISTRIBUTED, "apart")

/* Techniques by which the integrator vcm finds light: names of all subsets, in the order of their
   masks. */
enum { TECHNIQUE_EYE = 1, TECHNIQUE_LAMPS = 2, TECHNIQUE_SPLAT = 4, TECHNIQUE_MERGE = 8 };
#define TECHNIQUES_NAMES(ROW)                                                                      \
    ROW(1, "eye")                                                                                  \
    ROW(2, "lamps")                                                                                \
    ROW(3, "eye+lamps")                                                                            \
    ROW(4, "splat")                                                                                \
    ROW(5, "eye+splat")                                                                            \
    ROW(6, "lamps+splat")                                                                          \
    ROW(7, "eye+lamps+splat")                                                                      \
    ROW(8, "merge")                                                                                \
    ROW(9, "eye+merge")                                                                            \
    ROW(10, "lamps+merge")                                                                         \
    ROW(11, "eye+lamps+merge")                                                                     \
    ROW(12, "splat+merge")                                                                         \
    ROW(13, "eye+splat+merge") ROW(14, "lamps+splat+merge") ROW(15, "all")

/* NULL for an invalid index. */
const char *integrator_name(int index);
const char *debug_channel_name(int index);
const char *pixel_filter_name(int index);
const char *look_name(int index);
const char *shown_material_name(int index);
const char *rank_maps_name(int index);
const char *techniques_name(int index);
int32_t techniques_named(const char *name); /* mask; 0 for an unknown name */

#ifdef __cplusplus
}
#endif

#endif
