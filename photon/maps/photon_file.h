/* Photon map files; photon/maps/README.md documents the format. */
#ifndef KD_PHOTON_MAPS_PHOTON_FILE_H
#define KD_PHOTON_MAPS_PHOTON_FILE_H
#include "core/files/file.h"
#include "photon/emission/emit.h"

/* Old files, which have no trees, are read, too. Files with an origin have a version of their own;
   all others can be read by earlier programs. */
enum { PHOTON_FILE_VERSION_OLD = 2, PHOTON_FILE_VERSION = 3, PHOTON_FILE_VERSION_ORIGIN = 4 };
enum { PHOTON_FILE_HEADER_BYTES = 296 };

typedef struct photon_file {
    uint64_t scene;   /* scene_hash of the scene of the photons */
    double origin[3]; /* add it to the photons' positions (scene_view.h); usually 0 */
    uint64_t content; /* hash of scene, photons and energy balances; never 0 for a file */
    photon_list lists[PHOTON_LISTS]; /* global, caustic, media */
    file_view mapped;                /* the mapped file that the lists borrow from; zeroed: none */
} photon_file;

/* Writes to a temporary file, then renames it. Builds the trees of lists that have none. */
kd_status photon_file_write(const char *path, const photon_file *file);

/* Maps a file and validates all of it; the lists borrow photons and trees from the mapping. Returns
   KD_ERROR_INPUT, with what was found and what was expected, if the file is not a photon map, has
   another version or byte order, is truncated or damaged, or contains values that are invalid for a
   photon. The caller closes `out`. */
kd_status photon_file_open(photon_file *out, const char *path);
void photon_file_close(photon_file *owned); /* `owned` may be zeroed */

/* Reads `content` from the header of a file, without reading the photons. */
kd_status photon_file_read_content(uint64_t *content, const char *path);

/* Returns KD_ERROR_INPUT if the photons belong to another scene. */
kd_status photon_file_check_scene(const photon_file *file, const char *path,
                                  const scene_view *scene, uint64_t scene_hash_found);

/* Merges the photons of several emissions in one scene as if they were a single one: powers are
   weighted by the numbers of paths. The result does not depend on the order of arguments, bit for
   bit. Returns KD_ERROR_INPUT, with the maps' `names`, for maps of different scenes and for maps
   that share photons, such as the same map twice. The caller closes `out`. */
kd_status photon_file_merge(photon_file *out, const photon_file *maps, const char *const *names,
                            int count);

#endif
