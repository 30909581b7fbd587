/* Image sequences: file names per frame, and a turntable camera. */
#ifndef KD_TOOLS_PROGRAM_SEQUENCE_H
#define KD_TOOLS_PROGRAM_SEQUENCE_H
#include "core/status.h"
#include "shaders/scene_view.h"
#include <stddef.h>

/* Inserts the frame number: frame 7 of "out_##.png" is "out_07.png" (the last run of # is
   replaced); of "out.png" it is "out0007.png". Returns KD_ERROR_USAGE if the name is too long. */
kd_status sequence_name(char *out, size_t bytes, const char *name, int32_t frame);
/* Rotates the camera about `up` around the point it looks at, by a fraction of a full turn. */
camera sequence_turned(camera view, double turns);

#endif
