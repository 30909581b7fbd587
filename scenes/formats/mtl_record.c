/* Converts the statements of an MTL file to a material, and parses texture statements. The file
   name of a texture may contain blanks; options may follow the name, as some programs write them
   there. */
#include "scenes/formats/mtl.h"
#include "scenes/text/number.h"

typedef enum option_form { FORM_WORD, FORM_NUMBERS, FORM_SWITCH } option_form;

/* The maps on which an option has an effect, as bits. */
enum { FOR_COLOURS = 1, FOR_NUMBERS = 2, FOR_HEIGHTS = 4, FOR_NORMALS = 8, FOR_ALL = 15 };

typedef enum option_name {
    OPTION_SCALE,
    OPTION_OFFSET,
    OPTION_TURBULENCE,
    OPTION_RANGE,
    OPTION_BUMP,
    OPTION_BOOST,
    OPTION_RESOLUTION,
    OPTION_CLAMP,
    OPTION_BLEND_U,
    OPTION_BLEND_V,
    OPTION_CORRECTION,
    OPTION_CHANNEL,
    OPTION_TYPE,
    OPTION_SPACE,
    OPTIONS
} option_name;

typedef struct option_kind {
    const char *name;
    option_form form;
    int minimum, maximum; /* allowed count of numbers */
    uint32_t maps;
} option_kind;

static const option_kind option_kinds[OPTIONS] = {
    [OPTION_SCALE] = {"-s", FORM_NUMBERS, 1, 3, FOR_ALL},
    [OPTION_OFFSET] = {"-o", FORM_NUMBERS, 1, 3, FOR_ALL},
    [OPTION_TURBULENCE] = {"-t", FORM_NUMBERS, 1, 3, 0},
    [OPTION_RANGE] = {"-mm", FORM_NUMBERS, 2, 2, FOR_COLOURS | FOR_NUMBERS | FOR_HEIGHTS},
    [OPTION_BUMP] = {"-bm", FORM_NUMBERS, 1, 1, FOR_HEIGHTS | FOR_NORMALS},
    [OPTION_BOOST] = {"-boost", FORM_NUMBERS, 1, 1, 0},
    [OPTION_RESOLUTION] = {"-texres", FORM_NUMBERS, 1, 2, 0},
    [OPTION_CLAMP] = {"-clamp", FORM_SWITCH, 0, 0, FOR_ALL},
    [OPTION_BLEND_U] = {"-blendu", FORM_SWITCH, 0, 0, FOR_ALL},
    [OPTION_BLEND_V] = {"-blendv", FORM_SWITCH, 0, 0, FOR_ALL},
    [OPTION_CORRECTION] = {"-cc", FORM_SWITCH, 0, 0, FOR_COLOURS},
    [OPTION_CHANNEL] = {"-imfchan", FORM_WORD, 0, 0, FOR_NUMBERS | FOR_HEIGHTS},
    [OPTION_TYPE] = {"-type", FORM_WORD, 0, 0, 0},
    [OPTION_SPACE] = {"-colorspace", FORM_WORD, 0, 0, FOR_COLOURS}};

static uint32_t class_of(mtl_map map) {
    switch (map) {
    case MTL_MAP_DIFFUSE:
    case MTL_MAP_SPECULAR:
    case MTL_MAP_EMISSION:
    case MTL_MAP_SHEEN: return FOR_COLOURS;
    case MTL_MAP_BUMP: return FOR_HEIGHTS;
    case MTL_MAP_NORMAL: return FOR_NORMALS;
    default: return FOR_NUMBERS;
    }
}

const char *mtl_option_ignored(mtl_map_text *read, mtl_map which) {
    for (int i = 0; i < OPTIONS; ++i) {
        const uint32_t bit = 1u << i;
        const bool is_ignored = read->options & bit && !(option_kinds[i].maps & class_of(which));
        read->options &= ~bit;
        if (is_ignored) return option_kinds[i].name;
    }
    return NULL;
}

