/* Shared by the tests of readers: a private directory with files, a recorder of reported problems,
   areas. */
#ifndef KD_TESTS_SCENES_FILES_H
#define KD_TESTS_SCENES_FILES_H
#include "scenes/formats/mesh_formats.h"
#include "tests/test.h"
#include <dirent.h>
#include <unistd.h>

static char test_folder[] = "/tmp/kandela-test-XXXXXX";

static inline int folder_make(void **state) {
    (void)state;
    return mkdtemp(test_folder) ? 0 : 1;
}

/* Returns a path in the directory; valid for the next seven calls. */
static inline char *file_in(const char *name) {
    static char path[8][512];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[0], "%s/%s", test_folder, name);
    return path[next];
}

static inline int folder_remove(void **state) {
    (void)state;
    DIR *open = opendir(test_folder);
    for (struct dirent *entry; open && (entry = readdir(open));)
        if (entry->d_name[0] != '.') unlink(file_in(entry->d_name));
    if (open) closedir(open);
    return rmdir(test_folder);
}

static inline void file_put(const char *name, const char *bytes, size_t count) {
    remove(file_in(name)); /* some file systems flush to disk when a file with data is truncated */
    FILE *file = fopen(file_in(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static inline void file_put_text(const char *name, const char *text) {
    file_put(name, text, strlen(text));
}

enum { PROBLEMS_MAX = 64 };

typedef struct reported_problems {
    char files[PROBLEMS_MAX][128], kinds[PROBLEMS_MAX][32], messages[PROBLEMS_MAX][256];
    uint32_t lines[PROBLEMS_MAX];
    int count, fatal;
} reported_problems;

static inline void on_problem(void *context, const obj_problem *problem) {
    reported_problems *problems = (reported_problems *)context;
    if (problems->count < PROBLEMS_MAX) {
        snprintf(problems->files[problems->count], sizeof problems->files[0], "%s", problem->file);
        snprintf(problems->kinds[problems->count], sizeof problems->kinds[0], "%s", problem->kind);
        snprintf(problems->messages[problems->count], sizeof problems->messages[0], "%s",
                 problem->message);
        problems->lines[problems->count] = problem->line;
    }
    ++problems->count;
    problems->fatal += problem->fatal;
}

/* Returns the normal of the winding, with twice the area as its length. */
static inline vec3 mesh_cross(const mesh *mesh, uint32_t triangle) {
    const uint32_t *t = &mesh->triangles[3 * (size_t)triangle];
    const vec3 a = mesh->positions[t[0]], b = mesh->positions[t[1]], c = mesh->positions[t[2]];
    return vec3_cross(vec3_sub(b, a), vec3_sub(c, a));
}

static inline double mesh_area(const mesh *mesh, uint32_t triangle) {
    return 0.5 * (double)vec3_length(mesh_cross(mesh, triangle));
}

#endif
