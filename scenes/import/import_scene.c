/* Converts assimp's scene to a mesh: all meshes of all nodes, and their materials. */
#include "scenes/import/import_scene.h"
#include "core/memory.h"
#include "core/status.h"
#include "scenes/formats/mtl.h"
#include "scenes/import/import_program.h"
#include "scenes/mesh/mesh.h"
#include "scenes/mesh/mesh_cleanup.h"
#include <assimp/cfileio.h>
#include <assimp/cimport.h>
#include <assimp/material.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <stdio.h>
#include <strings.h>

static float number_of(const struct aiMaterial *material, const char *key, unsigned type,
                       unsigned index, float otherwise) {
    ai_real value = 0;
    return aiGetMaterialFloatArray(material, key, type, index, &value, NULL) == aiReturn_SUCCESS
               ? (float)value
               : otherwise;
}

static bool colour_of(const struct aiMaterial *material, const char *key, unsigned type,
                      unsigned index, vec3 *colour) {
    struct aiColor4D read;
    if (aiGetMaterialColor(material, key, type, index, &read) != aiReturn_SUCCESS) return false;
    *colour = vec3_make((float)read.r, (float)read.g, (float)read.b);
    return true;
}

/* Fills an MTL entry, so that the conversion of MTL (mtl_entry_convert) applies. */
static void numbers_fill(const struct aiMaterial *material, mtl_entry *entry) {
    const vec3 none = vec3_all(NAN);
    entry->kd = entry->ks = entry->ke = entry->tf = none;
    entry->tr = entry->illum = NAN;
    entry->ka = none;
    entry->ps = entry->pc = entry->pcr = entry->aniso = entry->anisor = NAN;
    if (!colour_of(material, AI_MATKEY_BASE_COLOR, &entry->kd))
        (void)colour_of(material, AI_MATKEY_COLOR_DIFFUSE, &entry->kd);
    entry->ns = number_of(material, AI_MATKEY_SHININESS, NAN);
    if (entry->ns > 0) (void)colour_of(material, AI_MATKEY_COLOR_SPECULAR, &entry->ks);
    if (colour_of(material, AI_MATKEY_COLOR_EMISSIVE, &entry->ke))
        entry->ke = vec3_scale(entry->ke, number_of(material, AI_MATKEY_EMISSIVE_INTENSITY, 1));
    const float index = number_of(material, AI_MATKEY_REFRACTI, 1.5f);
    entry->ni = index > 1 ? index : 1.5f;
    entry->d = number_of(material, AI_MATKEY_OPACITY, NAN);
    entry->pm = number_of(material, AI_MATKEY_METALLIC_FACTOR, NAN);
    entry->pr = number_of(material, AI_MATKEY_ROUGHNESS_FACTOR, NAN);
    if (number_of(material, AI_MATKEY_TRANSMISSION_FACTOR, 0) > 0.5f) {
        entry->illum = 7;
        entry->tf = entry->kd;
    }
}

static kd_status map_find(const struct aiMaterial *material, enum aiTextureType type, char **out) {
    struct aiString name;
    if (*out ||
        aiGetMaterialString(material, AI_MATKEY_TEXTURE(type, 0), &name) != aiReturn_SUCCESS)
        return KD_OK;
    if (name.data[0] == '*') return KD_OK; /* embedded: omissions_report */
    const size_t bytes = strlen(name.data) + 1;
    KD_TRY(KD_RESERVE(*out, bytes));
    memcpy(*out, name.data, bytes);
    return KD_OK;
}

