/* Photon maps as files; photon/maps/README.md documents the format. */
#ifndef KD_PHOTON_MAPS_PHOTON_FILE_H
#define KD_PHOTON_MAPS_PHOTON_FILE_H
#include "core/files/file.h"
#include "photon/emission/emit.h"

enum { PHOTON_FILE_VERSION = 3, PHOTON_FILE_VERSION_OLD = 2 /* without trees; read too */ };
enum { PHOTON_FILE_HEADER_BYTES = 296 };

typedef struct photon_file {
    uint64_t scene;                  /* scene_hash of where the photons lie */
    uint64_t content;                /* hash of scene, photons and ledgers; of a file: never 0 */
    photon_list lists[PHOTON_LISTS]; /* global, caustic, media */
    file_view mapped;                /* where the photons lie until they are owned; zero: nowhere */
} photon_file;

/* Written to a temporary file and renamed. Builds the trees of lists that have none. */
kd_status photon_file_write(const char *path, const photon_file *from);

/* Maps the file and checks all of it; the lists borrow their photons and trees from
   there. KD_ERROR_INPUT,
   with what was found and what was expected, for a file that is no photon map, is of another
   version or byte order, is truncated or damaged, or holds numbers that no photon has. Owner. */
kd_status photon_file_open(photon_file *out, const char *path);
void photon_file_close(photon_file *owned); /* takes a zeroed one */

/* Its content, without a look at the photons themselves. */
kd_status photon_file_read_content(uint64_t *content, const char *path);

/* KD_ERROR_INPUT if the photons lie in another scene. */
kd_status photon_file_check_scene(const photon_file *of, const char *path, const scene_view *scene,
                                  uint64_t scene_hash_found);

/* The photons of several emissions in one scene (photon_file_merge): as if all had been one, so
   that powers are weighted by the numbers emitted; the same bits in whatever order the maps are
   named. KD_ERROR_INPUT, with the maps' `names`, for maps of different scenes and for maps that
   share photons, such as the same map twice. Owner. */
kd_status photon_file_merge(photon_file *out, const photon_file *maps, const char *const *names,
                            int count);

#endif
