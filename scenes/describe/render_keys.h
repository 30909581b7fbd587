/* The keys of "render", made of the table of options. */
#ifndef KD_SCENES_DESCRIBE_RENDER_KEYS_H
#define KD_SCENES_DESCRIBE_RENDER_KEYS_H
#include "scenes/text/json_keys.h"

enum { RENDER_KEYS = 64 };

typedef struct render_keys {
    json_key rows[RENDER_KEYS]; /* ends with name NULL; points into what follows */
    char names[RENDER_KEYS][32], choices[RENDER_KEYS][256], initial[RENDER_KEYS][64];
} render_keys;

void render_keys_fill(render_keys *out);

#endif