/* Returns the channel that -imfchan names; the usual one for z, the depth, which no picture has. */
static mesh_channel channel_of(text_span word) {
    static const struct {
        const char *name;
        mesh_channel channel;
    } channels[] = {{"r", MESH_CHANNEL_RED},
                    {"g", MESH_CHANNEL_GREEN},
                    {"b", MESH_CHANNEL_BLUE},
                    {"m", MESH_CHANNEL_ALPHA},
                    {"l", MESH_CHANNEL_LUMINANCE}};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; ++i)
        if (text_is_like(word, channels[i].name)) return channels[i].channel;
    return MESH_CHANNEL_USUAL;
}

/* Returns true if the value differs from the default. */
static bool option_apply(option_name name, const float values[3], int count, text_span word,
                         mtl_texture *texture) {
    const bool off = text_is_like(word, "off");
    switch (name) {
    case OPTION_SCALE:
        texture->scale[0] = values[0];
        texture->scale[1] = count > 1 ? values[1] : 1;
        return true;
    case OPTION_OFFSET:
        texture->offset[0] = values[0];
        texture->offset[1] = count > 1 ? values[1] : 0;
        return true;
    case OPTION_TURBULENCE: return values[0] != 0 || values[1] != 0 || values[2] != 0;
    case OPTION_RANGE:
        texture->base = values[0];
        texture->gain = values[1];
        return values[0] != 0 || values[1] != 1;
    case OPTION_BUMP: texture->bump = values[0]; return values[0] != 1;
    case OPTION_CLAMP: texture->clamp = !off; return !off;
    case OPTION_BLEND_U: texture->nearest[0] = off; return off;
    case OPTION_BLEND_V: texture->nearest[1] = off; return off;
    case OPTION_CORRECTION: texture->linear = off; return off;
    case OPTION_CHANNEL: texture->channel = channel_of(word); return true;
    case OPTION_SPACE: texture->linear = !text_is_like(word, "sRGB"); return true;
    default: return true;
    }
}

static int option_numbers(text_cursor *cursor, float values[3], int maximum) {
    int count = 0;
    while (count < maximum) {
        text_cursor ahead = *cursor;
        text_skip_blanks(&ahead);
        const char *next = number_float(ahead.at, &values[count]);
        if (!next || !text_ends_word(next) || !isfinite(values[count])) break;
        ahead.at = next;
        *cursor = ahead;
        ++count;
    }
    return count;
}

/* Parses one option with its arguments. Returns false, and leaves the cursor, if there is none. */
static bool option_read(text_cursor *cursor, mtl_map_text *read) {
    text_cursor ahead = *cursor;
    const text_span word = text_word(&ahead);
    for (int i = 0; i < OPTIONS; ++i) {
        const option_kind *kind = &option_kinds[i];
        if (!text_is(word, kind->name)) continue;
        float values[3] = {0};
        int count = 0;
        text_span value = {0};
        if (kind->form == FORM_NUMBERS) {
            count = option_numbers(&ahead, values, kind->maximum);
            if (count < kind->minimum) return false;
        } else {
            text_skip_blanks(&ahead);
            value = text_word(&ahead);
            if (value.count == 0) return false;
            if (kind->form == FORM_SWITCH && !text_is_like(value, "on") &&
                !text_is_like(value, "off"))
                return false;
        }
        if (option_apply((option_name)i, values, count, value, &read->texture))
            read->options |= 1u << i;
        *cursor = ahead;
        return true;
    }
    return false;
}

/* Parses the rest of the line if it consists of options only. Otherwise returns false and changes
   nothing. */
static bool options_to_end(text_cursor *cursor, mtl_map_text *read) {
    text_cursor ahead = *cursor;
    mtl_map_text behind = *read;
    do {
        if (!option_read(&ahead, &behind)) return false;
        text_skip_blanks(&ahead);
    } while (!text_is_line_end(*ahead.at));
    *cursor = ahead;
    *read = behind;
    return true;
}

