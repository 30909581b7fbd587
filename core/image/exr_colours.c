/* The colours of an EXR file: the choice of its part and layer, and the conversion to Rec. 709.
   Source: OpenEXR's technical introduction: a channel is called LAYER.NAME or NAME, where a layer's
           name may contain dots; chromaticities, luminance and chroma.
   Idea: channels without a layer come first; then the layer that other programs show, by its name
         (Combined, RGBA, beauty), then the first one with colours. Of several parts the first with
         colours is read. A choice is logged.
   Differs from other readers: names of colours are compared without case, and red, green, blue and
                               alpha may be spelt out. */
#include "core/image/exr.h"

#if KD_HAVE_OPENEXR
#include "core/math/primaries.h"
#include "core/parallel/parallel.h"
#include <string.h>
#include <strings.h>

enum { CHANNELS_MAX = 1024 }; /* channels of a part: comparing all layers takes quadratic time */

/* The channels of a part whose names begin with "NAME.", or, if `length` is 0, contain no dot. */
typedef struct exr_layer {
    const exr_attr_chlist_t *list;
    const char *name; /* not terminated */
    size_t length;
} exr_layer;

typedef struct exr_choosing {
    exr_const_context_t context;
    const char *path;
    int parts;
} exr_choosing;

static size_t layer_length(const char *channel) {
    const char *dot = strrchr(channel, '.');
    return dot ? (size_t)(dot - channel) : 0;
}

/* Returns the channel's name without the layer, or NULL if it belongs to another layer. */
static const char *name_in(const exr_layer *layer, int index) {
    const char *name = layer->list->entries[index].name.str;
    const size_t length = layer_length(name);
    if (length != layer->length || memcmp(name, layer->name, length) != 0) return NULL;
    return length ? name + length + 1 : name;
}

static int channel_find(const exr_layer *layer, const char *brief, const char *word) {
    int found = -1;
    for (int i = 0; i < layer->list->num_channels; ++i) {
        const char *name = name_in(layer, i);
        if (!name) continue;
        if (strcmp(name, brief) == 0) return i;
        if (found < 0 && (strcasecmp(name, brief) == 0 || (word && strcasecmp(name, word) == 0)))
            found = i;
    }
    return found;
}

static bool choice_make(exr_choice *out, exr_colours kind, int r, int g, int b) {
    out->kind = kind;
    out->channel[0] = r;
    out->channel[1] = g;
    out->channel[2] = b;
    return true;
}

/* Finds R, G and B, or a luminance, which X beside it would make a coordinate. */
static bool colours_find(exr_choice *out, const exr_layer *layer) {
    const int r = channel_find(layer, "R", "red"), g = channel_find(layer, "G", "green"),
              b = channel_find(layer, "B", "blue"), y = channel_find(layer, "Y", NULL);
    const int ry = channel_find(layer, "RY", NULL), by = channel_find(layer, "BY", NULL);
    out->channel[3] = channel_find(layer, "A", "alpha");
    if (r >= 0 && g >= 0 && b >= 0) return choice_make(out, EXR_RGB, r, g, b);
    if (y >= 0 && ry >= 0 && by >= 0) return choice_make(out, EXR_CHROMA, ry, y, by);
    if (y < 0 || channel_find(layer, "X", NULL) >= 0) return false;
    return choice_make(out, EXR_GREY, y, -1, -1);
}

/* Finds the only channel, not counting alpha beside another. */
static bool single_find(exr_choice *out, const exr_layer *layer) {
    const int alpha = channel_find(layer, "A", "alpha");
    int count = 0, only = alpha;
    for (int i = 0; i < layer->list->num_channels; ++i)
        if (i != alpha && name_in(layer, i)) {
            ++count;
            only = i;
        }
    if (count > 1 || only < 0) return false;
    out->channel[3] = count ? alpha : -1;
    return choice_make(out, EXR_GREY, only, -1, -1);
}

/* Finds anything that can be shown of a layer that the caller named: vectors as well. */
static bool values_find(exr_choice *out, const exr_layer *layer) {
    if (colours_find(out, layer) || single_find(out, layer)) return true;
    const int x = channel_find(layer, "X", NULL), y = channel_find(layer, "Y", NULL),
              z = channel_find(layer, "Z", NULL);
    return x >= 0 && y >= 0 && z >= 0 && choice_make(out, EXR_RGB, x, y, z);
}

