/* The names that options of rendering choose from, each list once: enums, tables of rows, --help,
   keys of scene files and their errors come from these. A new integrator is a file that ends with
   its row, integrator_NAME, and its NAME in the list here. */
#ifndef KD_RENDER_OPTIONS_NAMES_H
#define KD_RENDER_OPTIONS_NAMES_H

#ifdef __cplusplus
extern "C" {
#endif

#define INTEGRATOR_ROWS(ROW)                                                                       \
    ROW(path) ROW(direct) ROW(photon) ROW(sppm) ROW(ppm) ROW(light) ROW(whitted) ROW(ao) ROW(debug)
/* Id, name. */
#define DEBUG_CHANNEL_NAMES(ROW)                                                                   \
    ROW(NORMALS, "normals")                                                                        \
    ROW(DEPTH, "depth")                                                                            \
    ROW(IDS, "ids")                                                                                \
    ROW(DENSITY, "density") ROW(RADIUS, "radius") ROW(DISTANCE, "distance")
#define PIXEL_FILTER_NAMES(ROW)                                                                    \
    ROW(BOX, "box")                                                                                \
    ROW(BLACKMAN_HARRIS, "blackman-harris") ROW(GAUSSIAN, "gaussian") ROW(MITCHELL, "mitchell")
#define RANK_MAPS_NAMES(ROW) ROW(AUTO, "auto") ROW(WHOLE, "whole") ROW(APART, "apart")

/* NULL for an index that has no name. */
const char *integrator_name(int index);
const char *debug_channel_name(int index);
const char *pixel_filter_name(int index);
const char *rank_maps_name(int index);

#ifdef __cplusplus
}
#endif
#endif