void mtl_texture_default(mtl_texture *made) {
    memset(made, 0, sizeof *made);
    made->scale[0] = made->scale[1] = made->bump = made->gain = 1;
}

bool mtl_map_read(text_cursor *cursor, mtl_map_text *read) {
    memset(read, 0, sizeof *read);
    mtl_texture_default(&read->texture);
    text_skip_blanks(cursor);
    while (option_read(cursor, read)) text_skip_blanks(cursor);
    read->name.begin = cursor->at;
    while (!text_is_line_end(*cursor->at)) {
        const char *word_end = cursor->at;
        while (!text_ends_word(word_end)) ++word_end;
        cursor->at = word_end;
        read->name.count = (uint64_t)(word_end - read->name.begin);
        text_skip_blanks(cursor);
        if (*cursor->at == '-' && options_to_end(cursor, read)) break;
    }
    return read->name.count > 0;
}

/* Height of white in a bump map at -bm 1, in texture periods. MTL does not define the unit. */
static const float bump_unit = 0.01f;

/* Exporters write a small Kd for "no diffuse part"; below this fraction of Ks it is ignored. */
static const float diffuse_share = 0.1f;

static bool given(float x) {
    return !isnan(x);
}

static vec3 share(vec3 c) {
    return vec3_make(float_clamp(c.x, 0, 1), float_clamp(c.y, 0, 1), float_clamp(c.z, 0, 1));
}

/* Source: Walter et al. 2007 (EGSR), section 5.3: alpha^2 = 2 / (Ns + 2) gives Phong and
     microfacet lobes of equal width. The record's roughness is sqrt(alpha). */
float mtl_roughness_of_exponent(float ns) {
    if (!(ns > 0)) return 1;
    return sqrtf(sqrtf(2 / (ns + 2)));
}

static float opacity_of(const mtl_entry *entry) {
    const float opacity = given(entry->d) ? entry->d : given(entry->tr) ? 1 - entry->tr : 1;
    return float_clamp(opacity, 0, 1);
}

/* Programs write illum 9, and SketchUp illum 4 with Ni 1, for plain opacity by d. */
static bool is_cut_out(const mtl_entry *entry) {
    if (!(opacity_of(entry) < 1) || given(entry->tf.x)) return false;
    return entry->illum == 9 || !(entry->ni > 1);
}

static bool is_glass(const mtl_entry *entry) {
    if (entry->blender || is_cut_out(entry)) return false;
    if (given(entry->illum))
        return entry->illum == 4 || entry->illum == 6 || entry->illum == 7 || entry->illum == 9;
    const bool dark = !given(entry->kd.x) || vec3_is_zero(entry->kd);
    return dark && given(entry->tf.x) && !vec3_is_zero(entry->tf) && entry->ni > 1;
}

static bool has_map(const mtl_entry *entry, mtl_map which) {
    return entry->maps[which].path != NULL;
}

static bool is_pbr(const mtl_entry *entry) {
    return given(entry->pr) || given(entry->pm) || has_map(entry, MTL_MAP_ROUGHNESS) ||
           has_map(entry, MTL_MAP_METALLIC);
}

/* Returns true if Ns is at its maximum, Ni is above 1, and no other statement determines the kind
   of material. */
static bool is_sharp_and_bends(const mtl_entry *entry) {
    return entry->ns >= 999.5f && entry->ni > 1 && opacity_of(entry) == 1 && !is_pbr(entry) &&
           !(entry->illum > 2);
}

static void glass_set(const mtl_entry *entry, material *record) {
    record->kind = MATERIAL_GLASS;
    record->roughness = given(entry->pr) ? float_clamp(entry->pr, 0, 1) : 0;
    record->opacity = 1;
    /* Tf filters light that has passed through the body, which is two crossings. */
    const vec3 tint = given(entry->tf.x) ? share(entry->tf) : vec3_all(1);
    record->transmission = vec3_make(sqrtf(tint.x), sqrtf(tint.y), sqrtf(tint.z));
}

