/* Names that users of Mitsuba, pbrt, Blender, Cycles, LuxCore and POV-Ray know, and what Kandela
   calls them. A word with + is a POV-Ray switch; one without a dash stands for a command. */
#include "tools/program/options.h"
#include <string.h>

const option_hint option_hints[] = {
    /* options */
    {"--spp", "--samples --sample-count --sample_count --samples-per-pixel --pixelsamples --aa "
              "--aa-samples --antialias --antialiasing --quality -spp -s +A +Q +R"},
    {"--resolution", "--size --image-size --film-size --dimensions --xres --yres --xresolution "
                     "--yresolution -r"},
    {"--width", "-w -W -x +W"},
    {"--height", "-H -y +H"},
    {"--output", "--outfile --out-file --render-output --image --imagefile --destination +O -F"},
    {"--max-depth", "--depth --maxdepth --bounces --max-bounces --max-path-length --path-length "
                    "--recursion-depth"},
    {"--seed", "--random-seed --rng-seed --noise-seed --sampling-seed"},
    {"--integrator", "--engine --renderer --method --algorithm --render-engine --mode -E -m"},
    {"--time", "--time-limit --timeout --max-time --halt-time --halttime --seconds"},
    {"--target-error", "--noise-threshold --adaptive-threshold --noise --error --max-error "
                       "--haltthreshold"},
    {"--clamp", "--firefly-clamp --clamp-indirect --indirect-clamp --maxcomponentvalue"},
    {"--photons", "--photon-count --num-photons --nphotons --global-photons --photonsperiteration"},
    {"--caustic-photons", "--num-caustic-photons --caustics"},
    {"--media-photons", "--volume-photons"},
    {"--gather", "--lookup-size --lookupsize --knn --neighbours --neighbors --nearest -k"},
    {"--radius",
     "--initial-radius --lookup-radius --gather-radius --photon-radius --search-radius"},
    {"--passes", "--iterations --num-passes --rounds"},
    {"--final-gather", "--finalgather --gather-rays --gathersamples"},
    {"--photon-map", "--load-photons --photonmap"},
    {"--crop", "--region --border --render-border --cropwindow --crop-window --pixelbounds "
               "--window"},
    {"--filter", "--pixel-filter --rfilter --reconstruction-filter"},
    {"--frames", "--animation --render-anim --frame-range --start-frame --end-frame -a +KFF"},
    {"--frame", "--render-frame -f"},
    {"--shutter", "--motion-blur --shutter-time"},
    {"--exposure", "--ev --stops --brightness --film-exposure --iso"},
    {"--tonemap", "--tone-mapping --tonemapping --tone-map --view-transform --tonemapper"},
    {"--bloom", "--glare --glow"},
    {"--white-balance", "--wb --temperature --white-point --whitepoint"},
    {"--env", "--envmap --environment-map --environment --hdri --sky --background-image --ibl"},
    {"--eye", "--camera-position --camera-origin --origin --position --from"},
    {"--look-at", "--lookat --target --look --camera-target --center --to"},
    {"--fov", "--field-of-view --fovy --vfov --angle --camera-angle"},
    {"--orthographic", "--ortho --parallel"},
    {"--lens-radius", "--aperture --lens --dof --depth-of-field --fstop"},
    {"--focus", "--focus-distance --focal-distance --focaldistance"},
    {"--camera", "--view --viewpoint --sensor"},
    {"--device", "--variant --backend --cycles-device --accelerator"},
    {"--device cuda:0", "--gpu --cuda --optix --use-gpu --gpu-device"},
    {"--device cpu", "--cpu --no-gpu"},
    {"--threads", "--nthreads --num-threads --jobs --cores --cpus -t -j +WT"},
    {"--max-memory", "--memory --memory-limit --mem --ram"},
    {"--denoise", "--denoiser --oidn --denoising"},
    {"--layer", "--part --channel --channels --aov --render-pass --render-layer"},
    {"--merge", "--stitch --combine --assemble --mosaic"},
    {"--resume", "--continue --restart +C"},
    {"--save-every", "--checkpoint --autosave --save-interval --write-interval"},
    {"--stats", "--statistics --stat --report-file --json"},
    {"--quick", "--preview --draft --fast"},
    {"--display-server", "--tev --interactive --display +D"},
    {"--quiet", "--silent --no-verbose"},
    {"--verbose", "--debug --log-level --loglevel --verbosity"},
    {"--builder", "--accelerator-type --bvh --kdtree --accel"},
    {"--metric", "--type --error-metric"},
    {"--max", "--threshold --tolerance"},
    {"--diff", "--difference --difference-image"},
    {"--fix", "--repair --weld --heal"},
    {"--sizes", "--count --points --triangles"},
    {"--json", "--as-json --format-json"},
    {"--report", "--html --page"},
    /* names that are no option, or no option of a command */
    {"the suffix of the file of --output sets the format",
     "--file-format --render-format --output-format"},
    {"name the scene without an option", "--scene --input --file --mesh --model -i +I"},
    {"pictures in 8-bit formats are always encoded as sRGB; --exposure brightens them", "--gamma"},
    {"Kandela never opens a window, so this option is not needed", "--background --headless -b"},
    {"run \"kandela info\"", "--list-devices --devices --list --info"},
    {"run \"kandela --version\"", "--version -V version"},
    {"run \"kandela --man COMMAND\"", "man"},
    {"run \"kandela --help\" or \"kandela COMMAND --help\"", "help"},
    {"run \"kandela render SCENE\"", "draw trace-rays raytrace preview"},
    {"run \"kandela develop PICTURE\"",
     "convert tonemap tone-map denoise crop resize expose imgtool tonemapping"},
    {"run \"kandela compare A B\"", "diff difference error psnr flip"},
    {"run \"kandela check FILE\"", "validate lint repair verify fix"},
    {"run \"kandela bench BENCHMARK\"", "benchmark perf speed"},
    {"run \"kandela info\"", "devices list integrators builders formats"},
    {NULL, NULL}};

static bool has_word(const char *words, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = words; *at; at += strspn(at, " ")) {
        const size_t span = strcspn(at, " ");
        if (span == length && strncmp(at, word, length) == 0) return true;
        at += span;
    }
    return false;
}

/* Returns true if the advice names no option, or one of the groups. */
static bool is_available(const option_hint *hint, const option_group *groups) {
    if (strncmp(hint->use, "--", 2) != 0) return true;
    const size_t length = strcspn(hint->use + 2, " ");
    for (const option_group *group = groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));)
            if (strlen(row->name) == length && strncmp(row->name, hint->use + 2, length) == 0)
                return true;
    return false;
}

const char *option_hint_find(const char *word, const option_group *groups) {
    for (const option_hint *hint = option_hints; hint->use; ++hint)
        if (has_word(hint->foreign, word) && (!groups || is_available(hint, groups)))
            return hint->use;
    return NULL;
}