/* Sets *out to the layer of channel `index`; returns false if an earlier channel has it. */
static bool layer_begins(exr_layer *out, const exr_attr_chlist_t *list, int index) {
    out->list = list;
    out->name = list->entries[index].name.str;
    out->length = layer_length(out->name);
    for (int i = 0; i < index; ++i)
        if (name_in(out, i)) return false;
    return true;
}

/* Returns the preference of a layer by the last word of its name, the smallest first. The
   compositor's output precedes the layers that it is made of. */
static int layer_rank(const exr_layer *layer) {
    static const char *const best[] = {"combined", "rgba",      "rgb",   "beauty", "color",
                                       "colour",   "composite", "final", "main",   "default"};
    enum { BEST = sizeof best / sizeof *best };
    size_t word = layer->length;
    while (word && layer->name[word - 1] != '.') --word;
    for (int i = 0; i < BEST; ++i)
        if (layer->length - word == strlen(best[i]) &&
            strncasecmp(layer->name + word, best[i], layer->length - word) == 0)
            return 2 * i + (strncasecmp(layer->name, "composite.", 10) != 0);
    return 2 * BEST;
}

typedef struct name_list {
    char text[200];
    int count;
} name_list;

static void list_add(name_list *list, const char *name, size_t length) {
    const size_t used = strlen(list->text);
    ++list->count;
    if (used + length + 8 < sizeof list->text)
        snprintf(list->text + used, sizeof list->text - used, "%s%.*s", used ? ", " : "",
                 (int)length, name);
    else if (used < 3 || strcmp(list->text + used - 3, "...") != 0)
        snprintf(list->text + used, sizeof list->text - used, ", ...");
}

static void layers_list(name_list *out, const exr_attr_chlist_t *list) {
    exr_layer layer;
    for (int i = 0; i < list->num_channels; ++i)
        if (layer_begins(&layer, list, i) && layer.length)
            list_add(out, layer.name, layer.length);
        else if (!layer.length)
            list_add(out, layer.name, strlen(layer.name));
}

/* Writes the name of a part, or its number if it has none. */
static void part_label(char label[256], const exr_choosing *from, int part) {
    const char *name = NULL;
    if (exr_get_name(from->context, part, &name) == EXR_ERR_SUCCESS && name && *name)
        snprintf(label, 256, "%s", name);
    else
        snprintf(label, 256, "%d", part);
}

static kd_status part_channels(const exr_attr_chlist_t **list, const exr_choosing *from, int part) {
    exr_storage_t storage;
    *list = NULL;
    if (exr_get_storage(from->context, part, &storage) != EXR_ERR_SUCCESS ||
        (storage != EXR_STORAGE_SCANLINE && storage != EXR_STORAGE_TILED) ||
        exr_get_channels(from->context, part, list) != EXR_ERR_SUCCESS)
        return KD_OK;
    KD_REQUIRE((*list)->num_channels <= CHANNELS_MAX, KD_ERROR_INPUT,
               "%s: found %d channels; supported: at most %d", from->path, (*list)->num_channels,
               CHANNELS_MAX);
    return KD_OK;
}

/* Finds what is read of a part if no layer is named. A single channel is found only if there are no
   colours and `singly` is set; `layers`: the layers among which it chose. */
static bool part_choose(exr_choice *out, exr_layer *chosen, const exr_attr_chlist_t *list,
                        bool singly, name_list *layers) {
    exr_layer layer = {.list = list, .name = ""};
    exr_choice made = *out;
    bool found = false;
    *chosen = layer;
    if (colours_find(out, &layer)) return true;
    for (int i = 0; i < list->num_channels; ++i) {
        if (!layer_begins(&layer, list, i) || !layer.length || !colours_find(&made, &layer))
            continue;
        list_add(layers, layer.name, layer.length);
        const bool is_grey = made.kind == EXR_GREY, was_grey = found && out->kind == EXR_GREY;
        if (found && (is_grey > was_grey ||
                      (is_grey == was_grey && layer_rank(&layer) >= layer_rank(chosen))))
            continue;
        found = true;
        *out = made;
        *chosen = layer;
    }
    if (found || !singly) return found;
    layer = (exr_layer){.list = list, .name = ""};
    if (single_find(out, &layer)) return true;
    if (!list->num_channels) return false;
    layer_begins(&layer, list, 0); /* all channels are of one layer, or none is read */
    for (int i = 1; i < list->num_channels; ++i)
        if (!name_in(&layer, i)) return false;
    *chosen = layer;
    return single_find(out, &layer);
}

