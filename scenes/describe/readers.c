#include "scenes/describe/readers.h"
#include "core/files/content.h"
#include "core/files/file.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/import/gltf.h"
#include "scenes/import/import_program.h"
#include "scenes/mesh/generate.h"
#include "scenes/mesh/origin.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BY_BLENDER                                                                                 \
    "convert it to glTF, for example with Blender (File > Import, then Export > glTF 2.0)"
#define BY_ITSELF "export it as glTF, FBX or OBJ with the program that made it"
#define BY_FREECAD "export its meshes as OBJ or STL, for example with FreeCAD"
#define AS_POINTS "Kandela renders triangles: make a mesh of the points, for example with MeshLab"

/* Formats that assimp does not read, or not in all versions, and how to convert them. */
static const struct {
    const char *suffixes; /* each with a blank behind it */
    const char *name, *advice;
    bool is_read; /* some versions of assimp read it: its reason is shown */
} foreign_formats[] = {
    {".fbx ", "an FBX file", "export it as binary FBX 2013 or later, or as glTF", true},
    {".3mf ", "a 3MF file", BY_BLENDER, true},
    {".usd .usda .usdc .usdz ", "a USD file", BY_BLENDER, false},
    {".abc ", "an Alembic file", BY_BLENDER, false},
    {".blend ", "a Blender file", "open it in Blender and export it as glTF 2.0", false},
    {".step .stp ", "a STEP file", BY_FREECAD, false},
    {".iges .igs ", "an IGES file", BY_FREECAD, false},
    {".ifc .ifczip ", "an IFC file", BY_FREECAD, true},
    {".brep .brp .fcstd .sldprt .sldasm .ipt .iam .prt .x_t .x_b .jt .sat ", "a CAD file",
     BY_FREECAD, false},
    {".dwg .dxf ", "an AutoCAD file", BY_FREECAD, false},
    {".rvt ", "a Revit file", BY_ITSELF, false},
    {".max ", "a 3ds Max file", BY_ITSELF, false},
    {".ma .mb ", "a Maya file", BY_ITSELF, false},
    {".c4d ", "a Cinema 4D file", BY_ITSELF, false},
    {".skp ", "a SketchUp file", BY_ITSELF, false},
    {".3dm ", "a Rhino file", BY_ITSELF, false},
    {".hip .hipnc .hiplc .bgeo ", "a Houdini file", BY_ITSELF, false},
    {".ztl .zpr ", "a ZBrush file", BY_ITSELF, false},
    {".drc ", "a Draco file", BY_BLENDER, false},
    {".wrl .vrml .x3d ", "a VRML file", BY_BLENDER, false},
    {".vdb ", "an OpenVDB file", "volumes of densities are not supported", false},
    {".las .laz .e57 .pcd .pts .xyz ", "a point cloud", AS_POINTS, false},
    {".pbrt .rib .vrscene .ass ", "a scene of another renderer",
     "write its meshes as OBJ, PLY or glTF", false}};

static bool has_suffix(const char *suffixes, const char *suffix) {
    const size_t length = strlen(suffix);
    for (const char *at = suffixes; *at && length; at += strcspn(at, " ") + 1)
        if (strcspn(at, " ") == length && strncasecmp(at, suffix, length) == 0) return true;
    return false;
}

/* Replaces assimp's message for a file that it cannot read. */
static kd_status refuse(const char *path) {
    const char *suffix = file_suffix(path), *reason = strstr(kd_last_error(), IMPORT_CANNOT_READ);
    const bool reads = reason && !strstr(reason, "No suitable reader");
    char words[200] = "";
    if (reads) snprintf(words, sizeof words, " (%.160s)", reason + strlen(IMPORT_CANNOT_READ));
    for (size_t i = 0; i < sizeof foreign_formats / sizeof *foreign_formats; ++i)
        if (has_suffix(foreign_formats[i].suffixes, suffix))
            KD_FAIL(KD_ERROR_INPUT, "%s: found %s, which this build cannot read%s; %s", path,
                    foreign_formats[i].name, foreign_formats[i].is_read ? words : "",
                    foreign_formats[i].advice);
    if (reads) return KD_ERROR_INPUT; /* a format that assimp reads */
    file_view view;
    KD_TRY(file_open(&view, path));
    const kd_status known = file_content_refuse(view.bytes, view.count, path, "a mesh");
    file_close(&view);
    KD_TRY(known);
    KD_FAIL(
        KD_ERROR_INPUT,
        "%s: unknown format \"%s\", expected .obj, .ply, .stl, .gltf, .glb, .json or, in builds "
        "with assimp, .fbx, .dae, .3ds, .off and others",
        path, suffix);
}

/* assimp reports no lines, and logs its problems. */
static kd_status others_load(mesh *out, const char *path, const obj_options *options,
                             job_control *job) {
    if (options && options->triangle_lines) *options->triangle_lines = NULL;
    const kd_status status = assimp_load(out, path, options, job);
    const char *said = status == KD_ERROR_INPUT ? kd_last_error() : "";
    return strstr(said, IMPORT_CANNOT_READ) || strstr(said, IMPORT_LACKS) ? refuse(path) : status;
}

static const mesh_reader readers[] = {
    {".obj", "obj", obj_load, true},   {".ply", "ply", ply_load, true},
    {".stl", "stl", stl_load, false},  {".gltf", "gltf", gltf_load, true},
    {".glb", "gltf", gltf_load, true}, {NULL, "assimp", others_load, false}};

const mesh_reader *mesh_reader_find(const char *path) {
    const mesh_reader *row = readers;
    const char *suffix = file_suffix(path);
    while (row->suffix && strcasecmp(suffix, row->suffix) != 0) ++row;
    return row;
}

kd_status mesh_load(mesh *out, const char *path, const obj_options *options, job_control *job) {
    if (!procedural_is_path(path)) {
        const mesh_reader *row = mesh_reader_find(path);
        KD_TRY(row->load(out, path, options, job));
        /* readers that recentre by themselves need no second pass */
        if (options && options->recentre && !row->recentres) mesh_recentre(out);
        return KD_OK;
    }
    if (options && options->triangle_lines) *options->triangle_lines = NULL;
    return procedural_load(out, path);
}
