/* The loops of the rim. */
#ifndef KD_SCENES_CHECK_HOLES_H
#define KD_SCENES_CHECK_HOLES_H
#include "scenes/check/check_parts.h"

/* (*loops)[i] = the first edge of the rim that hangs together with edge i; to memory_free whatever
   the status is. */
kd_status check_loops(const examination *of, uint32_t **loops);

#endif
