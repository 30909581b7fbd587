#include "scenes/import/import_answer.h"
#include "core/memory.h"
#include "core/status.h"

enum { ERROR_BYTES = 2048, WARNING_BYTES = 1 << 16, NAME_BYTES = 1 << 14, NO_NAME = -1 };
static const uint64_t magic = 0x31706d496e616b6aull;

typedef struct answer_head {
    uint64_t magic;
    uint32_t status, error_bytes, warning_bytes;
    uint32_t positions, normals, texcoords, triangles, materials, faces;
    uint32_t has_normal_indices, has_texcoord_indices, end;
} answer_head;

/* --- writing --------------------------------------------------------------------------------- */

static bool write_bytes(FILE *file, const void *bytes, size_t count) {
    return count == 0 || fwrite(bytes, 1, count, file) == count;
}

static bool name_put(FILE *file, const char *name) {
    const int32_t bytes = name ? (int32_t)strnlen(name, NAME_BYTES) : NO_NAME;
    return write_bytes(file, &bytes, sizeof bytes) &&
           (!name || write_bytes(file, name, (size_t)bytes));
}

static bool material_put(FILE *file, const mesh_material *material) {
    mesh_material copy = *material;
    bool written = write_bytes(file, &copy.record, sizeof copy.record) &&
                   write_bytes(file, &copy.layers, sizeof copy.layers) &&
                   write_bytes(file, copy.map_scale, sizeof copy.map_scale) &&
                   write_bytes(file, copy.map_offset, sizeof copy.map_offset) &&
                   write_bytes(file, &copy.map_clamp, sizeof copy.map_clamp) &&
                   name_put(file, copy.name);
    for (int map = 0; map < MESH_MAPS_PLAIN && written; ++map)
        written = name_put(file, *mesh_material_map(&copy, (mesh_map)map));
    return written;
}

bool import_answer_write(FILE *file, kd_status status, const char *error, const char *warnings,
                         const mesh *mesh) {
    answer_head head = {.magic = magic, .status = (uint32_t)status};
    head.error_bytes = status == KD_OK ? 0 : (uint32_t)strnlen(error, ERROR_BYTES - 1);
    head.warning_bytes = warnings ? (uint32_t)strnlen(warnings, WARNING_BYTES - 1) : 0;
    if (status == KD_OK) {
        head.positions = mesh->position_count;
        head.normals = mesh->normal_count;
        head.texcoords = mesh->texcoord_count;
        head.triangles = mesh->triangle_count;
        head.materials = mesh->material_count;
        head.faces = mesh->face_count;
        head.has_normal_indices = mesh->normal_indices != NULL;
        head.has_texcoord_indices = mesh->texcoord_indices != NULL;
    }
    bool written = write_bytes(file, &head, sizeof head) &&
                   write_bytes(file, error, head.error_bytes) &&
                   write_bytes(file, warnings, head.warning_bytes);
    if (!written || status != KD_OK) return written;
    const size_t corners = 3 * (size_t)head.triangles * sizeof(uint32_t);
    written = write_bytes(file, mesh->positions, head.positions * sizeof(vec3)) &&
              write_bytes(file, mesh->normals, head.normals * sizeof(vec3)) &&
              write_bytes(file, mesh->texcoords, head.texcoords * sizeof(vec2)) &&
              write_bytes(file, mesh->triangles, corners) &&
              write_bytes(file, mesh->normal_indices, mesh->normal_indices ? corners : 0) &&
              write_bytes(file, mesh->texcoord_indices, mesh->texcoord_indices ? corners : 0) &&
              write_bytes(file, mesh->triangle_materials, head.triangles * sizeof(uint32_t));
    for (uint32_t i = 0; i < head.materials && written; ++i)
        written = material_put(file, &mesh->materials[i]);
    return written && write_bytes(file, &magic, sizeof magic);
}

/* --- reading --------------------------------------------------------------------------------- */

typedef struct answer_reader {
    struct mesh *mesh;
    const char *path;
    import_source source;
    void *context;
    uint64_t left; /* remaining allocation limit, in bytes */
} answer_reader;

static kd_status unsound(const answer_reader *reader, const char *message) {
    KD_FAIL(KD_ERROR_INPUT, "%s: kandela-import sent invalid data: %s", reader->path, message);
}

static kd_status read_bytes(answer_reader *reader, void *to, uint64_t bytes) {
    if (bytes) KD_TRY(reader->source(reader->context, to, bytes));
    return KD_OK;
}

