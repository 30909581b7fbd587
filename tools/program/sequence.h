/* Image sequences: file names per frame, animations, and a turntable camera. */
#ifndef KD_TOOLS_PROGRAM_SEQUENCE_H
#define KD_TOOLS_PROGRAM_SEQUENCE_H
#include "core/image_processing/animation.h"
#include "core/image_processing/finish.h"
#include "core/option.h"
#include "shaders/scene_view.h"
#include <stddef.h>

/* Inserts the frame number: frame 7 of "out_##.png" is "out_07.png" (the last run of # is
   replaced); of "out.png" it is "out0007.png". Returns KD_ERROR_USAGE if the name is too long. */
kd_status sequence_name(char *out, size_t bytes, const char *name, int32_t frame);
/* The outputs of a sequence that are animations. */
typedef struct sequence_animations {
    option_list names;
    animation *items[OPTION_LIST_ITEMS]; /* NULL before the first frame */
} sequence_animations;

/* Moves the animations (output_is_animation) from the outputs to a zeroed struct. */
void sequence_take(sequence_animations *out, option_list *outputs);
/* Appends a frame to all animations; `rate`: frames per second. */
kd_status sequence_add(sequence_animations *animations, double rate, const image *from,
                       const image_encoding *encoding, const image_finish *finish);
/* Writes the animations that have frames, and prints their names. */
kd_status sequence_finish(sequence_animations *animations);
void sequence_close(sequence_animations *owned); /* accepts a zeroed struct */

/* Rotates the camera about `up` around the point it looks at, by a fraction of a full turn. */
camera sequence_turned(camera view, double turns);

#endif
