#include "scenes/assembly/scene_textures.h"
#include "core/files/file.h"
#include "core/image/picture.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <stdio.h>

enum { TEXTURE_SIDE = 32768, TEXTURE_TEXELS = 1 << 28 }; /* larger ones are refused */

static kd_status add_image(texture_store *to, const char *path, texture_role role,
                           uint32_t *index) {
    for (uint32_t i = 0; path && i < to->image_count; ++i)
        if (to->images[i].path && to->images[i].role == role &&
            strcmp(to->images[i].path, path) == 0) {
            *index = i;
            return KD_OK;
        }
    if (to->image_count == to->image_room) {
        const uint32_t room = to->image_room ? 2 * to->image_room : 16;
        KD_TRY(KD_GROW(to->images, to->image_count, room));
        to->image_room = room;
    }
    texture_image *made = &to->images[to->image_count];
    memset(made, 0, sizeof *made);
    made->role = role;
    if (path) {
        const size_t bytes = strlen(path) + 1;
        KD_TRY(KD_RESERVE(made->path, bytes));
        memcpy(made->path, path, bytes);
    }
    *index = to->image_count++;
    return KD_OK;
}

static kd_status add_view(texture_store *to, uint32_t image, const texture_view *view,
                          uint32_t *index) {
    for (uint32_t i = 0; i < to->view_count; ++i) {
        const texture_view *v = &to->views[i];
        if (to->view_images[i] == image && v->clamp == view->clamp && v->scale.x == view->scale.x &&
            v->scale.y == view->scale.y && v->offset.x == view->offset.x &&
            v->offset.y == view->offset.y && v->shear.x == view->shear.x &&
            v->shear.y == view->shear.y) {
            *index = i;
            return KD_OK;
        }
    }
    if (to->view_count == to->view_room) {
        const uint32_t room = to->view_room ? 2 * to->view_room : 16;
        KD_TRY(KD_GROW(to->views, to->view_count, room));
        KD_TRY(KD_GROW(to->view_images, to->view_count, room));
        to->view_room = room;
    }
    to->views[to->view_count] = *view;
    to->view_images[to->view_count] = image;
    *index = to->view_count++;
    return KD_OK;
}

kd_status texture_store_add(texture_store *to, const texture_request *asked, uint32_t *index) {
    texture_view view;
    uint32_t image = 0;
    memset(&view, 0, sizeof view);
    view.scale = asked->scale;
    view.offset = asked->offset;
    view.shear = asked->shear;
    view.clamp = asked->wraps;
    KD_TRY(add_image(to, asked->path, asked->role, &image));
    KD_TRY(add_view(to, image, &view, index));
    return KD_OK;
}