static kd_status maps_find(const struct aiMaterial *material, const char *path, mtl_entry *entry) {
    static const struct {
        enum aiTextureType type;
        mtl_map which;
    } kinds[] = {{aiTextureType_BASE_COLOR, MTL_MAP_DIFFUSE},
                 {aiTextureType_DIFFUSE, MTL_MAP_DIFFUSE},
                 {aiTextureType_SPECULAR, MTL_MAP_SPECULAR},
                 {aiTextureType_EMISSIVE, MTL_MAP_EMISSION},
                 {aiTextureType_OPACITY, MTL_MAP_OPACITY},
                 {aiTextureType_DIFFUSE_ROUGHNESS, MTL_MAP_ROUGHNESS},
                 {aiTextureType_METALNESS, MTL_MAP_METALLIC},
                 {aiTextureType_NORMALS, MTL_MAP_NORMAL},
                 {aiTextureType_HEIGHT, MTL_MAP_BUMP}};
    for (int i = 0; i < MTL_MAPS; ++i) mtl_texture_default(&entry->maps[i]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        KD_TRY(map_find(material, kinds[i].type, &entry->maps[kinds[i].which].path));
    /* As in glTF, both are channels of one image, but a map here is an image of its own. */
    char **rough = &entry->maps[MTL_MAP_ROUGHNESS].path;
    char **metal = &entry->maps[MTL_MAP_METALLIC].path;
    if (*rough && *metal && strcmp(*rough, *metal) == 0) {
        log_message(LOG_WARNING,
                    "%s: \"%s\" has roughness and metal in one image, which is not supported; it "
                    "is ignored",
                    path, *rough);
        memory_free(*rough);
        memory_free(*metal);
        *rough = *metal = NULL;
        entry->pm = 0;
    }
    return KD_OK;
}

/* Adds a material with its name, or "material" if it has none; appends a number if it is taken. */
static kd_status name_add(mtl_library *library, const struct aiMaterial *material,
                          uint32_t *index) {
    struct aiString name;
    char text[512];
    if (aiGetMaterialString(material, AI_MATKEY_NAME, &name) != aiReturn_SUCCESS || !name.data[0])
        snprintf(name.data, sizeof name.data, "material");
    int length = snprintf(text, sizeof text, "%.480s", name.data);
    text_span span = {text, (uint64_t)length};
    for (int i = 2; name_table_find(&library->names, span) != KD_NONE; ++i)
        span.count = (uint64_t)snprintf(text, sizeof text, "%.480s-%d", name.data, i);
    return mtl_library_add(library, span, index);
}

static kd_status materials_fill(mtl_library *library, const struct aiScene *scene,
                                const char *path) {
    for (unsigned i = 0; i < scene->mNumMaterials; ++i) {
        mtl_entry entry = {0};
        uint32_t index;
        KD_TRY(name_add(library, scene->mMaterials[i], &index));
        numbers_fill(scene->mMaterials[i], &entry);
        const kd_status status = maps_find(scene->mMaterials[i], path, &entry);
        /* in FBX a texture replaces the colour */
        if (strcasecmp(file_suffix(path), ".fbx") == 0 && entry.maps[MTL_MAP_DIFFUSE].path)
            entry.kd = vec3_all(1);
        mtl_entry_convert(&entry, &library->materials[index]); /* takes ownership of the paths */
        KD_TRY(status);
        int two_sided = 0;
        if (aiGetMaterialIntegerArray(scene->mMaterials[i], AI_MATKEY_TWOSIDED, &two_sided, NULL) ==
            aiReturn_SUCCESS)
            library->materials[index].record.two_sided = two_sided ? 1 : 0;
    }
    return KD_OK;
}

/* Converts all materials in the order of the scene into `out`, which must have none. Embedded and
   missing images are reported and dropped. */
static kd_status import_materials(mesh *out, const struct aiScene *scene, const char *path) {
    mtl_library library = {0};
    kd_status status = materials_fill(&library, scene, path);
    const text_span fallback = {"default", 7};
    uint32_t index;
    if (status == KD_OK && library.count == 0) status = mtl_library_add(&library, fallback, &index);
    if (status == KD_OK) {
        out->materials = library.materials;
        out->material_count = library.count;
        library.materials = NULL;
        library.count = 0;
    }
    mtl_library_close(&library);
    return status;
}

/* Maximum depth of nodes; a deeper hierarchy is considered corrupt. */
enum { NODE_DEPTH = 512 };

typedef struct importer {
    const struct aiScene *scene;
    struct mesh *mesh;
    /* first pass: counts; second pass: written so far */
    uint64_t positions, normals, texcoords, triangles, faces;
    uint64_t left_out; /* faces with a corner that is out of range or not finite */
    bool writing;
    vec3 *corners; /* buffer for the largest face */
    uint32_t *cut;
} importer;

static struct aiMatrix4x4 multiply(const struct aiMatrix4x4 *a, const struct aiMatrix4x4 *b) {
    struct aiMatrix4x4 product = *a;
    aiMultiplyMatrix4(&product, b);
    return product;
}

static vec3 point_of(const struct aiMatrix4x4 *m, const struct aiVector3D *p) {
    return vec3_make((float)(m->a1 * p->x + m->a2 * p->y + m->a3 * p->z + m->a4),
                     (float)(m->b1 * p->x + m->b2 * p->y + m->b3 * p->z + m->b4),
                     (float)(m->c1 * p->x + m->c2 * p->y + m->c3 * p->z + m->c4));
}

/* Transforms by the cofactor matrix, which equals the inverse transpose up to a factor and exists
   for singular matrices, too. */
static vec3 normal_of(const struct aiMatrix4x4 *m, const struct aiVector3D *n) {
    const vec3 a = vec3_make((float)m->a1, (float)m->a2, (float)m->a3);
    const vec3 b = vec3_make((float)m->b1, (float)m->b2, (float)m->b3);
    const vec3 c = vec3_make((float)m->c1, (float)m->c2, (float)m->c3);
    const vec3 local = vec3_make((float)n->x, (float)n->y, (float)n->z);
    const vec3 turned =
        vec3_make(vec3_dot(vec3_cross(b, c), local), vec3_dot(vec3_cross(c, a), local),
                  vec3_dot(vec3_cross(a, b), local));
    const float side = vec3_dot(a, vec3_cross(b, c)) < 0 ? -1.0f : 1.0f;
    const vec3 unit = vec3_normalize(vec3_scale(turned, side));
    return vec3_is_finite(unit) ? unit : vec3_all(0);
}

static bool is_mirrored(const struct aiMatrix4x4 *m) {
    const vec3 a = vec3_make((float)m->a1, (float)m->a2, (float)m->a3);
    const vec3 b = vec3_make((float)m->b1, (float)m->b2, (float)m->b3);
    const vec3 c = vec3_make((float)m->c1, (float)m->c2, (float)m->c3);
    return vec3_dot(a, vec3_cross(b, c)) < 0;
}

static void vertices_write(importer *importer, const struct aiMesh *source,
                           const struct aiMatrix4x4 *m) {
    mesh *into = importer->mesh;
    for (unsigned i = 0; i < source->mNumVertices; ++i) {
        into->positions[importer->positions + i] = point_of(m, &source->mVertices[i]);
        if (source->mNormals)
            into->normals[importer->normals + i] = normal_of(m, &source->mNormals[i]);
        if (source->mTextureCoords[0]) {
            const struct aiVector3D *uv = &source->mTextureCoords[0][i];
            const bool finite = isfinite((float)uv->x) && isfinite((float)uv->y);
            into->texcoords[importer->texcoords + i] =
                finite ? vec2_make((float)uv->x, (float)uv->y) : vec2_make(0, 0);
        }
    }
}

static void triangle_write(importer *importer, const struct aiMesh *source,
                           const struct aiFace *face, const uint32_t cut[3], bool mirrored) {
    mesh *into = importer->mesh;
    for (int k = 0; k < 3; ++k) {
        const uint32_t corner = face->mIndices[cut[mirrored && k ? 3 - k : k]];
        const uint64_t at = 3 * importer->triangles + (uint64_t)k;
        into->triangles[at] = (uint32_t)importer->positions + corner;
        if (into->normal_indices) {
            const uint64_t normal = importer->normals + corner;
            const bool has = source->mNormals && !vec3_is_zero(into->normals[normal]);
            into->normal_indices[at] = has ? (uint32_t)normal : KD_NONE;
        }
        if (into->texcoord_indices)
            into->texcoord_indices[at] =
                source->mTextureCoords[0] ? (uint32_t)importer->texcoords + corner : KD_NONE;
    }
    into->triangle_materials[importer->triangles++] =
        source->mMaterialIndex < into->material_count ? source->mMaterialIndex : 0;
}

static kd_status face_write(importer *importer, const struct aiMesh *mesh,
                            const struct aiFace *face, bool mirrored) {
    for (unsigned k = 0; k < face->mNumIndices; ++k) {
        const bool sound = face->mIndices[k] < mesh->mNumVertices;
        if (sound)
            importer->corners[k] =
                importer->mesh->positions[importer->positions + face->mIndices[k]];
        if (!sound || !vec3_is_finite(importer->corners[k])) {
            ++importer->left_out;
            return KD_OK;
        }
    }
    KD_TRY(polygon_triangulate(importer->corners, face->mNumIndices, importer->cut));
    for (unsigned k = 0; k + 2 < face->mNumIndices; ++k)
        triangle_write(importer, mesh, face, &importer->cut[3 * k], mirrored);
    return KD_OK;
}

/* Counts or writes one mesh of one node. */
static kd_status mesh_visit(importer *importer, const struct aiMesh *mesh,
                            const struct aiMatrix4x4 *m) {
    if (importer->writing) vertices_write(importer, mesh, m);
    const bool mirrored = is_mirrored(m);
    for (unsigned f = 0; f < mesh->mNumFaces && mesh->mFaces; ++f) {
        const struct aiFace *face = &mesh->mFaces[f];
        if (face->mNumIndices < 3) continue; /* skip points and lines */
        if (importer->writing)
            KD_TRY(face_write(importer, mesh, face, mirrored));
        else
            importer->triangles += face->mNumIndices - 2;
        ++importer->faces;
    }
    importer->positions += mesh->mNumVertices;
    if (mesh->mNormals) importer->normals += mesh->mNumVertices;
    if (mesh->mTextureCoords[0]) importer->texcoords += mesh->mNumVertices;
    return KD_OK;
}

static kd_status node_visit(importer *importer, const struct aiNode *node,
                            const struct aiMatrix4x4 *parent, int depth) {
    KD_REQUIRE(depth < NODE_DEPTH, KD_ERROR_INPUT,
               "found nodes nested %d levels deep, expected fewer levels", depth);
    const struct aiMatrix4x4 m = multiply(parent, &node->mTransformation);
    for (unsigned i = 0; i < node->mNumMeshes; ++i)
        if (node->mMeshes[i] < importer->scene->mNumMeshes)
            KD_TRY(mesh_visit(importer, importer->scene->mMeshes[node->mMeshes[i]], &m));
    for (unsigned i = 0; i < node->mNumChildren; ++i)
        KD_TRY(node_visit(importer, node->mChildren[i], &m, depth + 1));
    return KD_OK;
}

static kd_status scene_visit(importer *importer) {
    struct aiMatrix4x4 identity;
    aiIdentityMatrix4(&identity);
    importer->positions = importer->normals = importer->texcoords = importer->triangles =
        importer->faces = 0;
    return importer->scene->mRootNode
               ? node_visit(importer, importer->scene->mRootNode, &identity, 0)
               : KD_OK;
}

static kd_status arrays_reserve(importer *importer) {
    mesh *into = importer->mesh;
    const uint64_t maximum = KD_NONE - 1;
    KD_REQUIRE(importer->positions <= maximum && importer->triangles <= maximum, KD_ERROR_INPUT,
               "found %llu vertices and %llu triangles, expected less than 2^32 of each",
               (unsigned long long)importer->positions, (unsigned long long)importer->triangles);
    uint32_t largest = 3;
    for (unsigned i = 0; i < importer->scene->mNumMeshes; ++i)
        for (unsigned f = 0; f < importer->scene->mMeshes[i]->mNumFaces; ++f)
            if (importer->scene->mMeshes[i]->mFaces[f].mNumIndices > largest)
                largest = importer->scene->mMeshes[i]->mFaces[f].mNumIndices;
    KD_TRY(KD_RESERVE(importer->corners, largest));
    KD_TRY(KD_RESERVE(importer->cut, 3 * (uint64_t)largest));
    KD_TRY(KD_RESERVE(into->positions, importer->positions));
    KD_TRY(KD_RESERVE(into->triangles, 3 * importer->triangles));
    KD_TRY(KD_RESERVE(into->triangle_materials, importer->triangles));
    if (importer->normals) {
        KD_TRY(KD_RESERVE(into->normals, importer->normals));
        KD_TRY(KD_RESERVE(into->normal_indices, 3 * importer->triangles));
    }
    if (importer->texcoords) {
        KD_TRY(KD_RESERVE(into->texcoords, importer->texcoords));
        KD_TRY(KD_RESERVE(into->texcoord_indices, 3 * importer->triangles));
    }
    return KD_OK;
}

/* Replaces positions that are not finite, which no triangle uses, by another position, so that
   bounding boxes stay correct. */
static void positions_mend(mesh *mesh) {
    vec3 sound = vec3_all(0);
    for (uint32_t i = mesh->position_count; i-- > 0;)
        if (vec3_is_finite(mesh->positions[i])) sound = mesh->positions[i];
    for (uint32_t i = 0; i < mesh->position_count; ++i)
        if (!vec3_is_finite(mesh->positions[i])) mesh->positions[i] = sound;
}

/* Names in one line what the file has and Kandela does not read from it. */
static void omissions_report(const struct aiScene *scene, const char *path) {
    bool colours = false, bones = false, second = false;
    for (unsigned i = 0; i < scene->mNumMeshes; ++i) {
        const struct aiMesh *mesh = scene->mMeshes[i];
        colours = colours || mesh->mColors[0];
        bones = bones || mesh->mNumBones > 0 || mesh->mNumAnimMeshes > 0;
        second = second || mesh->mTextureCoords[1];
    }
    const struct {
        bool found;
        const char *name;
    } rows[] = {{scene->mNumTextures > 0, "embedded images"},
                {scene->mNumLights > 0, "lights"},
                {scene->mNumCameras > 0, "cameras"},
                {scene->mNumAnimations > 0, "animations"},
                {bones, "deformations"},
                {colours, "vertex colours"},
                {second, "further texture coordinates"}};
    char list[160] = "";
    size_t left = 0, used = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) left += rows[i].found;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (!rows[i].found) continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", rows[i].name,
                                 left > 2    ? ", "
                                 : left == 2 ? " and "
                                             : "");
        --left;
    }
    if (used)
        log_message(LOG_WARNING,
                    "%s: found %s, which Kandela reads from glTF only; they are ignored", path,
                    list);
}

