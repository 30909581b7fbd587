/* The texture store: deduplicates requests, decodes images in parallel within a memory budget, and
   converts texels to the layout of texture_view. */
#include "core/files/file.h"
#include "core/growth.h"
#include "core/image/picture.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "core/system/machine.h"
#include "scenes/assembly/scene_parts.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { TEXTURE_SIDE = 32768, TEXTURE_TEXELS = 1 << 28 }; /* limits of an image */

static kd_status add_image(texture_store *store, const char *path, texture_role role,
                           const float factor[4], uint32_t *index) {
    for (uint32_t i = 0; path && i < store->image_count; ++i)
        if (texture_image_is(&store->images[i], path, role, factor)) {
            *index = i;
            return KD_OK;
        }
    KD_TRY(KD_RESERVE_NEXT(store->images, store->image_count, store->image_capacity, 16));
    texture_image *made = &store->images[store->image_count];
    memset(made, 0, sizeof *made);
    made->role = role;
    memcpy(made->factor, factor, sizeof made->factor);
    if (path) {
        const size_t bytes = strlen(path) + 1;
        KD_TRY(KD_RESERVE(made->path, bytes));
        memcpy(made->path, path, bytes);
    }
    *index = store->image_count++;
    return KD_OK;
}

static kd_status add_view(texture_store *store, uint32_t image, const texture_view *view,
                          uint32_t *index) {
    for (uint32_t i = 0; i < store->view_count; ++i) {
        const texture_view *v = &store->views[i];
        if (store->view_images[i] == image && v->clamp == view->clamp &&
            v->scale.x == view->scale.x && v->scale.y == view->scale.y &&
            v->offset.x == view->offset.x && v->offset.y == view->offset.y &&
            v->shear.x == view->shear.x && v->shear.y == view->shear.y) {
            *index = i;
            return KD_OK;
        }
    }
    if (store->view_count == store->view_capacity) {
        const uint32_t capacity = store->view_capacity ? 2 * store->view_capacity : 16;
        KD_TRY(KD_GROW(store->views, store->view_count, capacity));
        KD_TRY(KD_GROW(store->view_images, store->view_count, capacity));
        store->view_capacity = capacity;
    }
    store->views[store->view_count] = *view;
    store->view_images[store->view_count] = image;
    *index = store->view_count++;
    return KD_OK;
}

kd_status texture_store_add(texture_store *store, const texture_request *request, uint32_t *index) {
    texture_view view;
    uint32_t image = 0;
    memset(&view, 0, sizeof view);
    view.scale = request->scale;
    view.offset = request->offset;
    view.shear = request->shear;
    view.clamp = request->wraps;
    KD_TRY(add_image(store, request->path, request->role, request->factor, &image));
    KD_TRY(add_view(store, image, &view, index));
    return KD_OK;
}

kd_status texture_store_adopt(texture_store *store, float *floats, int32_t width, int32_t height,
                              uint32_t *index) {
    texture_view view;
    uint32_t image = 0;
    static const float none[4] = {0, 0, 0, 0};
    const kd_status status = add_image(store, NULL, TEXTURE_SKY, none, &image);
    if (status != KD_OK) memory_free(floats);
    KD_TRY(status);
    store->images[image].floats = floats;
    store->images[image].width = width;
    store->images[image].height = height;
    store->images[image].loaded = true;
    memset(&view, 0, sizeof view);
    view.scale = vec2_make(1, 1);
    KD_TRY(add_view(store, image, &view, index));
    return KD_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

void texture_keep_light(texture_image *image, float *to, uint64_t stride, const float *from,
                        uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        if (!isfinite(from[i])) ++image->unreal;
        to[stride * i] = texture_light(from[i]);
    }
}

/* Takes ownership of the decoded texels. */
static kd_status keep_floats(texture_image *image, picture *decoded, uint64_t texels) {
    image->floats = (float *)decoded->texels;
    decoded->texels = NULL;
    texture_keep_light(image, image->floats, 1, image->floats, 3 * texels);
    return KD_OK;
}

/* Detects tangent-space normal maps in a sample of texels: most are unit vectors with blue the
   largest component. */
