/* Reads scene descriptions in JSON. scenes/DESCRIPTION.md lists the keys. */
#ifndef KD_SCENES_DESCRIBE_DESCRIBE_JSON_H
#define KD_SCENES_DESCRIBE_DESCRIBE_JSON_H
#include "core/job.h"
#include "scenes/describe/draft.h"
#include "scenes/text/problems.h"
#include <kandela/render.h>

/* Reads a description into a zeroed draft, which the caller closes by scene_draft_close whatever
   the status, and its render settings into `options`. Paths in the description are relative to its
   directory. */
kd_status describe_json_read(scene_draft *out, const char *path, kd_render_options *options,
                             job_control *job);

typedef kd_status (*describe_loader)(mesh *out, const char *path, const obj_options *options,
                                     job_control *job);

typedef struct describe_source {
    const char *path;     /* names the text in errors; relative paths start in its directory */
    describe_loader load; /* reads the mesh files that the description names: mesh_load */
    const kd_scene_mesh
        *caller_meshes; /* meshes in memory that the description may name; or NULL */
    uint64_t caller_mesh_count;
} describe_source;

/* The same for a description in memory. If the scene is far from (0, 0, 0), reads it again relative
   to an origin, so that each position is rounded once. */
kd_status describe_json_parse(scene_draft *out, const char *text, size_t bytes,
                              const describe_source *source, kd_render_options *options,
                              job_control *job);

/* Writes the tables of keys as Markdown, line by line without newlines; scenes/DESCRIPTION.md
   includes them. Not thread-safe. */
void describe_json_list(void (*line)(void *context, const char *text), void *context);

#endif