static kd_status scene_take(importer *importer, const char *path) {
    mesh *into = importer->mesh;
    omissions_report(importer->scene, path);
    KD_TRY(import_materials(into, importer->scene, path));
    KD_TRY(scene_visit(importer));
    KD_TRY(arrays_reserve(importer));
    importer->writing = true;
    KD_TRY(scene_visit(importer));
    into->position_count = (uint32_t)importer->positions;
    into->normal_count = (uint32_t)importer->normals;
    into->texcoord_count = (uint32_t)importer->texcoords;
    into->triangle_count = (uint32_t)importer->triangles;
    into->face_count = importer->faces <= KD_NONE ? (uint32_t)importer->faces : KD_NONE;
    positions_mend(into);
    if (importer->left_out)
        log_message(LOG_WARNING,
                    "%s: %llu faces have corners that are missing or not finite; they are skipped",
                    path, (unsigned long long)importer->left_out);
    return KD_OK;
}

/* --- assimp's file system: a single file in memory --- */

typedef struct memory_file {
    const file_view *view;
    size_t at;
} memory_file;

static size_t memory_read(struct aiFile *file, char *to, size_t size, size_t count) {
    memory_file *memory = (memory_file *)(void *)file->UserData;
    const size_t left = memory->view->count - memory->at;
    if (size == 0) return 0;
    if (count > left / size) count = left / size;
    memcpy(to, memory->view->bytes + memory->at, size * count);
    memory->at += size * count;
    return count;
}