static void pbr_set(const mtl_entry *entry, material *record) {
    record->kind = MATERIAL_PLASTIC;
    record->roughness = given(entry->pr)                    ? float_clamp(entry->pr, 0, 1)
                        : has_map(entry, MTL_MAP_ROUGHNESS) ? 1
                                                            : mtl_roughness_of_exponent(entry->ns);
    record->metallic = given(entry->pm)                   ? float_clamp(entry->pm, 0, 1)
                       : has_map(entry, MTL_MAP_METALLIC) ? 1
                                                          : 0;
    record->specular = vec3_all(float_square((record->ior - 1) / (record->ior + 1)));
}

/* Returns the index of refraction whose reflectance at normal incidence equals Ks, for the
   dielectric coat of plastic. If Ni is given, it limits the reflectance, because many exporters
   write Ks 0.5 for plain plastic. */
static float coat_index(const mtl_entry *entry, const material *record, bool traced) {
    float reflectance = float_min(vec3_luminance(record->specular), 0.9f);
    if (given(entry->ni) && !traced) {
        const float index = entry->ni > 1 ? record->ior : 1.5f;
        reflectance = float_min(reflectance, float_square((index - 1) / (index + 1)));
    }
    const float root = sqrtf(reflectance);
    return (1 + root) / (1 - root);
}

/* Returns `number` clamped to 0..1, or `otherwise` if it is absent. */
static float share_of(float number, float otherwise) {
    return given(number) ? float_clamp(number, 0, 1) : otherwise;
}

/* Sets the layers of the PBR keys. Blender writes four times the coat's weight. The rotation of
   the anisotropy is in turns. */
static void layers_set(const mtl_entry *entry, mesh_material *material) {
    principled *layers = &material->layers;
    layers->sheen = vec3_all(share_of(entry->ps, has_map(entry, MTL_MAP_SHEEN) ? 1 : 0));
    layers->coat = share_of(entry->blender ? 0.25f * entry->pc : entry->pc,
                            has_map(entry, MTL_MAP_COAT) ? 1 : 0);
    layers->coat_roughness = share_of(entry->pcr, has_map(entry, MTL_MAP_COAT_ROUGHNESS) ? 1 : 0);
    layers->anisotropy = share_of(entry->aniso, 0);
    layers->turn = given(entry->anisor) ? 2 * KD_PI * entry->anisor : 0;
    if (given(entry->tf.x)) layers->transmission = share_of(vec3_luminance(entry->tf), 0);
}

static bool has_layers(const mtl_entry *entry) {
    return entry->ps > 0 || entry->pc > 0 || entry->aniso > 0 || has_map(entry, MTL_MAP_SHEEN) ||
           has_map(entry, MTL_MAP_COAT) ||
           (is_pbr(entry) && given(entry->tf.x) && vec3_largest(entry->tf) > 0);
}

/* Inverts Blender's export: Ns = 1000 (1 - r)^2 since version 4, (30 (1 - r))^2 before; no Ns for
   r = 1. */
static float blender_roughness(const mtl_entry *entry) {
    const float full = entry->blender >= 4 ? 1000 : 900;
    if (given(entry->pr)) return float_clamp(entry->pr, 0, 1);
    if (has_map(entry, MTL_MAP_ROUGHNESS) || has_map(entry, MTL_MAP_EXPONENT)) return 1;
    if (!given(entry->ns)) return 1;
    return 1 - sqrtf(float_clamp(entry->ns / full, 0, 1));
}

/* Follows Blender's importer: illum 3 is metal with the fraction Ka and the colour Kd; Ks 0.5 is
   the default reflectance of a dielectric; emission is two-sided. */
