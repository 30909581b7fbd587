/* The tables of keys as Markdown. */
#include "scenes/describe/describe_json.h"
#include "scenes/describe/describe_keys.h"
#include "scenes/describe/render_keys.h"
#include <stdio.h>

typedef struct list_sink {
    void (*line)(void *context, const char *text);
    void *context;
} list_sink;

static void list_row(const list_sink *to, const json_key *row) {
    char expected[256], text[768];
    if (row->expected)
        snprintf(expected, sizeof expected, "%s", row->expected);
    else
        json_describe(expected, sizeof expected, row);
    snprintf(text, sizeof text, "| `%s` | %s | %s | %s | %s |", row->name, expected,
             row->unit ? row->unit : "", row->initial ? row->initial : "",
             row->help ? row->help : "");
    to->line(to->context, text);
}

static void list_table(const list_sink *to, const char *title, const json_key *keys) {
    to->line(to->context, "");
    to->line(to->context, title);
    to->line(to->context, "");
    to->line(to->context, "| key | value | unit | default | meaning |");
    to->line(to->context, "|---|---|---|---|---|");
    for (const json_key *row = keys; row->name; ++row) list_row(to, row);
}

void describe_json_list(void (*line)(void *context, const char *text), void *context) {
    const list_sink to = {line, context};
    list_table(&to, "The file:", describe_scene_keys);
    list_table(&to, "An entry of `meshes`, with exactly one of file, quad, box, sphere:",
               describe_mesh_keys);
    list_table(&to, "`box`, closed, fronts outwards:", describe_box_keys);
    list_table(&to, "`sphere`, closed, smooth:", describe_sphere_keys);
    list_table(&to, "A step of `transform`, exactly one of translate, rotate, scale, matrix:",
               describe_step_keys);
    list_table(&to, "An entry of `keys` of a step:", describe_step_key_keys);
    list_table(&to, "`scatter`:", describe_scatter_keys);
    list_table(&to, "A material:", describe_material_keys);
    list_table(&to, "A medium:", describe_medium_keys);
    list_table(&to, "`camera`:", describe_camera_keys);
    list_table(&to, "An entry of `keys` of the camera:", describe_camera_key_keys);
    list_table(&to, "A light of kind `point`:", describe_light_keys[DESCRIBED_POINT]);
    list_table(&to, "A light of kind `spot`:", describe_light_keys[DESCRIBED_SPOT]);
    list_table(&to, "A light of kind `directional`:", describe_light_keys[DESCRIBED_DIRECTIONAL]);
    list_table(&to,
               "A light of kind `area`, a parallelogram:", describe_light_keys[DESCRIBED_AREA]);
    list_table(&to, "`environment`:", describe_environment_keys);
    list_table(&to, "`sky` of an environment (Preetham's, by the position of the sun):",
               describe_sky_keys);
    static render_keys options; /* too large for a small stack */
    render_keys_fill(&options);
    list_table(&to, "`render` (the options of `kandela render`, and of kandela.render in Python):",
               options.rows);
}
