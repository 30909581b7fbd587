/* kandela develop: converts radiance to displayable images, without rendering again. */
#include "core/image/formats.h"
#include "core/image/tonemap.h"
#include "core/image_processing/develop.h"
#include "core/image_processing/finish.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct develop_values {
    general_options general;
    option_list outputs;
    char format[8];
    float exposure; /* NAN: automatic */
    kd_tonemap tonemap;
    bool denoise, merge;
    const char *layer;
    const char *background; /* NULL: the file stores the coverage */
    int32_t crop[4], size[2];
    float bloom, bloom_radius, vignette, contrast, saturation;
    char white_balance[24];
    image_finish finish;
} develop_values;

typedef struct developing {
    char *const *paths; /* one, or the parts that are merged */
    int path_count;
    develop_values values;
    char default_output[256];
} developing;

static kd_status check_line(developing *work, const option_line *line) {
    KD_TRY(option_line_apply(line, &work->values));
    IMAGE_FINISH_TAKE(&work->values.finish, &work->values);
    KD_TRY(image_finish_check(&work->values.finish));
    general_apply(&work->values.general);
    KD_REQUIRE(work->values.merge || line->argument_count < 2, KD_ERROR_USAGE,
               "develop takes one picture, found %s after %s; --merge puts parts of one together",
               line->arguments[1], line->arguments[0]);
    KD_TRY(command_arguments(line, &command_develop, 1, -1));
    work->paths = line->arguments;
    work->path_count = line->argument_count;
    option_list *outputs = &work->values.outputs;
    KD_REQUIRE(!work->values.merge || outputs->count, KD_ERROR_USAGE,
               "--merge needs a name for the whole picture: -o FILE");
    if (outputs->count == 0) {
        output_name(work->default_output, sizeof work->default_output, work->paths[0], ".png");
        outputs->items[outputs->count++] = work->default_output;
    }
    KD_TRY(output_pictures(outputs, work->values.format, false));
    for (int i = 0; i < outputs->count; ++i) KD_TRY(output_check(outputs->items[i]));
    if (work->values.denoise) KD_TRY(denoise_check());
    for (int i = 0; i < work->path_count; ++i) KD_TRY(output_check_input(work->paths[i]));
    KD_TRY(output_check_input(work->values.background));
    return KD_OK;
}

static kd_status change(image *image, const option_line *line, const develop_values *values) {
    /* before cropping, so that the surroundings of the crop are used */
    if (values->denoise) KD_TRY(denoise_image(image));
    if (option_line_has(line, "crop")) KD_TRY(image_crop(image, values->crop));
    if (option_line_has(line, "resize"))
        KD_TRY(image_resize(image, values->size[0], values->size[1]));
    return KD_OK;
}

static kd_status write_files(const image *image, const develop_values *values,
                             const struct image *background) {
    image_encoding encoding = {
        .exposure = values->exposure, .tonemap = values->tonemap, .background = background};
    bool shown = false;
    for (int i = 0; i < values->outputs.count; ++i)
        shown |=
            /* image_writable has checked the format */
            image_format_find(values->outputs.items[i])->display;
    if (isnan(encoding.exposure) && shown) {
        KD_TRY(image_exposure(&encoding.exposure, image));
        general_note("automatic exposure: %+.2f stops (--exposure sets another)",
                     (double)encoding.exposure);
    }
    for (int i = 0; i < values->outputs.count; ++i)
        KD_TRY(finish_write(image, values->outputs.items[i], &encoding, &values->finish));
    output_print_names(&values->outputs);
    return KD_OK;
}

/* Returns true if no output needs more than colours and alpha. */
static bool shows_alone(const develop_values *values) {
    for (int i = 0; i < values->outputs.count; ++i)
        if (image_format_find(values->outputs.items[i])->windows) return false;
    return !values->denoise;
}

/* Returns true if all outputs can keep the picture's place in a larger one. */
static bool keeps_window(const option_line *line, const option_list *outputs) {
    for (int i = 0; i < outputs->count; ++i)
        if (!image_format_find(outputs->items[i])->windows) return false;
    return !option_line_has(line, "crop") && !option_line_has(line, "resize");
}

static kd_status read_files(image *out, const developing *work, const option_line *line) {
    const image_reading reading = {.layer = work->values.layer,
                                   .colours_alone = shows_alone(&work->values),
                                   .keeps_window = keeps_window(line, &work->values.outputs)};
    if (!work->values.merge) return image_read_as(out, work->paths[0], &reading);
    KD_TRY(image_merge(out, work->paths, work->path_count, &reading));
    if (!reading.keeps_window) KD_TRY(image_fill(out));
    return KD_OK;
}