static void blender_set(const mtl_entry *entry, mesh_material *mesh_material) {
    material *record = &mesh_material->record;
    record->kind = MATERIAL_PRINCIPLED;
    record->roughness = blender_roughness(entry);
    record->metallic = entry->illum == 3 ? share_of(entry->ka.x, 1) : 0;
    if (given(entry->pm) || has_map(entry, MTL_MAP_METALLIC))
        record->metallic = share_of(entry->pm, 1);
    record->two_sided = 1;
    layers_set(entry, mesh_material);
    if (!is_pbr(entry) && !(entry->illum == 3) && !has_map(entry, MTL_MAP_SPECULAR))
        mesh_material->layers.specular = float_min(2 * vec3_luminance(record->specular), 2);
}

/* Detects a coloured highlight over a darker body: gold and brass as in 3ds Max and in tables for
   OpenGL. */
static bool is_coloured_metal(const mtl_entry *entry, const material *record) {
    const vec3 ks = record->specular;
    const float high = vec3_largest(ks), low = float_min(ks.x, float_min(ks.y, ks.z));
    return high - low > 0.15f * high && 2 * vec3_luminance(record->diffuse) < vec3_luminance(ks) &&
           vec3_largest(record->diffuse) > 0 && !has_map(entry, MTL_MAP_DIFFUSE) &&
           !has_map(entry, MTL_MAP_SPECULAR);
}

static void phong_set(const mtl_entry *entry, material *record) {
    const bool traced = entry->illum == 3 || entry->illum == 5 || entry->illum == 8;
    record->roughness = traced ? 0 : mtl_roughness_of_exponent(entry->ns);
    const bool shiny = vec3_largest(record->specular) > 0 && !(entry->illum <= 1);
    const bool coloured =
        vec3_largest(record->diffuse) > diffuse_share * vec3_largest(record->specular);
    if (!shiny)
        record->kind = MATERIAL_DIFFUSE;
    else if (is_coloured_metal(entry, record)) {
        record->kind = MATERIAL_CONDUCTOR; /* merges both lobes into one */
        record->specular = share(vec3_add(record->specular, record->diffuse));
        record->roughness = mtl_roughness_of_exponent(entry->ns);
    } else if (coloured || has_map(entry, MTL_MAP_DIFFUSE))
        record->kind = MATERIAL_PLASTIC;
    else
        record->kind = record->roughness > 0 ? MATERIAL_CONDUCTOR : MATERIAL_MIRROR;
    if (record->kind == MATERIAL_PLASTIC) record->ior = coat_index(entry, record, traced);
}

static void colours_set(const mtl_entry *entry, material *record) {
    const bool textured = has_map(entry, MTL_MAP_DIFFUSE);
    if (given(entry->kd.x))
        record->diffuse = share(entry->kd);
    else if (given(entry->ks.x) || given(entry->tf.x) || given(entry->ke.x))
        record->diffuse = vec3_all(0);
    if (textured && (!given(entry->kd.x) || vec3_is_zero(record->diffuse)))
        record->diffuse = vec3_all(1); /* black would hide the texture */
    record->specular = given(entry->ks.x) ? share(entry->ks) : vec3_all(0);
    if (has_map(entry, MTL_MAP_SPECULAR) && vec3_is_zero(record->specular) && !given(entry->ks.x))
        record->specular = vec3_all(1);
    record->emission = given(entry->ke.x) ? vec3_max(entry->ke, vec3_all(0)) : vec3_all(0);
    if (has_map(entry, MTL_MAP_EMISSION) && vec3_is_zero(record->emission))
        record->emission = vec3_all(1);
}

/* Returns true if the map has one number per texel. */
static bool is_number(mesh_map map) {
    return map == MESH_MAP_OPACITY || map == MESH_MAP_ROUGHNESS || map == MESH_MAP_METALLIC ||
           map == MESH_MAP_BUMP || map == MESH_MAP_COAT || map == MESH_MAP_COAT_ROUGHNESS;
}

/* The material has the place of its first map, which scene descriptions can change; other maps have
   their own. */
