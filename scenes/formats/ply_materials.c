/* Colours and materials of a PLY file. */
#include "core/memory.h"
#include "scenes/formats/mtl.h"
#include "scenes/formats/ply_parts.h"
#include "scenes/mesh/mesh_builder.h"
#include "scenes/mesh/mesh_colours.h"
#include "scenes/text/paths.h"
#include <stdio.h>

/* Returns the type of the first property of the role in an element of that kind. */
static ply_type type_of_colours(const ply_header *header, ply_kind kind, ply_role role) {
    for (uint32_t i = 0; i < header->element_count; ++i) {
        const ply_element *element = &header->elements[i];
        for (uint32_t k = 0; k < element->property_count; ++k)
            if (element->kind == kind && element->count &&
                header->properties[element->first + k].role == role)
                return header->properties[element->first + k].type;
    }
    return PLY_UINT8;
}

/* Whole numbers are sRGB, real ones linear; but those of corners, which only MeshLab writes, are
   bytes divided by 255. Types that programs use for bytes, too, hold bytes if no number is above
   255. */
static colour_code code_of(const ply_file *file, const ply_target *target, const vec3 *colours,
                           uint64_t count) {
    const bool corners = target->corner_colours != NULL;
    const ply_type type =
        type_of_colours(&file->header, target->vertex_colours ? PLY_VERTICES : PLY_FACES,
                        corners ? PLY_PAINTS : PLY_RED);
    if (ply_type_is_real(type)) return colour_code_of_reals(colours, count, !corners);
    const uint32_t sign = type % 2 == 0; /* the even types are signed */
    const uint64_t bits = 8u * ply_type_bytes[type] - sign;
    colour_code code = {(float)((1ull << bits) - 1), false};
    if (type != PLY_UINT16 && bits > 8 && colours_largest(colours, count) <= 255) code.white = 255;
    return code;
}

kd_status ply_colours(const ply_file *file, const ply_target *target) {
    vec3 *colours = target->corner_colours   ? target->corner_colours
                    : target->vertex_colours ? target->vertex_colours
                                             : target->triangle_colours;
    const uint64_t triangles = target->mesh->triangle_count;
    const uint64_t count = target->corner_colours   ? 3 * triangles
                           : target->vertex_colours ? target->mesh->position_count
                                                    : triangles;
    if (!colours) return KD_OK;
    colours_decode(colours, count, code_of(file, target, colours, count));
    if (target->vertex_colours) return KD_OK;
    return target->corner_colours ? mesh_colour_corners(target->mesh, colours)
                                  : mesh_colour_triangles(target->mesh, colours);
}

static kd_status texture_report(const ply_file *file, text_span name, const char *expected,
                                const char *found, const obj_options *options) {
    problem_list missing = {0};
    problem_add(&missing, false, expected ? "missing-texture" : "other-name", 0,
                "found TextureFile \"%.*s\"%s%.400s", text_shown_name(name), name.begin,
                expected ? ", expected " : " as ", expected ? expected : found);
    const kd_status status = problem_list_report(&missing, file->path, PROBLEM_NO_LINES, options);
    problem_list_close(&missing);
    return status;
}

static kd_status texture_find(const ply_file *file, text_span name, mesh_material *material,
                              const obj_options *options) {
    path_found found;
    KD_TRY(path_find(file->path, name, &found));
    material->diffuse_map = found.path;
    if (!found.path) return texture_report(file, name, found.expected, NULL, options);
    material->record.diffuse = vec3_all(1);
    if (found.is_other) KD_TRY(texture_report(file, name, NULL, found.name, options));
    return KD_OK;
}

/* Adds one material per texture, the first called "default", and a last one without texture. */
static kd_status library_fill(const ply_file *file, const ply_target *target, mtl_library *library,
                              const obj_options *options) {
    const bool coloured =
        target->vertex_colours || target->triangle_colours || target->corner_colours;
    const ply_header *header = &file->header;
    if (header->texture_count && !target->has_texcoords)
        KD_TRY(
            texture_report(file, header->textures[0],
                           "texture coordinates of vertices (s, t) or faces (texcoord), too; the "
                           "texture is ignored",
                           NULL, options));
    for (uint32_t i = 0; i <= header->texture_count; ++i) {
        char name[32] = "default";
        text_span span = {name, strlen(name)};
        uint32_t index = 0;
        if (i > 0) span.count = (uint64_t)snprintf(name, sizeof name, "default-%u", i + 1);
        KD_TRY(mtl_library_add(library, span, &index));
        if (coloured) library->materials[index].record.diffuse = vec3_all(1);
        if (i < header->texture_count && target->has_texcoords)
            KD_TRY(texture_find(file, header->textures[i], &library->materials[index], options));
    }
    return KD_OK;
}

kd_status ply_materials(const ply_file *file, const ply_target *target,
                        const obj_options *options) {
    mtl_library library = {0};
    kd_status status = KD_OK;
    if (target->mesh->triangle_count) status = library_fill(file, target, &library, options);
    if (status == KD_OK) {
        target->mesh->materials = library.materials;
        target->mesh->material_count = library.count;
        library.materials = NULL;
        library.count = 0;
    }
    mtl_library_close(&library);
    if (status == KD_OK && target->mesh->material_count > 1)
        status = mesh_drop_unused_materials(target->mesh);
    return status;
}
