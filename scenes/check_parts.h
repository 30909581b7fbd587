/* The inside of the mesh doctor. */
#ifndef KD_SCENES_CHECK_PARTS_H
#define KD_SCENES_CHECK_PARTS_H
#include "scenes/check.h"
#include "scenes/mesh.h"

enum { CHECK_KINDS = 32 }; /* more than there are */

/* One file under examination. */
typedef struct examination {
    check_report *report;
    const char *path;
    mesh body;
    uint32_t *lines;  /* of each triangle's face; NULL: a format without lines */
    uint32_t *welded; /* of each position, the first position at the same place */
    uint64_t room;    /* of report->problems */
    struct {
        const char *name;
        uint32_t kept;
    } kinds[CHECK_KINDS]; /* of which there are problems */
    kd_status status;     /* of keeping problems */
} examination;

/* Keeps it if there are fewer than CHECK_PROBLEMS of its kind; always counts it. printf form. */
void check_note(examination *of, const char *file, uint32_t line, const char *kind, bool fatal,
                const char *format, ...) __attribute__((format(printf, 6, 7)));
/* The same about a triangle of the mesh. */
#define CHECK_TRIANGLE(of, triangle, kind, ...)                                                    \
    check_note((of), (of)->path, (of)->lines ? (of)->lines[triangle] : 0, (kind), false,           \
               __VA_ARGS__)

/* Zero-area and duplicate triangles, normals against the winding. KD_ERROR_MEMORY. */
kd_status check_triangles(examination *of);
/* Shells of glass that are open, or wound inside out. KD_ERROR_MEMORY. */
kd_status check_shells(examination *of);

static inline uint32_t check_corner(const examination *of, uint64_t triangle, int k) {
    return of->body.triangles[3 * triangle + (uint64_t)k];
}

#endif
