/* The table of generators, and parsing of paths "gen:NAME:N:SEED". */
#include "scenes/mesh/generate.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const procedural_generator procedural_generators[] = {
    {"blob", "a sphere with six octaves of noise on it", 100000, true, false, procedural_blob},
    {"sphere", "the unit sphere, smooth normals", 20000, true, false, procedural_sphere},
    {"room", "a room with diagonal beams and 96 blobs", 100000, false, true, procedural_capacity},
    {"soup", "random triangles in the unit cube", 10000, false, false, procedural_soup},
    {"terrain", "a height field of noise", 100000, false, false, procedural_terrain},
    {"cloth", "a cloth on a table, hanging down behind it in folds", 100000, false, false,
     procedural_cloth},
    {"ring", "a metal ring that stands upright on the floor", 4000, true, false, procedural_ring},
    {"glass", "a glass of water with true interfaces", 20000, false, false, procedural_glass},
    {"wedge", "a triangular glass prism", 8, true, false, procedural_wedge},
    {"cornell", "a box with coloured walls, two blocks, a lamp", 36, false, false,
     procedural_cornell},
    {"hall", "a vaulted hall with columns, arches and banners", 200000, false, true,
     procedural_hall},
    {NULL, NULL, 0, false, false, NULL}};

bool procedural_is_path(const char *path) {
    return strncmp(path, "gen:", 4) == 0;
}

kd_status procedural_find(const procedural_generator **out, const char *path) {
    char names[256] = "";
    const char *name = path + 4;
    const size_t length = strcspn(name, ":");
    for (const procedural_generator *row = procedural_generators; row->name; ++row) {
        if (strlen(row->name) == length && strncmp(row->name, name, length) == 0) {
            *out = row;
            return KD_OK;
        }
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", row->name);
    }
    KD_FAIL(KD_ERROR_INPUT,
            "%s: unknown generator \"%.*s\"; expected gen:NAME or gen:NAME:N with %s", path,
            (int)length, name, names);
}

/* Reads an unsigned decimal number up to the next ':' or the end. */
static kd_status read_number(uint64_t *out, const char **at, const char *path) {
    char *end = NULL;
    errno = 0;
    const unsigned long long value = isdigit((unsigned char)**at) ? strtoull(*at, &end, 10) : 0;
    KD_REQUIRE(end && errno == 0 && (*end == '\0' || *end == ':'), KD_ERROR_INPUT,
               "%s: found \"%s\", expected a whole number as in gen:NAME:N:SEED", path, *at);
    *out = value;
    *at = end;
    return KD_OK;
}

kd_status procedural_load(mesh *out, const char *path) {
    const procedural_generator *generator = NULL;
    memset(out, 0, sizeof *out);
    KD_TRY(procedural_find(&generator, path));
    uint64_t triangles = generator->triangles, seed = 1;
    const char *at = path + 4 + strlen(generator->name);
    if (*at == ':') {
        ++at;
        KD_TRY(read_number(&triangles, &at, path));
    }
    if (*at == ':') {
        ++at;
        KD_TRY(read_number(&seed, &at, path));
    }
    KD_REQUIRE(*at == '\0', KD_ERROR_INPUT,
               "%s: found \"%s\" after gen:NAME:N:SEED, expected nothing more", path, at);
    KD_REQUIRE(triangles >= 1 && triangles <= 1000000000, KD_ERROR_INPUT,
               "%s: found %llu triangles, expected 1 to 1000000000", path,
               (unsigned long long)triangles);
    mesh_builder builder;
    memset(&builder, 0, sizeof builder);
    generator->make(&builder, triangles, seed);
    KD_TRY(mesh_builder_finish(&builder, out));
    return KD_OK;
}