static size_t memory_write(struct aiFile *file, const char *from, size_t size, size_t count) {
    (void)file;
    (void)from;
    (void)size;
    (void)count;
    return 0;
}

static size_t memory_report(struct aiFile *file) {
    return ((memory_file *)(void *)file->UserData)->at;
}

static size_t memory_size(struct aiFile *file) {
    return ((memory_file *)(void *)file->UserData)->view->count;
}

static enum aiReturn memory_seek(struct aiFile *file, size_t offset, enum aiOrigin origin) {
    memory_file *memory = (memory_file *)(void *)file->UserData;
    const size_t count = memory->view->count;
    const size_t from = origin == aiOrigin_CUR ? memory->at : origin == aiOrigin_END ? count : 0;
    const size_t at = from + offset; /* a negative result wraps around and fails the check below */
    if (at > count) return aiReturn_FAILURE;
    memory->at = at;
    return aiReturn_SUCCESS;
}

static void memory_flush(struct aiFile *file) {
    (void)file;
}

typedef struct memory_files {
    const char *path;
    const file_view *view;
} memory_files;

static void file_end(struct aiFileIO *files, struct aiFile *file) {
    (void)files;
    if (file) memory_free(file->UserData);
    memory_free(file);
}

/* Opens only the file itself; formats with several files do not get the others. */
static struct aiFile *file_begin(struct aiFileIO *files, const char *path, const char *mode) {
    const memory_files *all = (const memory_files *)(const void *)files->UserData;
    struct aiFile *made = NULL;
    memory_file *state = NULL;
    if (strcmp(path, all->path) != 0 || strchr(mode, 'w') || strchr(mode, 'a')) return NULL;
    if (KD_RESERVE(made, 1) != KD_OK || KD_RESERVE(state, 1) != KD_OK) {
        memory_free(made);
        return NULL;
    }
    *state = (memory_file){all->view, 0};
    *made = (struct aiFile){memory_read,
                            memory_write,
                            memory_report,
                            memory_size,
                            memory_seek,
                            memory_flush,
                            (aiUserData)(void *)state};
    return made;
}

kd_status import_scene(mesh *out, const char *path, const file_view *file) {
    memset(out, 0, sizeof *out);
    importer to = {0};
    to.mesh = out;
    /* aiProcess_ValidateDataStructure is not used, because it rejects point clouds and empty
       meshes; all data is validated during conversion. */
    memory_files all = {path, file};
    struct aiFileIO files = {file_begin, file_end, (aiUserData)(void *)&all};
    to.scene = aiImportFileEx(path, aiProcess_JoinIdenticalVertices, &files);
    KD_REQUIRE(to.scene, KD_ERROR_INPUT, "%s: " IMPORT_CANNOT_READ "%s", path, aiGetErrorString());
    const kd_status status = scene_take(&to, path);
    aiReleaseImport(to.scene);
    memory_free(to.corners);
    memory_free(to.cut);
    if (status != KD_OK) mesh_close(out);
    return status;
}
