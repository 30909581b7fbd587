/* Trees on several devices or ranks, behind <kandela/points.h>. */
#ifndef KD_POINTS_API_POINTS_PARTS_H
#define KD_POINTS_API_POINTS_PARTS_H
#include "points/api/points.h"
#include "points/parts/ask.h"

/* Whether the options ask for a tree in parts: several devices, or numbers of its own. */
bool points_parts_wanted(const kd_points_options *options);
/* As points_build. */
kd_status points_parts_build(kd_points *out, const kd_point_array *points,
                             const kd_points_options *options);
void points_parts_close(kd_points *tree);
uint64_t points_parts_count(const kd_points *tree);
void points_parts_describe(const kd_points *tree, kd_points_info *info);
/* One tree on the CPU of all points; ids are the caller's, or places in the input. */
kd_status points_parts_copy(kd_points *copy, const kd_points *tree);
/* KD_ERROR_USAGE for a tree whose points cannot come and go; KD_OK for one in one piece. */
kd_status points_parts_may_change(const kd_points *tree);
/* The number of the input's first point; 0 for a tree in one piece, and for points with ids. */
uint64_t points_parts_first(const kd_points *tree);
/* Whether no device has all points. */
bool points_parts_apart(const kd_points *tree);
/* Whether its parts lie in several processes. */
bool points_parts_shared(const kd_points *tree);
/* Whether its ids take 64 bits. */
bool points_parts_wide(const kd_points *tree);

/* The calls, with arguments that were checked but for what ranks have to check together: `checked`
   is how this rank's were. */
kd_status points_parts_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                               const parts_rows *out, kd_status checked);
kd_status points_parts_count_within(const kd_points *tree, const kd_points_query *query,
                                    uint64_t *offsets, kd_status checked);
kd_status points_parts_within(const kd_points *tree, const kd_points_query *query,
                              const uint64_t *offsets, const parts_rows *out, kd_status checked);
/* The same with what the caller gave (points_query.c). */
kd_status points_parts_ask_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                   const parts_rows *rows);
kd_status points_parts_ask_within(const kd_points *tree, const kd_points_query *query,
                                  const uint64_t *offsets, const parts_rows *rows);
kd_status points_parts_count_boxes(const kd_points *tree, const kd_point_array *lo,
                                   const kd_point_array *hi, uint64_t *offsets, kd_status checked);
kd_status points_parts_boxes(const kd_points *tree, const kd_point_array *lo,
                             const kd_point_array *hi, const uint64_t *offsets, uint32_t *ids,
                             kd_status checked);
/* All points ask: kind PARTS_NEAREST, PARTS_COUNT (the sums become offsets) or PARTS_WITHIN. */
kd_status points_parts_own(const kd_points *tree, const kd_points_query *query, parts_kind kind,
                           uint32_t k, uint32_t *order, const uint64_t *offsets,
                           const parts_rows *out);

#endif