static kd_status run(const option_line *line) {
    developing work = {.values = {.bloom_radius = 0.05f, .contrast = 1, .saturation = 1}};
    image picture, *background = NULL;
    memset(&picture, 0, sizeof picture);
    KD_TRY(check_line(&work, line));
    kd_status status = KD_OK;
    KD_TRY_GOTO(read_files(&picture, &work, line));
    KD_TRY_GOTO(output_check_inputs());
    KD_TRY_GOTO(change(&picture, line, &work.values));
    if (work.values.background)
        KD_TRY_GOTO(image_background_open(&background, work.values.background, picture.width,
                                          picture.height));
    KD_TRY_GOTO(write_files(&picture, &work.values, background));
done:
    image_background_close(background);
    image_close(&picture);
    return status;
}

static const option_row rows[] = {
    {OPTION_ROW(develop_values, "output", OPTION_LIST, outputs), .short_name = 'o',
     .argument = "FILE", .choice = image_format_suffix, .initial = "PICTURE.png",
     .help = "picture to write (repeatable)"},
    {OPTION_ROW(develop_values, "format", OPTION_NAME, format), .argument = "NAME",
     .choice = image_format_name, .initial = "png", .by_build = true,
     .help = "format of the picture that -o - writes to standard output"},
    {OPTION_ROW(develop_values, "exposure", OPTION_FLOAT, exposure), .argument = "STOPS",
     .initial = "0", .automatic = "auto", .minimum = -64, .maximum = 64, .unit = "stops",
     .help = "scale 8-bit pictures by 2^STOPS; auto: brighten, but clip at most 5 % of the pixels"},
    {OPTION_ROW(develop_values, "tonemap", OPTION_CHOICE, tonemap), .argument = "NAME",
     .initial = "linear", .choice = tonemap_name, .help = "tone curve of 8-bit pictures"},
    IMAGE_FINISH_ROWS(develop_values),
    {OPTION_ROW(develop_values, "layer", OPTION_TEXT, layer), .argument = "NAME",
     .help = "read this layer, part or channel of an .exr file as its colours"},
    {OPTION_ROW(develop_values, "merge", OPTION_FLAG, merge),
     .help = "put the parts of a picture together: .exr files of render --crop"},
    {OPTION_ROW(develop_values, "background", OPTION_TEXT, background), .argument = "COLOUR",
     .initial = "transparent",
     .help =
         "behind all surfaces: transparent, #rrggbb, r,g,b, white, grey, black, TOP:BOTTOM, or a "
         "picture file"},
    {OPTION_ROW(develop_values, "denoise", OPTION_FLAG, denoise),
     .help =
         "denoise with Open Image Denoise, guided by albedo and normals if the picture has them"},
    {OPTION_ROW(develop_values, "crop", OPTION_INT32, crop), .argument = "X0,Y0,X1,Y1", .count = 4,
     .minimum = 0, .maximum = 1e9, .unit = "pixels",
     .help = "keep only this rectangle; 0,0 is the top left pixel, X1 and Y1 are exclusive"},
    {OPTION_ROW(develop_values, "resize", OPTION_INT32, size), .argument = "WxH", .count = 2,
     .separator = 'x', .minimum = 0, .maximum = 65536, .unit = "pixels",
     .help = "resize colours and alpha; 0 for W or H keeps the aspect ratio"},
    {.name = NULL}};

static const option_group groups[] = {
    {"Options", rows, 0, NULL}, GENERAL_GROUP(develop_values), {NULL, NULL, 0, NULL}};

static const help_pair examples[] = {
    {"kandela develop picture.exr --exposure 1 --tonemap agx -o picture.jpg",
     "brighten and tone-map a picture"},
    {"kandela develop picture.exr --denoise --resize 640x0", "write a small picture.png"},
    {"kandela develop --merge a.exr b.exr -o whole.exr", "put two crops of a picture together"},
    {NULL, NULL}};

const subcommand command_develop = {
    .name = "develop",
    .arguments = "PICTURE...",
    .summary = "expose, tone-map, denoise, crop and resize a picture",
    .description =
        "Converts PICTURE, usually radiance in .exr, to other formats without rendering again, and "
        "prints the names of the pictures written.\n\n"
        "The picture is denoised, then cropped, then resized. Bloom, vignette, exposure, white "
        "balance, contrast, saturation and tone curve, in this order, apply to 8-bit formats "
        "only. Of an .exr file the display window is shown, black where it has no "
        "data.",
    .examples = examples,
    .groups = groups,
    .run = run,
};
