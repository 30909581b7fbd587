#include "scenes/describe/draft.h"
#include "core/growth.h"
#include "core/memory.h"

kd_status scene_draft_add_light(scene_draft *draft, const light *added) {
    KD_TRY(KD_RESERVE_NEXT(draft->lights, draft->light_count, draft->light_capacity, 8));
    draft->lights[draft->light_count++] = *added;
    return KD_OK;
}

static kd_status check_limit(uint64_t count) {
    KD_REQUIRE(count < KD_NONE / 2, KD_ERROR_INPUT,
               "the scene has more than %u instances, the limit", KD_NONE / 2);
    return KD_OK;
}

kd_status scene_draft_add_shape(scene_draft *draft, const draft_shape *added) {
    KD_TRY(check_limit(draft->shape_count));
    KD_TRY(KD_RESERVE_NEXT(draft->shapes, draft->shape_count, draft->shape_capacity, 64));
    draft->shapes[draft->shape_count++] = *added;
    return KD_OK;
}

kd_status scene_draft_add_instance(scene_draft *draft, const instance *added) {
    KD_TRY(check_limit(draft->instance_count));
    KD_TRY(KD_RESERVE_NEXT(draft->instances, draft->instance_count, draft->instance_capacity, 64));
    draft->instances[draft->instance_count++] = *added;
    return KD_OK;
}

/* Permutes items: items[i] = items[from[i]], with `each` numbers per item. */
static kd_status reorder(uint32_t *items, const uint32_t *from, uint64_t count, uint64_t each) {
    uint32_t *moved = NULL;
    if (!items) return KD_OK;
    KD_TRY(KD_RESERVE(moved, count * each));
    for (uint64_t i = 0; i < count; ++i)
        memcpy(moved + each * i, items + each * from[i], (size_t)each * sizeof *items);
    memcpy(items, moved, (size_t)(count * each) * sizeof *items);
    memory_free(moved);
    return KD_OK;
}

kd_status scene_draft_sort(scene_draft *draft) {
    const uint32_t count = draft->geometry.triangle_count;
    uint32_t *from = NULL, used = 0, shape = 0;
    if (draft->shape_count == 0) return KD_OK;
    KD_TRY(KD_RESERVE(from, count));
    for (uint32_t i = 0; i < count;) { /* shapes are sorted by their triangles */
        while (shape < draft->shape_count &&
               i >= draft->shapes[shape].first + draft->shapes[shape].count)
            ++shape;
        const bool placed = shape < draft->shape_count && i >= draft->shapes[shape].first;
        if (placed)
            i = draft->shapes[shape].first + draft->shapes[shape].count;
        else
            from[used++] = i++;
    }
    for (shape = 0; shape < draft->shape_count; ++shape) {
        draft_shape *moved = draft->shapes + shape;
        const uint32_t first = used;
        for (uint32_t i = 0; i < moved->count; ++i) from[used++] = moved->first + i;
        moved->first = first;
    }
    kd_status status = reorder(draft->geometry.triangles, from, count, 3);
    if (status == KD_OK) status = reorder(draft->geometry.normal_indices, from, count, 3);
    if (status == KD_OK) status = reorder(draft->geometry.texcoord_indices, from, count, 3);
    if (status == KD_OK) status = reorder(draft->geometry.triangle_materials, from, count, 1);
    memory_free(from);
    return status;
}

void scene_draft_close(scene_draft *owned) {
    mesh_close(&owned->geometry);
    memory_free(owned->shapes);
    memory_free(owned->instances);
    memory_free(owned->lights);
    memory_free(owned->keys);
    memory_free(owned->sky_image);
    memory_free(owned->photon_map);
    memory_free(owned->media);
    memset(owned, 0, sizeof *owned);
}