static void choice_report(const exr_choosing *from, const exr_choice *choice,
                          const exr_layer *layer, const name_list *layers) {
    const char *const hint = "(develop and compare: --layer NAME)";
    const char *grey = layer->list->entries[choice->channel[0]].name.str;
    const char *name = layer->length ? grey + layer->length + 1 : grey;
    name_list parts = {.count = 0};
    char label[256];
    for (int i = 0; i < from->parts; ++i) {
        part_label(label, from, i);
        list_add(&parts, label, strlen(label));
    }
    part_label(label, from, choice->part);
    if (from->parts > 1)
        log_message(LOG_INFO, "%s: using the part %s of %s %s", from->path, label, parts.text,
                    hint);
    if (layer->length && layers->count > 1)
        log_message(LOG_INFO, "%s: using the layer %.*s of %s %s", from->path, (int)layer->length,
                    layer->name, layers->text, hint);
    if (choice->kind == EXR_GREY && strcasecmp(name, "Y") != 0 && strcasecmp(name, "R") != 0)
        log_message(LOG_INFO, "%s: using the channel %s as grey", from->path, grey);
}

static kd_status choose(exr_choice *out, const exr_choosing *from) {
    const exr_attr_chlist_t *list = NULL, *seen = NULL;
    for (int singly = 0; singly < 2; ++singly)
        for (out->part = 0; out->part < from->parts; ++out->part) {
            exr_layer layer;
            name_list layers = {.count = 0};
            KD_TRY(part_channels(&list, from, out->part));
            if (list) seen = list;
            if (!list || !part_choose(out, &layer, list, singly, &layers)) continue;
            choice_report(from, out, &layer, &layers);
            return KD_OK;
        }
    KD_REQUIRE(seen, KD_ERROR_INPUT,
               "%s: found deep data, expected scanlines or tiles; flatten the image", from->path);
    name_list names = {.count = 0};
    layers_list(&names, seen);
    KD_FAIL(KD_ERROR_INPUT,
            "%s: found no colours, expected R, G and B, or Y, or one channel; the file has %s",
            from->path, names.text);
}

/* --- by name --- */

static bool layer_named(exr_choice *out, const exr_attr_chlist_t *list, const char *name) {
    const exr_layer layer = {.list = list, .name = name, .length = strlen(name)};
    if (layer.length && values_find(out, &layer)) return true;
    for (int i = 0; i < list->num_channels; ++i)
        if (strcmp(list->entries[i].name.str, name) == 0) {
            out->channel[3] = -1;
            return choice_make(out, EXR_GREY, i, -1, -1);
        }
    return false;
}

/* Finds a layer or channel of this name in any part, a part, or PART.LAYER. */
static kd_status choose_named(exr_choice *out, const exr_choosing *from, const char *name) {
    const exr_attr_chlist_t *list = NULL;
    name_list names = {.count = 0};
    for (int step = 0; step < 3; ++step)
        for (out->part = 0; out->part < from->parts; ++out->part) {
            char part[256];
            name_list none = {.count = 0};
            exr_layer layer;
            part_label(part, from, out->part);
            const size_t length = strlen(part);
            KD_TRY(part_channels(&list, from, out->part));
            KD_REQUIRE(step != 1 || list || strcmp(part, name) != 0, KD_ERROR_INPUT,
                       "%s: the part %s has deep data, expected scanlines or tiles", from->path,
                       part);
            if (!list) continue;
            if (step == 0 && layer_named(out, list, name)) return KD_OK;
            if (step == 1 && strcmp(part, name) == 0 && part_choose(out, &layer, list, true, &none))
                return KD_OK;
            if (step == 2 && strncmp(part, name, length) == 0 && name[length] == '.' &&
                layer_named(out, list, name + length + 1))
                return KD_OK;
            if (step == 0 && from->parts > 1) list_add(&names, part, length);
            if (step == 0) layers_list(&names, list);
        }
    KD_FAIL(KD_ERROR_INPUT, "%s: found no layer %s with colours or one channel; the file has %s",
            from->path, name, names.text);
}

kd_status exr_choose(exr_choice *out, exr_const_context_t context, const char *path,
                     const char *layer) {
    exr_choosing from = {.context = context, .path = path};
    memset(out, 0, sizeof *out);
    if (exr_get_count(context, &from.parts) != EXR_ERR_SUCCESS) from.parts = 0;
    return layer ? choose_named(out, &from, layer) : choose(out, &from);
}
/* --- conversion --- */