/* Allocates and reads an array; NULL if `count` is 0. */
static kd_status array_take(answer_reader *reader, void **array, uint64_t count,
                            size_t item_bytes) {
    if (count == 0) return KD_OK;
    if (count > reader->left / item_bytes) return unsound(reader, "more than its memory limit");
    reader->left -= count * item_bytes;
    KD_TRY(memory_reserve(array, count, item_bytes));
    KD_TRY(read_bytes(reader, *array, count * item_bytes));
    return KD_OK;
}

/* Removes line ends and terminal escape codes. */
static void text_clean(char *text) {
    for (char *c = text; *c; ++c)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

static kd_status words_take(answer_reader *reader, const answer_head *head) {
    char error[ERROR_BYTES] = "", *warnings = NULL, *save = NULL;
    if (head->error_bytes >= ERROR_BYTES || head->warning_bytes >= WARNING_BYTES)
        return unsound(reader, "an unterminated message");
    KD_TRY(read_bytes(reader, error, head->error_bytes));
    error[head->error_bytes] = '\0';
    text_clean(error);
    KD_TRY(KD_RESERVE(warnings, head->warning_bytes + 1));
    const kd_status status = read_bytes(reader, warnings, head->warning_bytes);
    if (status == KD_OK) {
        warnings[head->warning_bytes] = '\0';
        for (char *line = strtok_r(warnings, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save)) {
            text_clean(line);
            log_message(LOG_WARNING, "%s", line);
        }
    }
    memory_free(warnings);
    KD_TRY(status);
    if (head->status == KD_OK) return KD_OK;
    KD_FAIL(head->status == KD_ERROR_MEMORY ? KD_ERROR_MEMORY : KD_ERROR_INPUT, "%s", error);
}

static kd_status name_take(answer_reader *reader, char **name) {
    int32_t bytes = 0;
    KD_TRY(read_bytes(reader, &bytes, sizeof bytes));
    if (bytes == NO_NAME) return KD_OK;
    if (bytes < 0 || bytes > NAME_BYTES) return unsound(reader, "an unterminated name");
    KD_TRY(KD_RESERVE(*name, (uint64_t)bytes + 1));
    (*name)[bytes] = '\0';
    KD_TRY(read_bytes(reader, *name, (uint64_t)bytes));
    text_clean(*name);
    return KD_OK;
}

/* Copies the fields that an importer may set; all others keep the values of material_default. */
static bool record_take(const material *read, material *record) {
    *record = material_default();
    record->kind = read->kind;
    record->diffuse = read->diffuse;
    record->specular = read->specular;
    record->transmission = read->transmission;
    record->emission = read->emission;
    record->roughness = read->roughness;
    record->metallic = read->metallic;
    record->ior = read->ior;
    record->opacity = read->opacity;
    record->two_sided = read->two_sided != 0;
    record->bump_scale = read->bump_scale;
    return read->kind >= 0 && read->kind < MATERIAL_KINDS && vec3_is_finite(read->diffuse) &&
           vec3_is_finite(read->specular) && vec3_is_finite(read->transmission) &&
           vec3_is_finite(read->emission) && isfinite(read->roughness) &&
           isfinite(read->metallic) && isfinite(read->opacity) && isfinite(read->ior) &&
           read->ior > 0 && isfinite(read->bump_scale);
}

/* Copies the numbers; maps are set by path. */
static bool layers_take(const principled *read, principled *to) {
    const principled none = principled_default();
    *to = *read;
    to->specular_map = to->specular_tint_map = to->anisotropy_map = none.specular_map;
    to->sheen_map = to->sheen_roughness_map = to->transmission_map = none.specular_map;
    to->coat_map = to->coat_roughness_map = to->coat_normal_map = none.specular_map;
    const float numbers[] = {to->specular,        to->anisotropy,   to->turn,
                             to->sheen_roughness, to->coat,         to->coat_roughness,
                             to->coat_ior,        to->transmission, to->normal_scale};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        if (!isfinite(numbers[i])) return false;
    return vec3_is_finite(to->specular_tint) && vec3_is_finite(to->sheen) && to->coat_ior >= 1;
}

static kd_status material_take(answer_reader *reader, mesh_material *mesh_material) {
    material read;
    principled layers;
    unsigned char clamp = 0;
    mesh_material_default(mesh_material);
    KD_TRY(read_bytes(reader, &read, sizeof read));
    KD_TRY(read_bytes(reader, &layers, sizeof layers));
    KD_TRY(read_bytes(reader, mesh_material->map_scale, sizeof mesh_material->map_scale));
    KD_TRY(read_bytes(reader, mesh_material->map_offset, sizeof mesh_material->map_offset));
    KD_TRY(read_bytes(reader, &clamp, sizeof clamp));
    mesh_material->map_clamp = clamp != 0;
    KD_TRY(name_take(reader, &mesh_material->name));
    for (int map = 0; map < MESH_MAPS_PLAIN; ++map)
        KD_TRY(name_take(reader, mesh_material_map(mesh_material, (mesh_map)map)));
    bool sound = record_take(&read, &mesh_material->record) &&
                 layers_take(&layers, &mesh_material->layers) && mesh_material->name;
    for (int k = 0; k < 2; ++k)
        sound = sound && isfinite(mesh_material->map_scale[k]) &&
                isfinite(mesh_material->map_offset[k]);
    return sound ? KD_OK : unsound(reader, "a material index out of range");
}

static kd_status materials_take(answer_reader *reader, uint32_t count) {
    if (count > reader->left / sizeof(mesh_material)) return unsound(reader, "too many materials");
    KD_TRY(KD_RESERVE_ZEROED(reader->mesh->materials, count));
    reader->mesh->material_count = count;
    for (uint32_t i = 0; i < count; ++i) KD_TRY(material_take(reader, &reader->mesh->materials[i]));
    return KD_OK;
}

static bool indices_are_below(const uint32_t *indices, uint64_t count, uint32_t limit,
                              bool or_none) {
    for (uint64_t i = 0; i < count && indices; ++i)
        if (indices[i] >= limit && !(or_none && indices[i] == KD_NONE)) return false;
    return true;
}

static kd_status mesh_judge(const answer_reader *reader) {
    const mesh *read = reader->mesh;
    const uint64_t corners = 3 * (uint64_t)read->triangle_count;
    if (!indices_are_below(read->triangles, corners, read->position_count, false) ||
        !indices_are_below(read->normal_indices, corners, read->normal_count, true) ||
        !indices_are_below(read->texcoord_indices, corners, read->texcoord_count, true) ||
        !indices_are_below(read->triangle_materials, read->triangle_count, read->material_count,
                           false))
        return unsound(reader, "an index out of range");
    bool finite = true;
    for (uint32_t i = 0; i < read->position_count; ++i)
        finite = finite && vec3_is_finite(read->positions[i]);
    for (uint32_t i = 0; i < read->normal_count; ++i)
        finite = finite && vec3_is_finite(read->normals[i]);
    for (uint32_t i = 0; i < read->texcoord_count; ++i)
        finite = finite && isfinite(read->texcoords[i].x) && isfinite(read->texcoords[i].y);
    return finite ? KD_OK : unsound(reader, "a number that is not finite");
}

static kd_status mesh_take(answer_reader *reader, const answer_head *head) {
    mesh *into = reader->mesh;
    const uint64_t corners = 3 * (uint64_t)head->triangles;
    const uint64_t normals = head->has_normal_indices ? corners : 0;
    const uint64_t texcoords = head->has_texcoord_indices ? corners : 0;
    uint64_t last = 0;
    KD_TRY(array_take(reader, (void **)&into->positions, head->positions, sizeof(vec3)));
    KD_TRY(array_take(reader, (void **)&into->normals, head->normals, sizeof(vec3)));
    KD_TRY(array_take(reader, (void **)&into->texcoords, head->texcoords, sizeof(vec2)));
    KD_TRY(array_take(reader, (void **)&into->triangles, corners, sizeof(uint32_t)));
    KD_TRY(array_take(reader, (void **)&into->normal_indices, normals, sizeof(uint32_t)));
    KD_TRY(array_take(reader, (void **)&into->texcoord_indices, texcoords, sizeof(uint32_t)));
    KD_TRY(
        array_take(reader, (void **)&into->triangle_materials, head->triangles, sizeof(uint32_t)));
    into->position_count = head->positions;
    into->normal_count = head->normals;
    into->texcoord_count = head->texcoords;
    into->triangle_count = head->triangles;
    into->face_count = head->faces;
    KD_TRY(materials_take(reader, head->materials));
    KD_TRY(read_bytes(reader, &last, sizeof last));
    if (last != magic) return unsound(reader, "the end mark is missing");
    return mesh_judge(reader);
}

kd_status import_answer_read(mesh *out, const char *path, uint64_t max_bytes, import_source source,
                             void *context) {
    answer_reader from = {out, path, source, context, max_bytes};
    answer_head head;
    memset(out, 0, sizeof *out);
    KD_TRY(read_bytes(&from, &head, sizeof head));
    const uint32_t maximum = KD_NONE - 1;
    if (head.magic != magic || head.positions > maximum || head.triangles > maximum ||
        head.normals > maximum || head.texcoords > maximum)
        return unsound(&from, "the header is missing, or the data are too large");
    KD_TRY(words_take(&from, &head));
    const kd_status status = mesh_take(&from, &head);
    if (status != KD_OK) mesh_close(out);
    KD_TRY(status);
    return KD_OK;
}
