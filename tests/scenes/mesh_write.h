/* Writes a mesh as a file of each format that has a reader in this project, so that all readers can
   be given the same meshes. */
#ifndef KD_TESTS_SCENES_MESH_WRITE_H
#define KD_TESTS_SCENES_MESH_WRITE_H
#include "scenes/mesh/mesh.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum ply_order { WRITE_ASCII, WRITE_LITTLE, WRITE_BIG } ply_order;

/* Writes the bytes of a number, in native or in big-endian order. */
static inline void bytes_write(FILE *file, const void *number, size_t bytes, bool big) {
    unsigned char out[8];
    memcpy(out, number, bytes);
    for (size_t i = 0; i < bytes; ++i) fputc(out[big ? bytes - 1 - i : i], file);
}

static inline void float_write(FILE *file, float value, ply_order order) {
    if (order == WRITE_ASCII)
        fprintf(file, "%.9g ", (double)value);
    else
        bytes_write(file, &value, 4, order == WRITE_BIG);
}

/* Writes OBJ faces with the same index for position, texture coordinate and normal, as PLY has
   them. */
static inline void mesh_write_obj(FILE *file, const mesh *mesh) {
    for (uint32_t i = 0; i < mesh->position_count; ++i)
        fprintf(file, "v %.9g %.9g %.9g\n", (double)mesh->positions[i].x,
                (double)mesh->positions[i].y, (double)mesh->positions[i].z);
    for (uint32_t i = 0; i < mesh->texcoord_count; ++i)
        fprintf(file, "vt %.9g %.9g\n", (double)mesh->texcoords[i].x, (double)mesh->texcoords[i].y);
    for (uint32_t i = 0; i < mesh->normal_count; ++i)
        fprintf(file, "vn %.9g %.9g %.9g\n", (double)mesh->normals[i].x, (double)mesh->normals[i].y,
                (double)mesh->normals[i].z);
    for (uint64_t i = 0; i < 3 * (uint64_t)mesh->triangle_count; ++i) {
        const uint32_t corner = mesh->triangles[i] + 1;
        if (i % 3 == 0) fputc('f', file);
        fprintf(file, " %u", corner);
        if (mesh->texcoord_count) fprintf(file, "/%u", corner);
        if (mesh->normal_count) fprintf(file, mesh->texcoord_count ? "/%u" : "//%u", corner);
        if (i % 3 == 2) fputc('\n', file);
    }
}

static inline void mesh_write_ply(FILE *file, const mesh *mesh, ply_order order) {
    static const char *const forms[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    fprintf(file, "ply\nformat %s 1.0\ncomment a test\nelement vertex %u\n", forms[order],
            mesh->position_count);
    fprintf(file, "property float x\nproperty float y\nproperty float z\n");
    if (mesh->normal_count)
        fprintf(file, "property float nx\nproperty float ny\nproperty float nz\n");
    if (mesh->texcoord_count) fprintf(file, "property float s\nproperty float t\n");
    fprintf(file, "element face %u\nproperty list uchar int vertex_indices\nend_header\n",
            mesh->triangle_count);
    for (uint32_t i = 0; i < mesh->position_count; ++i) {
        const vec3 p = mesh->positions[i];
        float numbers[8] = {p.x, p.y, p.z};
        int count = 3;
        for (int k = 0; k < 3 && mesh->normal_count; ++k)
            numbers[count++] = k == 0   ? mesh->normals[i].x
                               : k == 1 ? mesh->normals[i].y
                                        : mesh->normals[i].z;
        if (mesh->texcoord_count) numbers[count++] = mesh->texcoords[i].x;
        if (mesh->texcoord_count) numbers[count++] = mesh->texcoords[i].y;
        for (int k = 0; k < count; ++k) float_write(file, numbers[k], order);
        if (order == WRITE_ASCII) fputc('\n', file);
    }
    for (uint32_t i = 0; i < mesh->triangle_count; ++i) {
        const uint32_t *t = &mesh->triangles[3 * (size_t)i];
        if (order == WRITE_ASCII) {
            fprintf(file, "3 %u %u %u\n", t[0], t[1], t[2]);
            continue;
        }
        fputc(3, file);
        for (int k = 0; k < 3; ++k) bytes_write(file, &t[k], 4, order == WRITE_BIG);
    }
}

static inline void mesh_write_stl(FILE *file, const mesh *mesh, bool as_text) {
    char header[81];
    const vec3 none = vec3_all(0);
    snprintf(header, sizeof header, "%-80s", "solid that is binary");
    if (as_text) fprintf(file, "solid a test\n");
    if (!as_text) fwrite(header, 1, 80, file);
    if (!as_text) bytes_write(file, &mesh->triangle_count, 4, false);
    for (uint32_t i = 0; i < mesh->triangle_count; ++i) {
        vec3 places[4] = {none};
        for (int k = 0; k < 3; ++k)
            places[k + 1] = mesh->positions[mesh->triangles[3 * (size_t)i + (size_t)k]];
        if (as_text) fprintf(file, "facet normal 0 0 0\n outer loop\n");
        for (int k = as_text ? 1 : 0; k < 4; ++k) {
            if (as_text) fprintf(file, "  vertex ");
            float_write(file, places[k].x, as_text ? WRITE_ASCII : WRITE_LITTLE);
            float_write(file, places[k].y, as_text ? WRITE_ASCII : WRITE_LITTLE);
            float_write(file, places[k].z, as_text ? WRITE_ASCII : WRITE_LITTLE);
            if (as_text) fputc('\n', file);
        }
        if (as_text) fprintf(file, " endloop\nendfacet\n");
        if (!as_text) fwrite("\0\0", 1, 2, file);
    }
    if (as_text) fprintf(file, "endsolid a test\n");
}

#endif
