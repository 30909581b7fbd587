/* A mesh that came from another format as the text of an OBJ file. */
#include "core/memory.h"
#include "core/system/files.h"
#include "scenes/check/check_fix.h"
#include <stdlib.h>

static void corner_write(FILE *to, const mesh *body, uint64_t corner) {
    const uint32_t texcoord = body->texcoord_indices ? body->texcoord_indices[corner] : KD_NONE;
    const uint32_t normal = body->normal_indices ? body->normal_indices[corner] : KD_NONE;
    fprintf(to, " %u", body->triangles[corner] + 1);
    if (texcoord != KD_NONE) fprintf(to, "/%u", texcoord + 1);
    if (normal != KD_NONE) fprintf(to, texcoord != KD_NONE ? "/%u" : "//%u", normal + 1);
}

static void name_write(FILE *to, const char *name) {
    fputs("g ", to);
    for (; *name; ++name) fputc((unsigned char)*name < ' ' || *name == '\\' ? '_' : *name, to);
    fputc('\n', to);
}

static uint32_t vertices_write(FILE *to, const mesh *body) {
    for (uint32_t i = 0; i < body->position_count; ++i)
        fprintf(to, "v %.9g %.9g %.9g\n", (double)body->positions[i].x,
                (double)body->positions[i].y, (double)body->positions[i].z);
    for (uint32_t i = 0; i < body->texcoord_count; ++i)
        fprintf(to, "vt %.9g %.9g\n", (double)body->texcoords[i].x, (double)body->texcoords[i].y);
    for (uint32_t i = 0; i < body->normal_count; ++i)
        fprintf(to, "vn %.9g %.9g %.9g\n", (double)body->normals[i].x, (double)body->normals[i].y,
                (double)body->normals[i].z);
    return body->position_count + body->texcoord_count + body->normal_count;
}

static void mesh_write(FILE *to, const mesh *body, uint32_t *lines) {
    uint32_t line = vertices_write(to, body);
    for (uint64_t i = 0; i < body->triangle_count; ++i) {
        const uint32_t of = body->triangle_materials[i];
        if (body->material_count > 1 && (i == 0 || of != body->triangle_materials[i - 1])) {
            name_write(to, body->materials[of].name);
            ++line;
        }
        fputc('f', to);
        for (uint64_t k = 0; k < 3; ++k) corner_write(to, body, 3 * i + k);
        fputc('\n', to);
        lines[i] = ++line;
    }
    fputs("\n\n", to); /* ends the text, as readers want it */
}

kd_status check_mesh_text(const mesh *body, char **text, uint64_t *bytes, uint32_t **lines) {
    text_stream made;
    *text = NULL;
    *lines = NULL;
    KD_TRY(KD_RESERVE(*lines, body->triangle_count));
    KD_REQUIRE(text_stream_open(&made), KD_ERROR_MEMORY, "no memory left to write the mesh");
    mesh_write(made.stream, body, *lines);
    kd_status status = text_stream_end(&made) ? KD_OK : KD_ERROR_MEMORY;
    if (status == KD_OK) status = KD_RESERVE(*text, (uint64_t)made.count);
    if (status == KD_OK) {
        memcpy(*text, made.text, made.count);
        *bytes = (uint64_t)made.count - 2;
    }
    free(made.text);
    KD_REQUIRE(status == KD_OK, status, "no memory left to write the mesh");
    return KD_OK;
}