static bool samples_are_normals(const picture *decoded, uint64_t texels) {
    const uint64_t step = texels / 4096 + 1, samples = (uint64_t)decoded->samples;
    const float middle = (float)picture_white(decoded) / 2;
    uint64_t seen = 0, unit = 0, blue = 0;
    for (uint64_t i = 0; i < texels; i += step, ++seen) {
        const float x = (float)picture_value(decoded, samples * i) / middle - 1,
                    y = (float)picture_value(decoded, samples * i + 1) / middle - 1;
        const float z = (float)picture_value(decoded, samples * i + 2) / middle - 1;
        const float length = sqrtf(x * x + y * y + z * z);
        unit += length > 0.85f && length < 1.15f;
        blue += z > 0.3f && z > fabsf(x) && z > fabsf(y);
    }
    return unit * 10 >= seen * 9 && blue * 10 >= seen * 8;
}

static bool alpha_is_opaque(const picture *decoded, uint64_t texels) {
    const uint64_t samples = (uint64_t)decoded->samples;
    for (uint64_t i = 0; samples % 2 == 0 && i < texels; ++i)
        if (picture_value(decoded, samples * i + samples - 1) != picture_white(decoded))
            return false;
    return true;
}

static bool role_is_colours(texture_role role) {
    return role == TEXTURE_COLOUR || role == TEXTURE_NORMAL || role == TEXTURE_SKY;
}

/* Returns the index of the sample that a scalar map uses; -1: all texels are white. */
static int32_t sample_of_role(const texture_image *image, const picture *decoded, uint64_t texels) {
    const int channels = decoded->info.channels;
    const bool alpha = image->role == TEXTURE_OPACITY && (channels == 2 || channels == 4) &&
                       !alpha_is_opaque(decoded, texels);
    return picture_sample(decoded, alpha || image->role == TEXTURE_ALPHA ? 3
                                   : image->role == TEXTURE_GREEN        ? 1
                                   : image->role == TEXTURE_BLUE         ? 2
                                                                         : 0);
}

/* Copies sample `sample` of each texel to sample `to` of the kept image; white if it is -1. */
static void keep_sample(texture_image *image, uint32_t to, const picture *decoded, int32_t sample,
                        uint64_t texels) {
    const uint64_t step = (uint64_t)decoded->samples, stride = image->samples;
    for (uint64_t i = 0; i < texels; ++i) {
        const uint32_t value = sample < 0 ? picture_white(decoded)
                                          : picture_value(decoded, step * i + (uint64_t)sample);
        if (image->is_wide)
            ((uint16_t *)(void *)image->bytes)[stride * i + to] = (uint16_t)value;
        else
            image->bytes[stride * i + to] = (uint8_t)value;
    }
}

/* Keeps the luminance of an image of colours. */
static void keep_luminance(texture_image *image, const picture *decoded, uint64_t texels) {
    const uint64_t step = (uint64_t)decoded->samples;
    for (uint64_t i = 0; i < texels; ++i) {
        const float red = (float)picture_value(decoded, step * i);
        const float green = (float)picture_value(decoded, step * i + 1);
        const float blue = (float)picture_value(decoded, step * i + 2);
        const float value = rintf(0.2126f * red + 0.7152f * green + 0.0722f * blue);
        if (image->is_wide)
            ((uint16_t *)(void *)image->bytes)[i] = (uint16_t)value;
        else
            image->bytes[i] = (uint8_t)value;
    }
}

/* Keeps the samples of the file at its bit depth. For a scalar map, keeps only the sample that is
   used. */
static kd_status keep_samples(texture_image *image, const picture *decoded, uint64_t texels) {
    const bool whole = role_is_colours(image->role);
    /* scene_hash.c treats a linear texture with one sample as a scalar map, so add an alpha */
    const bool pads = image->role == TEXTURE_NORMAL && decoded->samples == 1;
    image->samples = pads ? 2 : whole ? (uint32_t)decoded->samples : 1;
    image->is_wide = decoded->sample_bytes == 2;
    const uint64_t bytes = (uint64_t)decoded->sample_bytes * image->samples * texels;
    KD_TRY(KD_RESERVE(image->bytes, bytes));
    if (pads) {
        keep_sample(image, 0, decoded, 0, texels);
        keep_sample(image, 1, decoded, -1, texels);
    } else if (whole) {
        memcpy(image->bytes, decoded->texels, bytes);
    } else if (image->role == TEXTURE_LUMINANCE && decoded->samples >= 3) {
        keep_luminance(image, decoded, texels);
    } else {
        image->shows_normals = image->role == TEXTURE_GREY && decoded->samples >= 3 &&
                               samples_are_normals(decoded, texels);
        keep_sample(image, 0, decoded, sample_of_role(image, decoded, texels), texels);
    }
    return KD_OK;
}