kd_status texture_store_adopt(texture_store *to, float *floats, int32_t width, int32_t height,
                              uint32_t *index) {
    texture_view view;
    uint32_t image = 0;
    const kd_status status = add_image(to, NULL, TEXTURE_SKY, &image);
    if (status != KD_OK) memory_free(floats);
    KD_TRY(status);
    to->images[image].floats = floats;
    to->images[image].width = width;
    to->images[image].height = height;
    to->images[image].loaded = true;
    memset(&view, 0, sizeof view);
    view.scale = vec2_make(1, 1);
    KD_TRY(add_view(to, image, &view, index));
    return KD_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

static kd_status keep_floats(texture_image *image, const float *decoded, uint64_t texels) {
    KD_TRY(KD_RESERVE(image->floats, 3 * texels));
    for (uint64_t i = 0; i < 3 * texels; ++i) image->floats[i] = texture_light(decoded[i]);
    return KD_OK;
}

/* sRGB bytes to linear floats, for a sky. */
static kd_status keep_linear(texture_image *image, const uint8_t *decoded, uint64_t texels) {
    KD_TRY(KD_RESERVE(image->floats, 3 * texels));
    for (uint64_t i = 0; i < texels; ++i)
        for (uint64_t c = 0; c < 3; ++c)
            image->floats[3 * i + c] = srgb_to_linear(decoded[4 * i + c]);
    return KD_OK;
}

/* Tangent-space normals: blue on the whole, red and green around the middle, and unit vectors. */
static bool bytes_are_normals(const uint8_t *decoded, uint64_t texels) {
    const uint64_t step = texels / 4096 + 1;
    uint64_t seen = 0, unit = 0, blue = 0;
    for (uint64_t i = 0; i < texels; i += step, ++seen) {
        const float x = (float)decoded[4 * i] / 127.5f - 1,
                    y = (float)decoded[4 * i + 1] / 127.5f - 1;
        const float z = (float)decoded[4 * i + 2] / 127.5f - 1;
        const float length = sqrtf(x * x + y * y + z * z);
        unit += length > 0.85f && length < 1.15f;
        blue += z > 0.3f && z > fabsf(x) && z > fabsf(y);
    }
    return unit * 10 >= seen * 9 && blue * 10 >= seen * 8;
}

static bool alpha_is_opaque(const uint8_t *decoded, uint64_t texels) {
    for (uint64_t i = 0; i < texels; ++i)
        if (decoded[4 * i + 3] != 255) return false;
    return true;
}

static kd_status keep_bytes(texture_image *image, const uint8_t *decoded, uint64_t texels,
                            int channels) {
    KD_TRY(KD_RESERVE(image->bytes, 4 * texels));
    memcpy(image->bytes, decoded, 4 * texels);
    if (image->role == TEXTURE_COLOUR || image->role == TEXTURE_NORMAL) return KD_OK;
    image->shows_normals =
        image->role == TEXTURE_GREY && channels >= 3 && bytes_are_normals(decoded, texels);
    const bool alpha = image->role == TEXTURE_OPACITY && (channels == 2 || channels == 4) &&
                       !alpha_is_opaque(decoded, texels);
    const uint64_t channel = alpha || image->role == TEXTURE_ALPHA ? 3
                             : image->role == TEXTURE_GREEN        ? 1
                             : image->role == TEXTURE_BLUE         ? 2
                                                                   : 0;
    for (uint64_t i = 0; i < texels; ++i) memset(image->bytes + 4 * i, decoded[4 * i + channel], 4);
    return KD_OK;
}

/* Whether its floats are wanted, not bytes. */
static bool picture_is_light(const texture_image *image, const picture_info *info) {
    return info->kind == PICTURE_HDR &&
           (image->role == TEXTURE_COLOUR || image->role == TEXTURE_SKY);
}

kd_status texture_check_size(const texture_image *image, int width, int height) {
    KD_REQUIRE(width > 0 && height > 0 && width <= TEXTURE_SIDE && height <= TEXTURE_SIDE &&
                   (int64_t)width * height <= TEXTURE_TEXELS,
               KD_ERROR_INPUT, "%s: an image of %d x %d texels, at most %d a side and %d in all",
               image->path, width, height, TEXTURE_SIDE, TEXTURE_TEXELS);
    return KD_OK;
}

static kd_status keep(texture_image *image, const picture *decoded) {
    const picture_info *info = &decoded->info;
    const uint64_t texels = (uint64_t)info->width * (uint64_t)info->height;
    const uint8_t *bytes = (const uint8_t *)decoded->texels;
    image->width = info->width;
    image->height = info->height;
    if (picture_is_light(image, info))
        return keep_floats(image, (const float *)decoded->texels, texels);
    if (image->role == TEXTURE_SKY) return keep_linear(image, bytes, texels);
    return keep_bytes(image, bytes, texels, info->channels);
}

static kd_status decode(texture_image *image, const file_view *file) {
    picture decoded;
    picture_info info;
    if (picture_kind_of(file) == PICTURE_EXR) return texture_read_exr(image, file);
    KD_TRY(picture_look(&info, image->path, file));
    KD_TRY(texture_check_size(image, info.width, info.height));
    kd_status status =
        picture_open(&decoded, image->path, file,
                     picture_is_light(image, &info) ? PICTURE_FLOATS : PICTURE_BYTES);
    if (status == KD_OK) status = keep(image, &decoded);
    picture_close(&decoded);
    KD_TRY(status);
    image->loaded = true;
    return KD_OK;
}

/* The bytes that came with the mesh file, or NULL. */
static const mesh_picture *find_picture(const texture_store *in, const char *name) {
    for (uint32_t i = 0; i < in->picture_count; ++i)
        if (strcmp(in->pictures[i].name, name) == 0) return &in->pictures[i];
    return NULL;
}

static kd_status read_image(const texture_store *in, texture_image *image) {
    const mesh_picture *kept = find_picture(in, image->path);
    file_view file = {kept ? (const char *)kept->bytes : NULL, kept ? kept->count : 0, NULL};
    if (kept) return decode(image, &file);
    KD_TRY(file_open(&file, image->path));
    const kd_status status = decode(image, &file);
    file_close(&file);
    KD_TRY(status);
    return KD_OK;
}

static void read_images(void *context, int64_t begin, int64_t end, int thread) {
    texture_store *of = (texture_store *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        texture_image *image = &of->images[i];
        if (image->loaded || !image->path) continue;
        image->status = read_image(of, image);
        if (image->status == KD_OK) continue;
        snprintf(image->trouble, sizeof image->trouble, "%s", kd_last_error());
        status_clear();
    }
}

/* White, or for normals the one that points straight up. */
static kd_status make_neutral(texture_image *image) {
    memory_free(image->bytes);
    memory_free(image->floats);
    image->bytes = NULL;
    image->floats = NULL;
    KD_TRY(KD_RESERVE(image->bytes, 4));
    memset(image->bytes, image->role == TEXTURE_NORMAL ? 128 : 255, 4);
    image->bytes[2] = 255;
    image->width = image->height = 1;
    return KD_OK;
}

kd_status texture_store_load(texture_store *of) {
    parallel_for(of->image_count, 1, read_images, of);
    for (uint32_t i = 0; i < of->image_count; ++i) {
        texture_image *image = &of->images[i];
        if (image->loaded) continue;
        KD_REQUIRE(image->status != KD_ERROR_MEMORY, KD_ERROR_MEMORY, "%s", image->trouble);
        if (image->role != TEXTURE_SKY) /* which is asked for alone, and refused */
            log_message(LOG_WARNING, "%s: the constant is used instead of this texture",
                        image->trouble);
        KD_TRY(make_neutral(image));
    }
    for (uint32_t i = 0; i < of->view_count; ++i) {
        const texture_image *image = &of->images[of->view_images[i]];
        texture_view *view = &of->views[i];
        view->bytes = image->bytes;
        view->floats = image->floats;
        view->width = image->width;
        view->height = image->height;
        view->srgb = image->role == TEXTURE_COLOUR && image->bytes;
    }
    return KD_OK;
}

void texture_store_close(texture_store *owned) {
    for (uint32_t i = 0; i < owned->image_count; ++i) {
        memory_free(owned->images[i].path);
        memory_free(owned->images[i].bytes);
        memory_free(owned->images[i].floats);
    }
    memory_free(owned->images);
    memory_free(owned->views);
    memory_free(owned->view_images);
    memset(owned, 0, sizeof *owned);
}
