/* Places that are the same get one number: for formats that repeat a corner's place in every face.
 */
#ifndef KD_SCENES_MESH_WELD_H
#define KD_SCENES_MESH_WELD_H
#include "core/math/geometry.h"
#include "core/status.h"

/* numbers[i] = the number of places[i], counted in the order in which places first occur; 0 and -0
   are the same. *kept = a new array (memory_free) of one place a number, as it first occurs, and
   *kept_count how many there are. Below 2^32 - 1 places. Work: O(count), on all cores; the result
   does not depend on their number. KD_ERROR_MEMORY. */
kd_status weld_places(const vec3 *places, uint64_t count, uint32_t *numbers, vec3 **kept,
                      uint32_t *kept_count);

#endif