static mesh_map_form form_of(const mtl_texture *texture, const mtl_texture *first, mesh_map map) {
    mesh_map_form form;
    memset(&form, 0, sizeof form);
    if (is_number(map)) form.channel = (uint8_t)texture->channel;
    form.placed = memcmp(texture->scale, first->scale, sizeof first->scale) != 0 ||
                  memcmp(texture->offset, first->offset, sizeof first->offset) != 0 ||
                  texture->clamp != first->clamp;
    memcpy(form.scale, texture->scale, sizeof form.scale);
    memcpy(form.offset, texture->offset, sizeof form.offset);
    form.wrap[0] = form.wrap[1] = texture->clamp ? TEXTURE_HOLD : TEXTURE_REPEAT;
    memcpy(form.nearest, texture->nearest, sizeof form.nearest);
    form.linear = texture->linear;
    form.ranged = map != MESH_MAP_BUMP && (texture->base != 0 || texture->gain != 1);
    form.base = texture->base;
    form.gain = texture->gain;
    return form;
}

/* Moves the texture paths to the material. */
static void maps_take(mtl_entry *entry, mesh_material *material) {
    static const mesh_map places[MTL_MAPS] = {
        MESH_MAP_DIFFUSE,   MESH_MAP_SPECULAR, MESH_MAP_EMISSION,       MESH_MAP_OPACITY,
        MESH_MAP_ROUGHNESS, MESH_MAP_METALLIC, MESH_MAP_NORMAL,         MESH_MAP_BUMP,
        MESH_MAP_SHEEN,     MESH_MAP_COAT,     MESH_MAP_COAT_ROUGHNESS, MESH_MAP_ROUGHNESS};
    const mtl_texture *first = NULL;
    for (int i = 0; i < MTL_MAPS; ++i) {
        char **path = mesh_material_map(material, places[i]);
        if (!entry->maps[i].path || *path) continue;
        if (!first) first = &entry->maps[i];
        *path = entry->maps[i].path;
        material->forms[places[i]] = form_of(&entry->maps[i], first, places[i]);
        entry->maps[i].path = NULL;
    }
    material->map_scale[0] = first ? first->scale[0] : 1;
    material->map_scale[1] = first ? first->scale[1] : 1;
    material->map_offset[0] = first ? first->offset[0] : 0;
    material->map_offset[1] = first ? first->offset[1] : 0;
    material->map_clamp = first && first->clamp;
    material->record.bump_scale =
        bump_unit * entry->maps[MTL_MAP_BUMP].bump * entry->maps[MTL_MAP_BUMP].gain;
    material->forms[MESH_MAP_NORMAL].ranged = entry->maps[MTL_MAP_NORMAL].bump != 1;
    material->forms[MESH_MAP_NORMAL].gain = entry->maps[MTL_MAP_NORMAL].bump;
}

/* A map_Ks scales the coat of plastic, which only principled materials support. */
static void coat_map_set(const mtl_entry *entry, material *record) {
    if (record->kind == MATERIAL_PLASTIC && has_map(entry, MTL_MAP_SPECULAR))
        record->kind = MATERIAL_PRINCIPLED;
}

void mtl_entry_convert(mtl_entry *entry, mesh_material *mesh_material) {
    material *record = &mesh_material->record;
    *record = material_default();
    if (entry->ni > 0.1f && entry->ni < 10) record->ior = entry->ni;
    colours_set(entry, record);
    record->opacity = opacity_of(entry);
    if (entry->blender) {
        blender_set(entry, mesh_material);
    } else if (is_glass(entry)) {
        glass_set(entry, record);
    } else if (is_pbr(entry) || has_layers(entry)) {
        pbr_set(entry, record);
        if (has_layers(entry)) {
            record->kind = MATERIAL_PRINCIPLED;
            layers_set(entry, mesh_material);
        }
    } else {
        phong_set(entry, record);
    }
    mesh_material->may_be_glass = record->kind != MATERIAL_GLASS && is_sharp_and_bends(entry);
    coat_map_set(entry, record);
    maps_take(entry, mesh_material);
}