typedef struct colour_work {
    float *planes[3];
    colour_matrix to_rec709;
} colour_work;

static void colours_convert(void *context, int64_t begin, int64_t end, int thread) {
    const colour_work *work = (const colour_work *)context;
    const double *m = work->to_rec709;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const double r = (double)work->planes[0][i], g = (double)work->planes[1][i],
                     b = (double)work->planes[2][i];
        for (int c = 0; c < 3; ++c)
            work->planes[c][i] = (float)(m[3 * c] * r + m[3 * c + 1] * g + m[3 * c + 2] * b);
    }
}

/* Finds the channels LAYER.R, LAYER.G, LAYER.B, of which channel `index` is the first. */
static bool planes_find(float *planes[3], const image *from, int32_t index) {
    char name[sizeof from->names[0]];
    const size_t last = strlen(from->names[index]) - 1;
    strcpy(name, from->names[index]);
    if (name[last] != 'R' || (last && name[last - 1] != '.')) return false;
    for (int c = 0; c < 3; ++c) {
        name[last] = "RGB"[c];
        planes[c] = image_plane(from, name);
    }
    return planes[1] && planes[2];
}

/* Reads the chromaticities; without them, those of Rec. 709. */
static kd_status primaries_read(double at[8], const exr_choosing *from, int part) {
    exr_attr_chromaticities_t found;
    memcpy(at, primaries_rec709, sizeof primaries_rec709);
    const exr_result_t code =
        exr_attr_get_chromaticities(from->context, part, "chromaticities", &found);
    if (code == EXR_ERR_NO_ATTR_BY_NAME) return KD_OK;
    KD_REQUIRE(code == EXR_ERR_SUCCESS, KD_ERROR_INPUT, "%s: OpenEXR: chromaticities: %s",
               from->path, exr_get_default_error_message(code));
    const float values[8] = {found.red_x,  found.red_y,  found.green_x, found.green_y,
                             found.blue_x, found.blue_y, found.white_x, found.white_y};
    for (int i = 0; i < 8; ++i) at[i] = (double)values[i];
    return KD_OK;
}

/* Computes R, G and B from luminance and chroma, in the places of G, R and B. */
static void chroma_resolve(const image *out, const colour_matrix to_xyz) {
    float *const planes[3] = {image_plane(out, "R"), image_plane(out, "G"), image_plane(out, "B")};
    const double *weights = to_xyz + 3;
    for (size_t i = 0; i < (size_t)out->width * (size_t)out->height; ++i) {
        const double y = (double)planes[1][i];
        const double r = ((double)planes[0][i] + 1) * y, b = ((double)planes[2][i] + 1) * y;
        planes[0][i] = (float)r;
        planes[1][i] = (float)((y - weights[0] * r - weights[2] * b) / weights[1]);
        planes[2][i] = (float)b;
    }
}

kd_status exr_colours_finish(const image *out, const exr_choice *choice,
                             exr_const_context_t context, const char *path) {
    const exr_choosing from = {.context = context, .path = path};
    const int64_t count = (int64_t)out->width * out->height;
    colour_work work;
    double at[8];
    for (int c = 1; choice->kind == EXR_GREY && c < 3; ++c)
        memcpy(image_plane(out, c == 1 ? "G" : "B"), image_plane(out, "R"),
               (size_t)count * sizeof(float));
    KD_TRY(primaries_read(at, &from, choice->part));
    KD_REQUIRE(primaries_to_xyz(work.to_rec709, at), KD_ERROR_INPUT,
               "%s: the chromaticities do not define colours", path);
    if (choice->kind == EXR_CHROMA) chroma_resolve(out, work.to_rec709);
    if (primaries_are_rec709(at) || choice->kind == EXR_GREY) return KD_OK;
    KD_REQUIRE(primaries_to_rec709(work.to_rec709, at), KD_ERROR_INPUT,
               "%s: the chromaticities do not define colours", path);
    for (int32_t i = 0; i < out->channel_count; ++i)
        if (planes_find(work.planes, out, i)) parallel_for(count, 1 << 14, colours_convert, &work);
    log_message(LOG_INFO,
                "%s: the colours are converted from the file's chromaticities to Rec. 709, the "
                "white point by Bradford's adaptation",
                path);
    return KD_OK;
}

#endif