/* Returns true if the image is to be kept as floats. */
static bool picture_is_light(const texture_image *image, const picture_info *info) {
    return info->kind == PICTURE_HDR &&
           (image->role == TEXTURE_COLOUR || image->role == TEXTURE_SKY);
}

kd_status texture_check_size(const texture_image *image, int width, int height) {
    KD_REQUIRE(width > 0 && height > 0 && width <= TEXTURE_SIDE && height <= TEXTURE_SIDE &&
                   (int64_t)width * height <= TEXTURE_TEXELS,
               KD_ERROR_INPUT,
               "%s: the image has %d x %d texels; supported: at most %d per side and %d in all",
               image->path, width, height, TEXTURE_SIDE, TEXTURE_TEXELS);
    return KD_OK;
}

static kd_status keep(texture_image *image, picture *decoded) {
    const picture_info *info = &decoded->info;
    const uint64_t texels = (uint64_t)info->width * (uint64_t)info->height;
    image->width = info->width;
    image->height = info->height;
    if (picture_is_light(image, info)) return keep_floats(image, decoded, texels);
    if (texture_role_is_gloss(image->role)) return texture_keep_gloss(image, decoded);
    return keep_samples(image, decoded, texels);
}

static kd_status decode(texture_image *image, const file_view *file) {
    picture decoded;
    picture_info info;
    if (picture_kind_of(file) == PICTURE_EXR) return texture_read_exr(image, file);
    KD_TRY(picture_inspect(&info, image->path, file));
    KD_TRY(texture_check_size(image, info.width, info.height));
    kd_status status = picture_open(&decoded, image->path, file,
                                    picture_is_light(image, &info) ? PICTURE_FLOATS : PICTURE_DEEP);
    if (status == KD_OK) status = keep(image, &decoded);
    picture_close(&decoded);
    KD_TRY(status);
    image->loaded = true;
    return KD_OK;
}

static void note_trouble(texture_image *image) {
    if (image->status == KD_OK) return;
    snprintf(image->message, sizeof image->message, "%s", kd_last_error());
    status_clear();
}

/* Returns the embedded image of that name, or NULL. */
static const mesh_picture *find_picture(const texture_store *store, const char *name) {
    for (uint32_t i = 0; i < store->picture_count; ++i)
        if (strcmp(store->pictures[i].name, name) == 0) return &store->pictures[i];
    return NULL;
}

/* Opens an embedded image or a file; closed by file_close. */
static kd_status open_bytes(file_view *out, const texture_store *store, const char *path) {
    const mesh_picture *kept = find_picture(store, path);
    memset(out, 0, sizeof *out);
    if (!kept) return file_open(out, path);
    out->bytes = (const char *)kept->bytes;
    out->count = kept->count;
    return KD_OK;
}

/* --- the budget --------------------------------------------------------------------------------
   The headers of the files give the memory that all images will take. Then as many images are
   decoded at a time as fit into the rest of the budget. */

typedef struct texture_reading {
    texture_store *store;
    uint64_t capacity, used; /* bytes for decoding: limit, and in use */
    pthread_mutex_t lock;
    pthread_cond_t added;
} texture_reading;

