/* The permutation table of columns.h. */
#include "points/select/columns.h"

#ifdef __AVX2__
#define BIT(mask, lane) ((mask) >> (lane)&1u)
#define BEFORE(mask, lane) ((uint32_t)__builtin_popcount((mask) & ((1u << (lane)) - 1)))
#define PLACE(mask, lane)                                                                          \
    (BIT(mask, lane) ? BEFORE(mask, lane) : BEFORE(mask, 8) + (lane)-BEFORE(mask, lane))
#define LANE(mask, lane) ((uint64_t)(lane) << 8 * PLACE(mask, lane))
#define ORDER(mask)                                                                                \
    LANE(mask, 0u) | LANE(mask, 1u) | LANE(mask, 2u) | LANE(mask, 3u) | LANE(mask, 4u) |           \
        LANE(mask, 5u) | LANE(mask, 6u) | LANE(mask, 7u)
#define FOUR(mask) ORDER((mask)), ORDER((mask) + 1u), ORDER((mask) + 2u), ORDER((mask) + 3u)
#define SIXTEEN(mask) FOUR(mask), FOUR((mask) + 4u), FOUR((mask) + 8u), FOUR((mask) + 12u)
#define SIXTY_FOUR(mask)                                                                           \
    SIXTEEN(mask), SIXTEEN((mask) + 16u), SIXTEEN((mask) + 32u), SIXTEEN((mask) + 48u)

const uint64_t column_orders[256] = {SIXTY_FOUR(0u), SIXTY_FOUR(64u), SIXTY_FOUR(128u),
                                     SIXTY_FOUR(192u)};
#endif
