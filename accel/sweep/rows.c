#include "accel/sweep/rows.h"
#include "core/memory.h"

enum { ROWS = 7, SPARE = 2 * VECTOR8_LANES, PAGE = 1024 /* numbers */, APART = 144 };

static kd_status push_block(rows_stack *stack, uint64_t room) {
    rows_block *block = NULL;
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE_ZEROED(block, 1));
    block->room = room;
    /* rows that begin at the same place of a page would contend for the same lines of a cache */
    block->stride = (room + PAGE - 1) / PAGE * PAGE + APART;
    KD_TRY_GOTO(KD_RESERVE(block->numbers, ROWS * block->stride));
    block->below = stack->block;
    stack->block = block;
    stack->top = 0;
    return KD_OK;
done:
    memory_free(block);
    return status;
}

kd_status rows_push_first(rows_stack *stack, uint64_t count, uint64_t expected, sweep_rows *out) {
    const uint64_t taken = (count + SPARE + 15) / 16 * 16;
    if (!stack->block || stack->top + taken > stack->block->room)
        KD_TRY(push_block(stack, taken > expected ? taken : expected));
    const rows_block *block = stack->block;
    float *row[ROWS];
    for (int i = 0; i < ROWS; ++i)
        row[i] = block->numbers + (uint64_t)i * block->stride + stack->top;
    out->id = (uint32_t *)(void *)row[0];
    for (int axis = 0; axis < 3; ++axis) {
        out->lo[axis] = row[1 + axis];
        out->hi[axis] = row[4 + axis];
    }
    stack->top += taken;
    return KD_OK;
}

kd_status rows_push(rows_stack *stack, uint64_t count, sweep_rows *out) {
    return rows_push_first(stack, count, stack->block ? stack->block->room / 2 : 0, out);
}

void rows_release(rows_stack *stack, rows_stack before) {
    while (stack->block != before.block) {
        rows_block *block = stack->block;
        stack->block = block->below;
        memory_free(block->numbers);
        memory_free(block);
    }
    stack->top = before.top;
}