static kd_status measure(texture_image *image, const file_view *file) {
    picture_info info;
    if (picture_kind_of(file) == PICTURE_EXR) {
        texture_measure_exr(image, file);
        return KD_OK;
    }
    KD_TRY(picture_inspect(&info, image->path, file));
    KD_TRY(texture_check_size(image, info.width, info.height));
    const uint64_t texels = (uint64_t)info.width * (uint64_t)info.height;
    const bool is_light = picture_is_light(image, &info), whole = role_is_colours(image->role);
    const uint64_t samples = whole ? (uint64_t)info.channels + 1 : 1;
    image->kept = (is_light ? 12 : info.is_wide ? 2 * samples : samples) * texels;
    if (texture_role_is_gloss(image->role))
        image->kept = 2 * texture_gloss_samples(image->role) * texels;
    else if (texture_has_range(image))
        image->kept = (image->role == TEXTURE_NORMAL ? 6 : whole ? 12 : 2) * texels;
    image->passing = picture_bytes(&info, is_light ? PICTURE_FLOATS : PICTURE_DEEP);
    if (is_light) image->passing -= image->kept; /* decoding allocates the floats that are kept */
    return KD_OK;
}

static void measure_images(void *context, int64_t begin, int64_t end, int thread) {
    texture_store *store = ((texture_reading *)context)->store;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        texture_image *image = &store->images[i];
        file_view file;
        if (image->loaded || !image->path || image->status != KD_OK) continue;
        image->status = open_bytes(&file, store, image->path);
        if (image->status == KD_OK) image->status = measure(image, &file);
        file_close(&file);
        note_trouble(image);
    }
}

/* Sets reading->capacity to the budget left for decoding, but at least to the largest need of a
   single image. */
static kd_status check_budget(texture_reading *reading) {
    const texture_store *store = reading->store;
    const uint64_t share = machine_bytes() / 4;
    const uint64_t budget = store->budget ? store->budget : share ? share : UINT64_MAX;
    uint64_t kept = 0, passing = 0, texels = 0;
    const texture_image *largest = NULL;
    for (uint32_t i = 0; i < store->image_count; ++i) {
        const texture_image *image = &store->images[i];
        if (!image->borrowed && (image->loaded || image->status == KD_OK)) kept += image->kept;
        if (image->loaded || image->status != KD_OK) continue;
        if (image->passing > passing) passing = image->passing;
        if (image->kept + image->passing <= texels) continue;
        texels = image->kept + image->passing;
        largest = image;
    }
    KD_REQUIRE(!largest || (kept <= budget && passing <= budget - kept), KD_ERROR_MEMORY,
               "the textures need %.1f MiB, and %.1f MiB more while they are read, but "
               "--max-texture-memory allows %.1f MiB; the largest is %s",
               (double)kept / 1048576, (double)passing / 1048576, (double)budget / 1048576,
               largest ? largest->path : "");
    reading->capacity = budget - (largest ? kept : 0);
    return KD_OK;
}

static void budget_take(texture_reading *reading, uint64_t bytes) {
    pthread_mutex_lock(&reading->lock);
    while (reading->used &&
           (reading->used > reading->capacity || bytes > reading->capacity - reading->used))
        pthread_cond_wait(&reading->added, &reading->lock);
    reading->used += bytes;
    pthread_mutex_unlock(&reading->lock);
}

static void budget_return(texture_reading *reading, uint64_t bytes) {
    pthread_mutex_lock(&reading->lock);
    reading->used -= bytes;
    pthread_cond_broadcast(&reading->added);
    pthread_mutex_unlock(&reading->lock);
}

static void read_images(void *context, int64_t begin, int64_t end, int thread) {
    texture_reading *reading = (texture_reading *)context;
    texture_store *store = reading->store;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        texture_image *image = &store->images[i];
        file_view file;
        if (image->loaded || !image->path || image->status != KD_OK) continue;
        budget_take(reading, image->passing);
        image->status = open_bytes(&file, store, image->path);
        if (image->status == KD_OK) image->status = decode(image, &file);
        file_close(&file);
        budget_return(reading, image->passing);
        note_trouble(image);
    }
}

