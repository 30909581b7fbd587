/* The steps of clusters.c, which includes this file once per scalar (`real`, `CLUSTERS`). */

/* Points sorted by cell, axis by axis: coordinate a of point i is at[a * stride + i]. */
typedef struct CLUSTERS(columns) {
    real *at;
    uint64_t stride;
    uint32_t dims;
} CLUSTERS(columns);

typedef struct CLUSTERS(work) {
    const cell_grid *grid;
    const cell_rows *rows;
    real bound2;
    uint64_t least;
    CLUSTERS(columns) all, cores;
    uint8_t *is_core;      /* one per point, in the order of the grid */
    uint64_t *cores_begin; /* first of the core points of a cell; cells + 1 entries */
    real *boxes;           /* bounds of each cell's core points: lower, then upper corner */
    uint32_t *parent;      /* cells as a forest; the root of each set is its first cell */
    int64_t *cluster;      /* one per cell with core points */
    int64_t *labels;
} CLUSTERS(work);

static inline void CLUSTERS(get)(const CLUSTERS(columns) * from, uint64_t i, real *to) {
    for (uint32_t axis = 0; axis < from->dims; ++axis) to[axis] = from->at[axis * from->stride + i];
}

/* Counts the points [begin, end) within the bound of `query`; may stop at `enough`. The sum of
   squares is rounded as in points/tree/walk_nd.h. */
static inline uint64_t CLUSTERS(count_loop)(const CLUSTERS(columns) * from, uint32_t dims,
                                            uint64_t begin, uint64_t end, const real *query,
                                            real bound2, uint64_t enough) {
    uint64_t count = 0;
    for (; begin + CLUSTER_LANES <= end && count < enough; begin += CLUSTER_LANES) {
        real sum[CLUSTER_LANES];
        for (int lane = 0; lane < CLUSTER_LANES; ++lane) {
            const real d = query[0] - from->at[begin + (uint64_t)lane];
            sum[lane] = d * d;
        }
        for (uint32_t axis = 1; axis < dims; ++axis) {
            const real *x = from->at + axis * from->stride + begin;
            for (int lane = 0; lane < CLUSTER_LANES; ++lane)
                sum[lane] = sum[lane] + (query[axis] - x[lane]) * (query[axis] - x[lane]);
        }
        uint32_t within = 0;
        for (int lane = 0; lane < CLUSTER_LANES; ++lane) within += sum[lane] <= bound2;
        count += within;
    }
    for (; begin < end && count < enough; ++begin) {
        real sum = (query[0] - from->at[begin]) * (query[0] - from->at[begin]);
        for (uint32_t axis = 1; axis < dims; ++axis) {
            const real d = query[axis] - from->at[axis * from->stride + begin];
            sum = sum + d * d;
        }
        count += sum <= bound2;
    }
    return count;
}

static uint64_t CLUSTERS(count_near)(const CLUSTERS(columns) * from, uint64_t begin, uint64_t end,
                                     const real *query, real bound2, uint64_t enough) {
    switch (from->dims) {
    case 2: return CLUSTERS(count_loop)(from, 2, begin, end, query, bound2, enough);
    case 3: return CLUSTERS(count_loop)(from, 3, begin, end, query, bound2, enough);
    default: return CLUSTERS(count_loop)(from, from->dims, begin, end, query, bound2, enough);
    }
}

/* Returns whether a core point of the cell is within the bound of `query`. The box's distance is
   rounded as those of points, so it never exceeds them. */
static bool CLUSTERS(core_near)(const CLUSTERS(work) * work, uint64_t cell, const real *query) {
    const uint32_t dims = work->cores.dims;
    const uint64_t begin = work->cores_begin[cell], end = work->cores_begin[cell + 1];
    const real *lo = work->boxes + 2 * dims * cell, *hi = lo + dims;
    real sum = 0;
    if (begin == end) return false;
    for (uint32_t axis = 0; axis < dims; ++axis) {
        const real below = lo[axis] - query[axis], above = query[axis] - hi[axis];
        const real d = below > 0 ? below : above > 0 ? above : 0;
        sum = sum + d * d;
    }
    return sum <= work->bound2 &&
           CLUSTERS(count_near)(&work->cores, begin, end, query, work->bound2, 1) > 0;
}

