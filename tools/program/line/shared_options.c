#include "tools/program/line/shared_options.h"
#include "accel/builders.h"
#include "photon/estimators.h"
#include <assert.h>

static_assert(offsetof(kd_render_options, sah_intersect_cost) ==
                  offsetof(kd_render_options, sah_traversal_cost) + sizeof(float),
              "--sah-costs sets two fields in a row");

static const char *builder_choice(int index) {
    if (index == 0) return "auto";
    const tritree_builder *row = tritree_builders[index - 1];
    return row ? row->name : NULL;
}

const char *lookup_choice(int index) {
    return index == 0 ? "auto" : photon_lookup_name(index - 1);
}

const option_row device_rows[] = {
    {.name = "device",
     .argument = "NAME",
     .help = "where to compute: auto (the first CUDA device that the method has kernels for, else "
             "the CPU), cpu or cuda:N; kandela render takes several, cuda:0,cuda:1 or cuda:all",
     .initial = "auto",
     .environment = "KANDELA_DEVICE",
     .kind = OPTION_NAME,
     OPTION_FIELD(kd_render_options, device)},
    {.name = NULL}};

const option_row tritree_rows[] = {
    {.name = "builder",
     .argument = "NAME",
     .help = "builder of the triangle tree",
     .initial = "auto",
     .kind = OPTION_NAME,
     .choice = builder_choice,
     OPTION_FIELD(kd_render_options, builder)},
    {.name = "sah-costs",
     .argument = "CT,CI",
     .help = "cost of a step through an inner node and of a triangle test",
     .initial = "1.5,1",
     .kind = OPTION_FLOAT,
     .count = 2,
     .least = 1e-3,
     .most = 1e6,
     OPTION_FIELD(kd_render_options, sah_traversal_cost)},
    {.name = "empty-factor",
     .argument = "E",
     .help = "cost factor of a split that cuts off empty space, at most 1",
     .initial = "1",
     .kind = OPTION_FLOAT,
     .least = 1e-3,
     .most = 1,
     OPTION_FIELD(kd_render_options, sah_empty_factor)},
    {.name = NULL}};
