/* kandela compare: prints the difference of two images as one number. */
#include "core/image/formats.h"
#include "core/image/picture.h"
#include "core/image_processing/compare.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include <stdio.h>
#include <string.h>

typedef struct compare_values {
    general_options general;
    char metric[16];
    int32_t block;
    bool limited;
    double max; /* valid if `limited` */
    const char *difference, *layer;
} compare_values;

/* An input image: 8 or 16 bits per sample, or floats. */
typedef struct compared {
    struct picture packed;
    image whole;
    image_rows rows;
} compared;

static kd_status compared_open(compared *out, const char *path, const char *which,
                               const char *layer) {
    const image_reading reading = {.layer = layer, .colours_alone = true};
    if (!layer) KD_TRY(image_read_packed(&out->packed, path));
    if (out->packed.texels) return image_rows_of_picture(&out->rows, &out->packed);
    KD_TRY(image_read_as(&out->whole, path, &reading));
    return image_rows_of_image(&out->rows, &out->whole, which);
}

static void compared_close(compared *owned) {
    image_rows_close(&owned->rows);
    picture_close(&owned->packed);
    image_close(&owned->whole);
}

static kd_status measure(const compare_values *values, const char *path_a, const char *path_b) {
    compare_metric metric;
    KD_TRY(compare_metric_find(&metric, values->metric, path_a, path_b));
    compared a, b;
    image difference;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&difference, 0, sizeof difference);
    double value = 0;
    kd_status status = KD_OK;
    KD_TRY_GOTO(compared_open(&a, path_a, "the first", values->layer));
    KD_TRY_GOTO(compared_open(&b, path_b, "the second", values->layer));
    KD_TRY_GOTO(compare_rows(&value, &a.rows, &b.rows, metric, values->block,
                             values->difference ? &difference : NULL));
    if (values->difference) {
        const image_encoding encoding = {.exposure = 0, .tonemap = KD_TONEMAP_LINEAR};
        KD_TRY_GOTO(image_write(&difference, values->difference, &encoding));
    }
    printf("%.9g\n", value);
    if (values->limited && compare_is_worse(metric, value, values->max))
        status =
            status_fail(KD_ERROR_CHECK, __FILE__, __LINE__, "%s is %.9g, worse than the limit %.9g",
                        values->metric, value, values->max);
done:
    compared_close(&a);
    compared_close(&b);
    image_close(&difference);
    return status;
}

static kd_status run(const option_line *line) {
    compare_values values = {.metric = "rmse", .block = 1};
    KD_TRY(option_line_apply(line, &values));
    general_apply(&values.general);
    values.limited = option_line_has(line, "max");
    KD_TRY(command_arguments(line, &command_compare, 2, 2));
    if (values.difference) {
        KD_TRY(image_writable(values.difference));
        KD_TRY(output_check(values.difference));
        for (int i = 0; i < 2; ++i) KD_TRY(output_check_input(line->arguments[i]));
    }
    return measure(&values, line->arguments[0], line->arguments[1]);
}

static const char *metric_choice(int index) {
    static const char *const names[] = {"rmse", "relmse", "psnr", "flip", "max"};
    return index < 5 ? names[index] : NULL;
}

static const option_row rows[] = {
    {OPTION_ROW(compare_values, "metric", OPTION_NAME, metric), .argument = "NAME",
     .initial = "rmse", .choice = metric_choice, .help = "error metric"},
    {OPTION_ROW(compare_values, "block", OPTION_INT32, block), .argument = "N", .initial = "1",
     .minimum = 1, .maximum = 65536, .help = "compare the means of blocks of N x N pixels"},
    {OPTION_ROW(compare_values, "max", OPTION_DOUBLE, max), .argument = "VALUE",
     .help = "exit with status 6 if the result exceeds VALUE (psnr: is below VALUE)"},
    {OPTION_ROW(compare_values, "layer", OPTION_TEXT, layer), .argument = "NAME",
     .help = "compare this layer, part or channel of the .exr files"},
    {OPTION_ROW(compare_values, "diff", OPTION_TEXT, difference), .argument = "OUT.png",
     .help = "write a picture of the differences, on a logarithmic scale from black to white"},
    {.name = NULL}};

static const option_group groups[] = {
    {"Options", rows, 0, NULL}, GENERAL_GROUP(compare_values), {NULL, NULL, 0, NULL}};

static const help_pair metrics[] = {
    {"rmse", "root mean square error over pixels and channels"},
    {"relmse", "mean of |a - b|^2 / (|b|^2 + (m / 20)^2); |b|: length of the colour; m: its mean"},
    {"psnr", "peak signal-to-noise ratio, decibels"},
    {"flip", "perceived difference: FLIP of two 8-bit pictures, HDR-FLIP otherwise"},
    {"max", "largest |a - b|"},
    {NULL, NULL}};

static const help_pair examples[] = {
    {"kandela compare picture.exr reference.exr --metric relmse", "print the relative error"},
    {"kandela compare a.png b.png --metric flip --max 0.05",
     "exit with status 6 if the pictures look different"},
    {NULL, NULL}};

const subcommand command_compare = {
    .name = "compare",
    .arguments = "A B",
    .summary = "measure the difference between a picture and a reference",
    .description = "Prints one number: the difference between picture A and reference B, in linear "
                   "radiance. Pictures of different sizes, or with pixels that are not finite, are "
                   "errors.",
    .items_heading = "Metrics",
    .items = metrics,
    .examples = examples,
    .groups = groups,
    .run = run,
};