static void CLUSTERS(find_cores)(void *context, int64_t first, int64_t last, int thread) {
    (void)thread;
    const CLUSTERS(work) *work = (const CLUSTERS(work) *)context;
    const cell_grid *grid = work->grid;
    uint64_t cursors[ROWS_MAX];
    cell_run runs[ROWS_MAX];
    real query[CLUSTER_DIMS_MAX];
    cell_rows_begin(work->rows, grid, (uint64_t)first, cursors);
    for (uint64_t cell = (uint64_t)first; cell < (uint64_t)last; ++cell) {
        const uint64_t begin = grid->begin[cell], end = grid->begin[cell + 1];
        memset(work->is_core + begin, end - begin >= work->least, end - begin);
        if (end - begin >= work->least) continue;
        const uint32_t count = cell_rows_next(work->rows, grid, cell, cursors, runs);
        for (uint64_t i = begin; i < end; ++i) {
            uint64_t found = 0;
            CLUSTERS(get)(&work->all, i, query);
            for (uint32_t run = 0; run < count && found < work->least; ++run)
                found += CLUSTERS(count_near)(&work->all, grid->begin[runs[run].begin],
                                              grid->begin[runs[run].end], query, work->bound2,
                                              work->least - found);
            work->is_core[i] = found >= work->least;
        }
    }
}

/* Lists the core points of each cell and their box. */
static void CLUSTERS(list_cores)(CLUSTERS(work) * work) {
    const cell_grid *grid = work->grid;
    const uint32_t dims = work->all.dims;
    uint64_t kept = 0;
    for (uint64_t cell = 0; cell < grid->cells; ++cell) {
        real *lo = work->boxes + 2 * dims * cell, *hi = lo + dims;
        work->cores_begin[cell] = kept;
        work->parent[cell] = (uint32_t)cell;
        for (uint64_t i = grid->begin[cell]; i < grid->begin[cell + 1]; ++i) {
            if (!work->is_core[i]) continue;
            for (uint32_t axis = 0; axis < dims; ++axis) {
                const real x = work->all.at[axis * work->all.stride + i];
                const bool first = kept == work->cores_begin[cell];
                work->cores.at[axis * work->cores.stride + kept] = x;
                lo[axis] = first || x < lo[axis] ? x : lo[axis];
                hi[axis] = first || x > hi[axis] ? x : hi[axis];
            }
            ++kept;
        }
    }
    work->cores_begin[grid->cells] = kept;
}

static uint32_t CLUSTERS(root)(uint32_t *parent, uint32_t cell) {
    while (parent[cell] != cell) cell = parent[cell] = parent[parent[cell]];
    return cell;
}

static bool CLUSTERS(cells_near)(const CLUSTERS(work) * work, uint64_t a, uint64_t b) {
    real query[CLUSTER_DIMS_MAX];
    for (uint64_t i = work->cores_begin[a]; i < work->cores_begin[a + 1]; ++i) {
        CLUSTERS(get)(&work->cores, i, query);
        if (CLUSTERS(core_near)(work, b, query)) return true;
    }
    return false;
}

/* Joins each cell with the earlier cells that have core points near its own. */
static void CLUSTERS(join_cells)(const CLUSTERS(work) * work) {
    uint64_t cursors[ROWS_MAX];
    cell_run runs[ROWS_MAX];
    if (work->grid->cells) cell_rows_begin(work->rows, work->grid, 0, cursors);
    for (uint64_t cell = 0; cell < work->grid->cells; ++cell) {
        if (work->cores_begin[cell] == work->cores_begin[cell + 1]) continue;
        const uint32_t count = cell_rows_next(work->rows, work->grid, cell, cursors, runs);
        for (uint32_t run = 0; run < count; ++run)
            for (uint64_t other = runs[run].begin; other < runs[run].end && other < cell; ++other) {
                if (work->cores_begin[other] == work->cores_begin[other + 1]) continue;
                const uint32_t a = CLUSTERS(root)(work->parent, (uint32_t)cell),
                               b = CLUSTERS(root)(work->parent, (uint32_t)other);
                if (a != b && CLUSTERS(cells_near)(work, cell, other))
                    work->parent[a < b ? b : a] = a < b ? a : b;
            }
    }
}

/* Numbers the clusters by their first core point. `labels` first serves as the list of those
   points. */