static kd_status read_all(texture_store *store) {
    texture_reading reading = {store, 0, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
    parallel_for(store->image_count, 1, measure_images, &reading);
    KD_TRY(check_budget(&reading));
    parallel_for(store->image_count, 1, read_images, &reading);
    return KD_OK;
}

/* White, or for normal maps the normal (0, 0, 1). */
static kd_status make_neutral(texture_image *image) {
    uint8_t white[4] = {255, 255, 255, 255};
    memory_free(image->bytes);
    memory_free(image->floats);
    image->bytes = NULL;
    image->floats = NULL;
    image->width = image->height = 1;
    if (texture_role_is_gloss(image->role)) {
        const picture texel = {.info = {.width = 1, .height = 1, .channels = 4},
                               .samples = 4,
                               .sample_bytes = 1,
                               .texels = white};
        return texture_keep_gloss(image, &texel);
    }
    KD_TRY(KD_RESERVE(image->bytes, 4));
    image->samples = 4;
    image->is_wide = false;
    memset(image->bytes, image->role == TEXTURE_NORMAL ? 128 : 255, 4);
    image->bytes[2] = 255;
    return KD_OK;
}

/* Sets the view's curve, which is shared by all views. For the values 257 i it equals
   srgb_to_linear(i). */
static kd_status make_curve(texture_store *store, texture_view *view) {
    const bool is_made = store->curve;
    if (!is_made) KD_TRY(KD_RESERVE(store->curve, TEXTURE_WIDE_VALUES));
    for (int32_t i = 0; !is_made && i < TEXTURE_WIDE_VALUES; ++i) {
        const double encoded = i / 65535.0;
        store->curve[i] =
            (float)(encoded <= 0.04045 ? encoded / 12.92 : pow((encoded + 0.055) / 1.055, 2.4));
    }
    view->curve = store->curve;
    return KD_OK;
}

kd_status texture_store_load(texture_store *store) {
    texture_store_borrow(store);
    KD_TRY(read_all(store));
    for (uint32_t i = 0; i < store->image_count; ++i) {
        texture_image *image = &store->images[i];
        if (image->unreal)
            log_message(
                LOG_WARNING,
                "%s: found %llu numbers that are not finite; infinity is read as 65504, NaN "
                "as 0",
                image->path, (unsigned long long)image->unreal);
        image->unreal = 0;
        if (image->loaded || image->bytes) continue; /* has been reported and replaced */
        KD_REQUIRE(image->status != KD_ERROR_MEMORY, KD_ERROR_MEMORY, "%s", image->message);
        if (image->role != TEXTURE_SKY) /* an unusable sky is an error, which the caller reports */
            log_message(LOG_WARNING, "%s; the constant value is used instead of the texture",
                        image->message);
        KD_TRY(make_neutral(image));
    }
    for (uint32_t i = 0; i < store->view_count; ++i) {
        texture_image *image = &store->images[store->view_images[i]];
        texture_view *view = &store->views[i];
        view->bytes = image->bytes;
        view->floats = image->floats;
        view->width = image->width;
        view->height = image->height;
        view->samples = image->samples;
        view->is_wide = image->is_wide;
        view->srgb = (image->role == TEXTURE_COLOUR || image->role == TEXTURE_SKY) &&
                     image->bytes && image->factor[TEXTURE_LINEAR] == 0;
        if (view->srgb && view->is_wide) KD_TRY(make_curve(store, view));
        if (texture_has_range(image)) KD_TRY(texture_change_range(image, view));
    }
    return KD_OK;
}

kd_status texture_make_floats(texture_image *image, const texture_view *view) {
    vec3 *shown = NULL;
    KD_TRY(KD_RESERVE(shown, (uint64_t)image->width * (uint64_t)image->height));
    for (int32_t y = 0; y < image->height; ++y)
        for (int32_t x = 0; x < image->width; ++x)
            shown[(int64_t)y * image->width + x] = texture_texel(view, x, y);
    memory_free(image->bytes);
    image->bytes = NULL;
    image->floats = &shown->x;
    return KD_OK;
}

void texture_store_close(texture_store *owned) {
    for (uint32_t i = 0; i < owned->image_count; ++i) {
        memory_free(owned->images[i].path);
        if (owned->images[i].borrowed) continue;
        memory_free(owned->images[i].bytes);
        memory_free(owned->images[i].floats);
    }
    memory_free(owned->images);
    memory_free(owned->curve);
    memory_free(owned->views);
    memory_free(owned->view_images);
    memset(owned, 0, sizeof *owned);
}
