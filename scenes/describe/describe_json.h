/* Scene descriptions in JSON; the keys are listed in scenes/DESCRIPTION.md. */
#ifndef KD_SCENES_DESCRIBE_DESCRIBE_JSON_H
#define KD_SCENES_DESCRIBE_DESCRIBE_JSON_H
#include "core/job.h"
#include "scenes/describe/draft.h"
#include <kandela/render.h>

/* Reads a description into a zeroed draft (scene_draft_close after any status) and its render
   settings into `options`. Paths in it are relative to its folder. */
kd_status describe_json_read(scene_draft *out, const char *path, kd_render_options *options,
                             job *watched);

typedef kd_status (*describe_loader)(mesh *out, const char *path, job *watched);

typedef struct describe_source {
    const char *path;           /* names the text in errors; where relative paths start */
    describe_loader load;       /* reads the mesh files that it names: scene_load_mesh */
    const kd_scene_mesh *given; /* meshes in memory that it may name; NULL: none */
    uint64_t given_count;
} describe_source;

/* The same for text in memory. */
kd_status describe_json_parse(scene_draft *out, const char *text, size_t bytes,
                              const describe_source *source, kd_render_options *options,
                              job *watched);

/* The table of keys as Markdown, line by line without newlines: what scenes/DESCRIPTION.md shows.
   Not thread-safe. */
void describe_json_list(void (*line)(void *context, const char *text), void *context);

#endif
