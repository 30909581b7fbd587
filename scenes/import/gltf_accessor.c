/* Accessors: typed arrays in buffer views, of any component type, normalized or not, interleaved
   or not, with sparse substitution. Data is little-endian and may be unaligned. */
#include "core/memory.h"
#include "scenes/import/gltf_file.h"

enum {
    TYPE_BYTE = 5120,
    TYPE_UBYTE = 5121,
    TYPE_SHORT = 5122,
    TYPE_USHORT = 5123,
    TYPE_UINT = 5125,
    TYPE_FLOAT = 5126,
    UNBACKED_FACTOR = 16, /* limit on elements without a buffer view, per byte of the file */
    UNBACKED_MIN = 1 << 12
};

static uint32_t type_bytes(int32_t type) { /* 0: invalid type */
    switch (type) {
    case TYPE_BYTE:
    case TYPE_UBYTE: return 1;
    case TYPE_SHORT:
    case TYPE_USHORT: return 2;
    case TYPE_UINT:
    case TYPE_FLOAT: return 4;
    default: return 0;
    }
}

static uint32_t components_of(const char *type) { /* 0: invalid type */
    static const struct {
        const char *name;
        uint32_t components;
    } types[] = {{"SCALAR", 1}, {"VEC2", 2}, {"VEC3", 3}, {"VEC4", 4}, {"MAT3", 9}, {"MAT4", 16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strcmp(type, types[i].name) == 0) return types[i].components;
    return 0;
}

kd_status gltf_accessor_open(gltf_file *gltf, uint32_t index, gltf_accessor *out) {
    const json_place at = gltf_place(gltf, GLTF_ACCESSORS, index);
    const cJSON *from = gltf_item(gltf, GLTF_ACCESSORS, index);
    const char *type = "";
    uint64_t count = 0, component = 0;
    memset(out, 0, sizeof *out);
    out->index = index;
    KD_TRY(gltf_count(gltf, &at, from, "count", &count));
    KD_TRY(gltf_count(gltf, &at, from, "componentType", &component));
    KD_TRY(gltf_text(gltf, &at, from, "type", &type));
    KD_TRY(gltf_flag(gltf, &at, from, "normalized", &out->normalized));
    out->type = component < TYPE_FLOAT + 1 ? (int32_t)component : 0;
    out->components = components_of(type);
    if (type_bytes(out->type) == 0)
        return gltf_fail(gltf, "bad-value", &at,
                         "found the component type %llu, expected 5120 to "
                         "5123, 5125 or 5126",
                         (unsigned long long)component);
    if (out->components == 0)
        return gltf_fail(gltf, "bad-value", &at,
                         "found the type \"%.20s\", expected SCALAR, VEC2, "
                         "VEC3, VEC4, MAT3 or MAT4",
                         type);
    if (count >= KD_NONE / 16)
        return gltf_fail(gltf, "bad-value", &at, "found %llu elements, expected less than 2^28",
                         (unsigned long long)count);
    out->count = (uint32_t)count;
    return KD_OK;
}

/* --- one element ------------------------------------------------------------------------------ */

typedef struct element_form {
    int32_t type;
    uint32_t components, size;
    uint32_t rows; /* rows of a matrix whose columns are padded to 4 bytes; 0: no padding */
    uint32_t bytes;
    bool normalized;
} element_form;

static element_form form_of(const gltf_accessor *accessor) {
    element_form form = {
        accessor->type,      accessor->components, type_bytes(accessor->type), 0, 0,
        accessor->normalized};
    form.bytes = form.components * form.size;
    if (form.components == 9 && form.size < 4) {
        form.rows = 3;
        form.bytes = 12 * form.size;
    }
    return form;
}

static float component_float(const unsigned char *at, int32_t type, bool normalized) {
    int8_t byte;
    int16_t half;
    uint16_t word;
    uint32_t whole;
    float value;
    switch (type) {
    case TYPE_BYTE:
        memcpy(&byte, at, 1);
        return normalized ? fmaxf((float)byte / 127, -1) : (float)byte;
    case TYPE_UBYTE: return normalized ? (float)*at / 255 : (float)*at;
    case TYPE_SHORT:
        memcpy(&half, at, 2);
        return normalized ? fmaxf((float)half / 32767, -1) : (float)half;
    case TYPE_USHORT: memcpy(&word, at, 2); return normalized ? (float)word / 65535 : (float)word;
    case TYPE_UINT:
        memcpy(&whole, at, 4);
        return normalized ? (float)((double)whole / 4294967295.0) : (float)whole;
    default: memcpy(&value, at, 4); return value;
    }
}

static uint32_t component_integer(const unsigned char *at, int32_t type) {
    uint16_t word;
    uint32_t whole;
    if (type == TYPE_UBYTE) return *at;
    if (type == TYPE_USHORT) {
        memcpy(&word, at, 2);
        return word;
    }
    memcpy(&whole, at, 4);
    return whole;
}

static void element_floats(const element_form *form, const unsigned char *at, float *to) {
    for (uint32_t i = 0; i < form->components; ++i) {
        const uint32_t slot = form->rows ? i / form->rows * 4 + i % form->rows : i;
        to[i] = component_float(at + slot * form->size, form->type, form->normalized);
    }
}

/* --- stretches of elements -------------------------------------------------------------------- */

/* Locates `count` elements of the given form at `offset` in buffer view `view`, after checking
   that they are within it. *step is the distance of elements in bytes. */
static kd_status stretch_find(gltf_file *gltf, const json_place *at, uint32_t view, uint64_t offset,
                              const element_form *form, uint64_t count, const unsigned char **first,
                              uint64_t *step) {
    gltf_bytes bytes = {NULL, 0};
    uint32_t stride = 0;
    KD_TRY(gltf_view_bytes(gltf, view, &bytes, &stride));
    *step = stride ? stride : form->bytes;
    if (stride && stride < form->bytes)
        return gltf_fail(gltf, "bad-value", at,
                         "found a byteStride of %u, expected at least the %u "
                         "bytes of an element",
                         stride, form->bytes);
    const uint64_t needed = count ? (count - 1) * *step + form->bytes : 0;
    if (offset > bytes.count || needed > bytes.count - offset)
        return gltf_fail(gltf, "index-range", at,
                         "found %llu elements of %u bytes from byte %llu on, expected at most the "
                         "%llu bytes of bufferViews[%u]",
                         (unsigned long long)count, form->bytes, (unsigned long long)offset,
                         (unsigned long long)bytes.count, view);
    *first = bytes.bytes + offset;
    return KD_OK;
}

/* Locates the elements before sparse substitution; *first is NULL if all are zero. */
static kd_status base_find(gltf_file *gltf, const json_place *at, const gltf_accessor *accessor,
                           const element_form *form, const unsigned char **first, uint64_t *step) {
    const cJSON *item = gltf_item(gltf, GLTF_ACCESSORS, accessor->index);
    uint32_t view = KD_NONE;
    uint64_t offset = 0;
    *first = NULL;
    KD_TRY(gltf_index(gltf, at, item, "bufferView", GLTF_VIEWS, &view));
    KD_TRY(gltf_count(gltf, at, item, "byteOffset", &offset));
    if (view != KD_NONE)
        return stretch_find(gltf, at, view, offset, form, accessor->count, first, step);
    const uint64_t maximum = UNBACKED_MIN + UNBACKED_FACTOR * gltf->bytes_available;
    if (accessor->count > maximum)
        return gltf_fail(gltf, "bad-value", at,
                         "found %u elements without a bufferView, expected at most %llu for a file "
                         "of this size",
                         accessor->count, (unsigned long long)maximum);
    return KD_OK;
}

typedef struct sparse_part {
    uint64_t count;
    element_form form; /* of the indices */
    const unsigned char *indices, *values;
    uint64_t index_step, value_step;
} sparse_part;

static kd_status sparse_stretch(gltf_file *gltf, const json_place *at, const cJSON *sparse,
                                const char *key, uint64_t count, element_form *form,
                                const unsigned char **first, uint64_t *step) {
    const cJSON *part = NULL;
    const json_place place = json_place_key(at, key);
    uint32_t view = KD_NONE;
    uint64_t offset = 0, type = 0;
    KD_TRY(gltf_inner(gltf, at, sparse, key, false, &part));
    KD_TRY(gltf_index(gltf, &place, part, "bufferView", GLTF_VIEWS, &view));
    KD_TRY(gltf_count(gltf, &place, part, "byteOffset", &offset));
    KD_TRY(gltf_count(gltf, &place, part, "componentType", &type));
    if (view == KD_NONE) return gltf_fail(gltf, "bad-value", &place, "`bufferView` is missing");
    if (form->components == 0) { /* for indices, whose type is given here */
        if (type != TYPE_UBYTE && type != TYPE_USHORT && type != TYPE_UINT)
            return gltf_fail(gltf, "bad-value", &place,
                             "found the component type %llu, expected 5121, 5123 or 5125",
                             (unsigned long long)type);
        form->type = (int32_t)type;
        form->components = 1;
        form->bytes = form->size = type_bytes(form->type);
    }
    return stretch_find(gltf, &place, view, offset, form, count, first, step);
}

static kd_status sparse_find(gltf_file *gltf, const json_place *at, const gltf_accessor *accessor,
                             const element_form *form, sparse_part *out) {
    const cJSON *sparse = NULL;
    const json_place place = json_place_key(at, "sparse");
    element_form values = *form;
    memset(out, 0, sizeof *out);
    KD_TRY(gltf_inner(gltf, at, gltf_item(gltf, GLTF_ACCESSORS, accessor->index), "sparse", false,
                      &sparse));
    if (!sparse) return KD_OK;
    KD_TRY(gltf_count(gltf, &place, sparse, "count", &out->count));
    if (out->count > accessor->count)
        return gltf_fail(gltf, "bad-value", &place, "found %llu elements, expected at most %u",
                         (unsigned long long)out->count, accessor->count);
    KD_TRY(sparse_stretch(gltf, &place, sparse, "indices", out->count, &out->form, &out->indices,
                          &out->index_step));
    KD_TRY(sparse_stretch(gltf, &place, sparse, "values", out->count, &values, &out->values,
                          &out->value_step));
    for (uint64_t i = 0; i < out->count; ++i) {
        const uint32_t index =
            component_integer(out->indices + i * out->index_step, out->form.type);
        if (index >= accessor->count)
            return gltf_fail(gltf, "index-range", &place, "found the index %u, expected below %u",
                             index, accessor->count);
    }
    return KD_OK;
}

static uint32_t sparse_index(const sparse_part *part, uint64_t i) {
    return component_integer(part->indices + i * part->index_step, part->form.type);
}

/* --- whole accessors -------------------------------------------------------------------------- */

kd_status gltf_accessor_floats(gltf_file *gltf, const gltf_accessor *accessor, float **values) {
    const json_place at = gltf_place(gltf, GLTF_ACCESSORS, accessor->index);
    const element_form form = form_of(accessor);
    const uint64_t each = form.components;
    const unsigned char *first = NULL;
    uint64_t step = 0;
    sparse_part sparse;
    *values = NULL;
    KD_TRY(base_find(gltf, &at, accessor, &form, &first, &step));
    KD_TRY(sparse_find(gltf, &at, accessor, &form, &sparse));
    KD_TRY(KD_RESERVE_ZEROED(*values, each * accessor->count));
    for (uint64_t i = 0; i < accessor->count && first; ++i)
        element_floats(&form, first + i * step, *values + each * i);
    for (uint64_t i = 0; i < sparse.count; ++i)
        element_floats(&form, sparse.values + i * sparse.value_step,
                       *values + each * sparse_index(&sparse, i));
    return KD_OK;
}

kd_status gltf_accessor_integers(gltf_file *gltf, const gltf_accessor *accessor,
                                 uint32_t **values) {
    const json_place at = gltf_place(gltf, GLTF_ACCESSORS, accessor->index);
    const element_form form = form_of(accessor);
    const uint64_t each = form.components;
    const unsigned char *first = NULL;
    uint64_t step = 0;
    sparse_part sparse;
    *values = NULL;
    if (form.type != TYPE_UBYTE && form.type != TYPE_USHORT && form.type != TYPE_UINT)
        return gltf_fail(gltf, "bad-value", &at,
                         "found the component type %d, expected 5121, 5123 or 5125", form.type);
    KD_TRY(base_find(gltf, &at, accessor, &form, &first, &step));
    KD_TRY(sparse_find(gltf, &at, accessor, &form, &sparse));
    KD_TRY(KD_RESERVE_ZEROED(*values, each * accessor->count));
    for (uint64_t i = 0; i < accessor->count && first; ++i)
        for (uint64_t k = 0; k < each; ++k)
            (*values)[each * i + k] =
                component_integer(first + i * step + k * form.size, form.type);
    for (uint64_t i = 0; i < sparse.count; ++i)
        for (uint64_t k = 0; k < each; ++k)
            (*values)[each * sparse_index(&sparse, i) + k] =
                component_integer(sparse.values + i * sparse.value_step + k * form.size, form.type);
    return KD_OK;
}