static void CLUSTERS(number)(const CLUSTERS(work) * work, uint64_t count) {
    const cell_grid *grid = work->grid;
    int64_t *first = work->cluster, *labels = work->labels, clusters = 0;
    for (uint64_t cell = 0; cell < grid->cells; ++cell) first[cell] = INT64_MAX;
    for (uint64_t cell = 0; cell < grid->cells; ++cell) {
        if (work->cores_begin[cell] == work->cores_begin[cell + 1]) continue;
        uint64_t i = grid->begin[cell];
        while (!work->is_core[i]) ++i;
        int64_t *to = &first[CLUSTERS(root)(work->parent, (uint32_t)cell)];
        *to = grid->order[i] < *to ? grid->order[i] : *to;
    }
    for (uint64_t i = 0; i < count; ++i) labels[i] = -1;
    for (uint64_t cell = 0; cell < grid->cells; ++cell)
        if (first[cell] < INT64_MAX) labels[first[cell]] = (int64_t)cell;
    for (uint64_t i = 0; i < count; ++i)
        if (labels[i] >= 0) {
            first[labels[i]] = clusters++;
            labels[i] = -1;
        }
    for (uint64_t cell = 0; cell < grid->cells; ++cell)
        first[cell] = work->cores_begin[cell] == work->cores_begin[cell + 1]
                          ? INT64_MAX
                          : first[CLUSTERS(root)(work->parent, (uint32_t)cell)];
}

static void CLUSTERS(label)(void *context, int64_t first, int64_t last, int thread) {
    (void)thread;
    const CLUSTERS(work) *work = (const CLUSTERS(work) *)context;
    const cell_grid *grid = work->grid;
    uint64_t cursors[ROWS_MAX];
    cell_run runs[ROWS_MAX];
    real query[CLUSTER_DIMS_MAX];
    cell_rows_begin(work->rows, grid, (uint64_t)first, cursors);
    for (uint64_t cell = (uint64_t)first; cell < (uint64_t)last; ++cell) {
        const uint64_t begin = grid->begin[cell], end = grid->begin[cell + 1];
        const uint64_t cores = work->cores_begin[cell + 1] - work->cores_begin[cell];
        const bool mixed = cores < end - begin;
        const uint32_t count = mixed ? cell_rows_next(work->rows, grid, cell, cursors, runs) : 0;
        for (uint64_t i = begin; i < end; ++i) {
            int64_t best = work->cluster[cell]; /* all points of a cell are near its core points */
            if (!work->is_core[i]) CLUSTERS(get)(&work->all, i, query);
            for (uint32_t run = 0; run < count && !work->is_core[i]; ++run)
                for (uint64_t other = runs[run].begin; other < runs[run].end; ++other)
                    if (work->cluster[other] < best && CLUSTERS(core_near)(work, other, query))
                        best = work->cluster[other];
            if (best < INT64_MAX) work->labels[grid->order[i]] = best;
        }
    }
}

static void CLUSTERS(fill)(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const CLUSTERS(work) *work = (const CLUSTERS(work) *)((const void **)context)[0];
    const point_array *points = (const point_array *)((const void **)context)[1];
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; ++i) {
        const real *from = (const real *)point_array_at(points, work->grid->order[i]);
        for (uint32_t axis = 0; axis < points->dims; ++axis)
            work->all.at[axis * work->all.stride + i] = from[axis];
    }
}

static kd_status CLUSTERS(clusters)(const point_array *points, const cell_grid *grid,
                                    const cell_rows *rows, real bound2, uint64_t least,
                                    int64_t *labels) {
    const uint64_t count = points->count, cells = grid->cells;
    const uint32_t dims = points->dims;
    CLUSTERS(work)
    work = {.grid = grid, .rows = rows, .bound2 = bound2, .least = least, .labels = labels};
    const void *context[] = {&work, points};
    kd_status status = KD_OK;
    work.all.stride = work.cores.stride = count;
    work.all.dims = work.cores.dims = dims;
    KD_TRY_GOTO(KD_RESERVE(work.all.at, dims * count));
    KD_TRY_GOTO(KD_RESERVE(work.cores.at, dims * count));
    KD_TRY_GOTO(KD_RESERVE(work.is_core, count));
    KD_TRY_GOTO(KD_RESERVE(work.cores_begin, cells + 1));
    KD_TRY_GOTO(KD_RESERVE(work.boxes, 2 * dims * cells));
    KD_TRY_GOTO(KD_RESERVE(work.parent, cells));
    KD_TRY_GOTO(KD_RESERVE(work.cluster, cells));
    parallel_for((int64_t)count, 1 << 14, CLUSTERS(fill), context);
    KD_TRY_GOTO(
        parallel_for_stage("query", (int64_t)cells, CLUSTER_GRAIN, CLUSTERS(find_cores), &work));
    CLUSTERS(list_cores)(&work);
    CLUSTERS(join_cells)(&work);
    CLUSTERS(number)(&work, count);
    parallel_for((int64_t)cells, CLUSTER_GRAIN, CLUSTERS(label), &work);
done:
    memory_free(work.all.at);
    memory_free(work.cores.at);
    memory_free(work.is_core);
    memory_free(work.cores_begin);
    memory_free(work.boxes);
    memory_free(work.parent);
    memory_free(work.cluster);
    return status;
}
