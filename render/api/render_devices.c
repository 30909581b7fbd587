/* One rendering on several devices: a thread and a rank for each. */
#include "render/api/render.h"
#include <string.h>

typedef struct device_party {
    render_result *out; /* the result of rank 0 */
    const struct scene *scene;
    const kd_render_options *options;
    const render_keeping *keeping;
    job_control *job;
} device_party;

static kd_status render_one(void *context, ranks *comm) {
    const device_party *party = (const device_party *)context;
    kd_render_options options = *party->options;
    char name[64];
    device_list_name(name, party->options->device, comm->rank);
    memset(options.device, 0, sizeof options.device);
    strncpy(options.device, name, sizeof options.device - 1);
    render_keeping keeping = *party->keeping;
    keeping.comm = comm;
    if (comm->rank == 0)
        return render_run_kept(party->out, party->scene, &options, &keeping, party->job);
    const render_keeping nothing = {.resume = keeping.resume, .comm = comm};
    render_result discarded;
    const kd_status status = render_run_kept(&discarded, party->scene, &options, &nothing, NULL);
    if (status == KD_OK || status == KD_INTERRUPTED) render_close(&discarded);
    return status;
}

kd_status render_on_devices(render_result *out, const scene *scene,
                            const kd_render_options *options, const render_keeping *keeping,
                            job_control *job) {
    device_party party = {out, scene, options, keeping, job};
    KD_REQUIRE(!ranks_shared(keeping->comm), KD_ERROR_USAGE,
               "--device is %s; with several ranks, each rank supports one device",
               options->device);
    return ranks_threads_run(device_list_count(options->device), render_one, &party);
}
