/* scenes/formats/mtl.h: the effect of each key, rejected input, and the messages. */
#include "scenes/formats/mtl.h"
#include "tests/scenes/files.h"

static mtl_library library;

static kd_status read_text(reported_problems *log, const char *text) {
    mtl_library_close(&library);
    memset(log, 0, sizeof *log);
    file_put_text("a.mtl", text);
    const obj_options options = {.problem = on_problem, .context = log};
    return mtl_load(&library, file_in("a.mtl"), &options);
}

/* Returns the material that these lines describe; they must cause no problem. */
static const mesh_material *material_of(const char *lines) {
    char text[1024];
    reported_problems problems;
    snprintf(text, sizeof text, "newmtl m\n%s", lines);
    assert_int_equal(read_text(&problems, text), KD_OK);
    if (problems.count) print_error("%s: %s\n", lines, problems.messages[0]);
    assert_int_equal(problems.count, 0);
    assert_int_equal(library.count, 1);
    return &library.materials[0];
}

static int kind_of(const char *lines) {
    return material_of(lines)->record.kind;
}

static void test_material_kind_depends_on_illum_and_colours(void **state) {
    (void)state;
    assert_int_equal(kind_of(""), MATERIAL_DIFFUSE);
    assert_int_equal(kind_of("Kd 1 1 1\nKs 0 0 0\nillum 2\nNs 10\n"), MATERIAL_DIFFUSE);
    assert_int_equal(kind_of("Kd 1 1 1\nKs 1 1 1\nillum 1\nNs 10\n"), MATERIAL_DIFFUSE);
    assert_int_equal(kind_of("Kd 1 1 1\nKs 0.5 0.5 0.5\nillum 2\nNs 10\n"), MATERIAL_PLASTIC);
    assert_int_equal(kind_of("Kd 0 0 0\nKs 1 1 1\nNs 100\n"), MATERIAL_CONDUCTOR);
    assert_int_equal(kind_of("Ks 1 1 1\nNs 1000\n"), MATERIAL_CONDUCTOR);
    assert_int_equal(kind_of("Kd 0.01 0.01 0.01\nKs .95 .95 .95\nNs 1000\nillum 5\n"),
                     MATERIAL_MIRROR);
    assert_int_equal(kind_of("Kd 0 0 0\nKs .9 .9 .9\nillum 3\n"), MATERIAL_MIRROR);
    assert_int_equal(kind_of("Kd .5 .5 .5\nKs .9 .9 .9\nillum 3\n"), MATERIAL_PLASTIC);
    assert_int_equal(kind_of("Pr 0.5\nKd 1 1 1\n"), MATERIAL_PLASTIC);
    for (int illum = 0; illum <= 10; ++illum) {
        char text[64];
        snprintf(text, sizeof text, "Kd 1 1 1\nNi 1.5\nillum %d\n", illum);
        const bool glass = illum == 4 || illum == 6 || illum == 7 || illum == 9;
        assert_int_equal(kind_of(text) == MATERIAL_GLASS, glass);
    }
    assert_int_equal(kind_of("Ks .04 .04 .04\nNi 1.6\nTf .9 .9 .9\n"), MATERIAL_GLASS);
    assert_int_equal(kind_of("Kd .5 .5 .5\nNi 1.6\nTf 1 1 1\n"), MATERIAL_DIFFUSE);
}

static void test_glass_is_smooth_and_tinted_by_tf(void **state) {
    (void)state;
    const material *glass = &material_of("illum 7\nNi 1.33\nTf .81 .25 1\nNs 10\nd 0.1\n")->record;
    assert_true(glass->ior == 1.33f && glass->roughness == 0 && glass->opacity == 1);
    /* light crosses the surface twice, so the square of the tint is Tf */
    assert_float_equal(glass->transmission.x * glass->transmission.x, 0.81f, 1e-6f);
    assert_float_equal(glass->transmission.y * glass->transmission.y, 0.25f, 1e-6f);
    assert_true(material_of("illum 7\nPr 0.3\n")->record.roughness == 0.3f);
}

static void test_lower_exponents_are_rougher(void **state) {
    (void)state;
    float before = 1;
    for (float ns = 1; ns < 1e6f; ns *= 3) {
        const float roughness = mtl_roughness_of_exponent(ns);
        assert_true(roughness > 0 && roughness < before);
        before = roughness;
    }
    assert_true(mtl_roughness_of_exponent(0) == 1 && mtl_roughness_of_exponent(NAN) == 1);
}

static void test_coat_reflectance_from_ks(void **state) {
    (void)state;
    for (float ks = 0.01f; ks < 0.9f; ks += 0.07f) {
        char text[128];
        snprintf(text, sizeof text, "Kd 1 1 1\nKs %g %g %g\nNs 50\n", (double)ks, (double)ks,
                 (double)ks);
        const float ior = material_of(text)->record.ior;
        assert_float_equal(float_square((ior - 1) / (ior + 1)), ks, 1e-4f);
    }
    const float ior = material_of("Kd 1 1 1\nKs 0.5 0.5 0.5\nNi 1.45\nillum 2\n")->record.ior;
    assert_float_equal(ior, 1.45f, 1e-5f); /* Ni limits the strength of the coat */
}

static void test_opacity_prefers_d_over_tr(void **state) {
    (void)state;
    assert_true(material_of("d 0.25\n")->record.opacity == 0.25f);
    assert_true(material_of("Tr 0.25\n")->record.opacity == 0.75f);
    assert_true(material_of("d 0.25\nTr 0.75\n")->record.opacity == 0.25f);
    assert_true(material_of("d -halo 0.5\n")->record.opacity == 0.5f);
    assert_true(material_of("Ke 2 3 4\n")->record.emission.z == 4);
    assert_true(material_of("Kd 0.5\n")->record.diffuse.z == 0.5f); /* a single number means grey */
    reported_problems problems;
    assert_int_equal(read_text(&problems, "newmtl m\nTr 0.75\nd 0.5\n"), KD_OK);
    assert_string_equal(problems.kinds[0], "d-against-tr");
    assert_int_equal(problems.lines[0], 3);
    assert_true(library.materials[0].record.opacity == 0.5f);
}

static void test_pbr_keys_give_principled_plastic(void **state) {
    (void)state;
    const material *made =
        &material_of("Kd .8 .1 .1\nPr .4\nPm .3\nPs .1\nPc .2\nPcr .1\naniso 0\nanisor 0\n")
             ->record;
    assert_int_equal(made->kind, MATERIAL_PRINCIPLED);
    const principled *layers = &library.materials[0].layers;
    assert_true(layers->coat == 0.2f && layers->coat_roughness == 0.1f && layers->sheen.x == 0.1f);
    assert_int_equal(kind_of("Kd .8 .1 .1\nPr .4\nPm .3\naniso 0\n"), MATERIAL_PLASTIC);
    made = &library.materials[0].record;
    assert_true(made->roughness == 0.4f && made->metallic == 0.3f && made->diffuse.x == 0.8f);
    assert_float_equal(made->ior, 1.5f, 1e-6f);
}

#define BLENDER_5 "# Blender 5.0.1 MTL File: 'x.blend'\nnewmtl m\n"

static const mesh_material *blender_material(const char *first, const char *lines) {
    char text[512];
    reported_problems problems;
    snprintf(text, sizeof text, "%s%s", first, lines);
    assert_int_equal(read_text(&problems, text), KD_OK);
    assert_int_equal(problems.count, 0);
    assert_int_equal(library.materials[0].record.kind, MATERIAL_PRINCIPLED);
    return library.materials;
}

/* Roughness from Ns, as Blender 4.2 and 5.0 write it by measurement, and as older versions do. */
static void test_blender_exponent(void **state) {
    (void)state;
    static const float ns[7] = {1000, 810, 562.5f, 280.9f, 250, 62.5f, 0},
                       rough[7] = {0, 0.1f, 0.25f, 0.47f, 0.5f, 0.75f, 1};
    for (int i = 0; i < 7; ++i) {
        char lines[128];
        snprintf(lines, sizeof lines, "Ns %g\nKd .8 .8 .8\nKs .5 .5 .5\nd 1\n", (double)ns[i]);
        const mesh_material *m = blender_material(BLENDER_5, lines);
        assert_float_equal(m->record.roughness, rough[i], 1e-3f);
        assert_true(m->layers.specular == 1);
        snprintf(lines, sizeof lines, "Ns %.9g\n", (double)float_square(30 * (1 - rough[i])));
        m = blender_material("# Blender v2.93.0 MTL File: ''\nnewmtl m\n", lines);
        assert_float_equal(m->record.roughness, rough[i], 1e-3f);
    }
    assert_true(blender_material(BLENDER_5, "")->record.roughness == 1);
    static const struct {
        const char *first;
        float rough; /* roughness for Ns 250 */
    } versions[] = {{"# Blender 4.2.0 MTL File: 'x.blend'\n# www.blender.org\nnewmtl m\n", 0.5f},
                    {"# Blender 3.6.5 MTL File: 'x.blend'\nnewmtl m\n", 0.4729537f},
                    {"# Blender v2.79 (sub 0) MTL File: ''\nnewmtl m\n", 0.4729537f}};
    for (int i = 0; i < 3; ++i)
        assert_float_equal(blender_material(versions[i].first, "Ns 250\n")->record.roughness,
                           versions[i].rough, 1e-6f);
}

static void test_blender_keys(void **state) {
    (void)state;
    const mesh_material *m =
        blender_material(BLENDER_5, "Ka .25 .25 .25\nKd .9 .6 .1\nKs .5 .5 .5\nNs 250\nillum 3\n");
    assert_true(m->record.metallic == 0.25f && m->record.diffuse.y == 0.6f);
    assert_float_equal(m->record.roughness, 0.5f, 1e-6f);
    assert_true(blender_material(BLENDER_5, "Pc 2\n")->layers.coat == 0.5f);
    m = blender_material(BLENDER_5, "Kd 1 1 1\nKe 2 2 2\nd .5\nillum 9\n");
    assert_true(m->record.opacity == 0.5f && m->record.two_sided && m->record.emission.x == 2);
    m = blender_material(BLENDER_5, "Kd 1 1 1\nNi 1.45\nPr .1\nPm 0\nPs .5\nPc 4\nPcr .2\n"
                                    "aniso .3\nanisor .25\nTf 1 1 1\n");
    assert_true(m->layers.coat == 1 && m->layers.coat_roughness == 0.2f);
    assert_true(m->layers.sheen.z == 0.5f && m->record.roughness == 0.1f);
    assert_true(m->layers.transmission == 1 && m->layers.anisotropy == 0.3f);
    assert_float_equal(m->layers.turn, KD_PI / 2, 1e-6f);
    assert_true(material_of("Ke 1 1 1\n")->record.two_sided == 0); /* other programs: one-sided */
}

/* Blender's default export of glass does not mark it as glass; it is reported once, and flagged in
   the record. */
static void test_likely_glass_is_reported_but_opaque(void **state) {
    (void)state;
    static const char glass[] = "newmtl m\nKd 1 1 1\nKs .5 .5 .5\nNs 1000\nNi 1.45\nd 1\nillum 2\n";
    char text[512];
    reported_problems problems;
    snprintf(text, sizeof text, "# Blender 5.0.1 MTL File: ''\n%snewmtl n\n%s", glass, glass + 9);
    assert_int_equal(read_text(&problems, text), KD_OK);
    assert_int_equal(problems.count, 1);
    assert_string_equal(problems.kinds[0], "perhaps-glass");
    assert_int_equal(problems.lines[0], 2);
    assert_true(library.materials[0].layers.transmission == 0);
    assert_true(library.materials[0].may_be_glass && library.materials[0].record.roughness == 0);
    assert_true(material_of(glass + 9)
                    ->may_be_glass); /* flagged for any program, but reported for Blender only */
    assert_true(!material_of("Kd 1 1 1\nNs 900\nNi 1.45\n")->may_be_glass);
    assert_true(!material_of("Kd 1 1 1\nNs 1000\nNi 1\n")->may_be_glass);
    assert_true(!material_of("Kd 1 1 1\nNs 1000\nNi 1.5\nd .5\n")->may_be_glass);
    assert_true(!material_of("Kd 1 1 1\nNs 1000\nNi 1.5\nPr 0\n")->may_be_glass);
}

static void test_cutouts_are_not_glass(void **state) {
    (void)state;
    const material *made = &material_of("Kd 1 1 1\nNi 1.5\nd .5\nillum 9\n")->record;
    assert_true(made->kind != MATERIAL_GLASS && made->opacity == 0.5f);
    /* as SketchUp writes transparency */
    made = &material_of("Kd 1 1 1\nNi 1\nd .5\nillum 4\n")->record;
    assert_true(made->kind != MATERIAL_GLASS && made->opacity == 0.5f);
    assert_int_equal(kind_of("Kd 1 1 1\nNi 1.5\nd .5\nillum 4\n"), MATERIAL_GLASS);
}

/* Gold and brass from 3ds Max: a coloured highlight over a darker base colour is a metal. */
static void test_coloured_highlights_are_metals(void **state) {
    (void)state;
    const material *gold = &material_of("Kd .25 .2 .07\nKs .63 .56 .37\nNs 51\nillum 2\n")->record;
    assert_int_equal(gold->kind, MATERIAL_CONDUCTOR);
    assert_float_equal(gold->specular.x, 0.88f, 1e-6f);
    assert_float_equal(gold->specular.z, 0.44f, 1e-6f);
    assert_float_equal(gold->roughness, mtl_roughness_of_exponent(51), 1e-6f);
    assert_int_equal(kind_of("Kd .5 .4 .1\nKs .63 .56 .37\nNs 51\n"), MATERIAL_PLASTIC);
    assert_int_equal(kind_of("Kd .2 .2 .2\nKs .6 .6 .6\nNs 51\n"), MATERIAL_PLASTIC);
}

static void test_omitted_features_are_reported_once(void **state) {
    (void)state;
    reported_problems problems;
    assert_int_equal(read_text(&problems,
                               "newmtl m\nmap_Ns a.png\ndisp d.png\nnewmtl n\ndisp d.png\n"
                               "map_Ns a.png\n"),
                     KD_OK);
    assert_int_equal(problems.count, 2);
    assert_string_equal(problems.kinds[0], "left-out");
    assert_int_equal(problems.lines[0], 2);
    assert_int_equal(problems.lines[1], 3);
}

static const char *base(const char *path) {
    return path ? strrchr(path, '/') + 1 : NULL;
}

static void test_map_names_with_spaces_and_options(void **state) {
    (void)state;
    static const char *const names[] = {"my wood.png", "b.png", "n.png", "-x y.png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) file_put_text(names[i], "x");
    const mesh_material *m = material_of("map_Kd -s 2 3 1 -o 0.5 0.25 -clamp on my wood.png  \n"
                                         "map_bump b.png -bm 4\nnorm -bm 1 n.png\n"
                                         "map_Ks .\\my wood.png\nmap_d -x y.png\n"
                                         "map_Ke -blendu on -blendv off -cc on -mm 0 1 -t 0 0 0 "
                                         "-colorspace sRGB .\\b.png\n"
                                         "map_Pr n.png\nmap_Pm \\\n n.png\n");
    assert_string_equal(base(m->diffuse_map), "my wood.png");
    assert_true(m->map_scale[0] == 2 && m->map_scale[1] == 3);
    assert_true(m->map_offset[0] == 0.5f && m->map_offset[1] == 0.25f && m->map_clamp);
    assert_string_equal(base(m->bump_map), "b.png");
    assert_float_equal(m->record.bump_scale, 0.04f, 1e-6f);
    assert_string_equal(base(m->normal_map), "n.png");
    assert_string_equal(base(m->specular_map), "my wood.png");
    assert_string_equal(base(m->opacity_map), "-x y.png");
    assert_string_equal(base(m->emission_map), "b.png");
    assert_string_equal(base(m->roughness_map), "n.png");
    assert_string_equal(base(m->metallic_map), "n.png");
    assert_true(m->record.diffuse.x == 1 && m->record.emission.x == 1);
    assert_int_equal(m->record.diffuse_map, KD_NONE);
    assert_string_equal(base(material_of("map_opacity n.png\n")->opacity_map), "n.png");
    m = material_of("Kd 1 1 1\nPr .1\nmap_Pc b.png\nmap_Ps n.png\n");
    assert_int_equal(m->record.kind, MATERIAL_PRINCIPLED);
    assert_string_equal(base(m->layer_maps[MESH_MAP_COAT - MESH_MAPS_PLAIN]), "b.png");
    assert_true(m->layers.coat == 1 && m->layers.sheen.x == 1);
    /* the texture controls the strength of the coat */
    m = material_of("Kd 1 1 1\nKs .5 .5 .5\nmap_Ks n.png\n");
    assert_true(m->record.kind == MATERIAL_PRINCIPLED && m->layers.specular == 1);
    /* the texture holds the roughness */
    m = blender_material(BLENDER_5, "Kd 1 1 1\nmap_Ns n.png\n");
    assert_string_equal(base(m->roughness_map), "n.png");
    assert_true(m->record.roughness == 1);
}

/* Options that have no effect on their map are named, once per file. */
static void test_map_options_are_used_or_named(void **state) {
    (void)state;
    static const struct {
        const char *statement, *option;
    } ignored[] = {
        {"map_Kd -t 0 1 0", "-t of map_Kd"},   {"map_d -boost 2", "-boost of map_d"},
        {"map_Kd -texres 512", "-texres"},     {"map_Ks -type sphere", "-type"},
        {"map_Kd -imfchan r", "-imfchan"},     {"map_Kd -bm 2", "-bm of map_Kd"},
        {"map_d -cc off", "-cc of map_d"},     {"norm -mm 0 2", "-mm of norm"},
        {"map_Pr -colorspace sRGB", "-color"}, {"map_Kd b.png -boost 3", "-boost of map"}};
    reported_problems problems;
    file_put_text("b.png", "x");
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; ++i) {
        char text[256];
        snprintf(text, sizeof text, "newmtl m\n%s b.png\nnewmtl n\n%s b.png\n",
                 ignored[i].statement, ignored[i].statement);
        if (strstr(ignored[i].statement, "b.png"))
            snprintf(text, sizeof text, "newmtl m\n%s\n", ignored[i].statement);
        assert_int_equal(read_text(&problems, text), KD_OK);
        if (problems.count != 1 || !strstr(problems.messages[0], ignored[i].option))
            fail_msg("%s: %d problems: %s", text, problems.count, problems.messages[0]);
        assert_string_equal(problems.kinds[0], "left-out");
    }
    const mesh_material *m =
        material_of("map_Kd -mm .1 .5 -blendu off b.png\nbump -bm 2 -mm .3 3 b.png\n"
                    "map_d -mm .25 .5 -s 2 2 -clamp on b.png\n"
                    "map_Ke -cc off b.png\n");
    const mesh_map_form *form = &m->forms[MESH_MAP_DIFFUSE];
    assert_true(form->ranged && form->base == 0.1f && form->gain == 0.5f);
    assert_true(form->nearest[0] && !form->nearest[1] && !form->linear && !form->placed);
    form = &m->forms[MESH_MAP_OPACITY];
    assert_true(form->ranged && form->placed && form->scale[1] == 2 && form->wrap[0] != 0);
    assert_true(m->forms[MESH_MAP_EMISSION].linear);
    assert_float_equal(m->record.bump_scale, 0.06f, 1e-6f);
}

static void test_problems_have_line_numbers(void **state) {
    (void)state;
    static const struct {
        const char *line, *kind;
        bool fatal;
    } bad[] = {{"map_Kd absent.png", "missing-texture", false},
               {"map_Kd", "missing-texture", false},
               {"map_Kd -s 1 1", "missing-texture", false},
               {"Kd red", "malformed", true},
               {"Kd", "malformed", true},
               {"Kd 1 2", "malformed", true},
               {"Ns", "malformed", true},
               {"Ns 1x", "malformed", true},
               {"illum 2 3", "malformed", false},
               {"Ns nan", "nan", false},
               {"Kd 1 1 2", "range", false},
               {"Ke -1 0 0", "range", false},
               {"d 2", "range", false},
               {"Tf spectral x.rfl", "unsupported", false},
               {"colour 1", "unknown-keyword", false},
               {"newmtl m", "duplicate-material", false}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char text[256];
        reported_problems problems;
        snprintf(text, sizeof text, "# c\r\nnewmtl m\r\n%s\r\n", bad[i].line);
        const kd_status status = read_text(&problems, text);
        assert_int_equal(problems.count, 1);
        assert_string_equal(problems.kinds[0], bad[i].kind);
        assert_int_equal(problems.lines[0], 3);
        assert_int_equal(status, bad[i].fatal ? KD_ERROR_INPUT : KD_OK);
        if (bad[i].fatal) assert_non_null(strstr(kd_last_error(), "a.mtl:3: found "));
    }
    reported_problems problems;
    assert_int_equal(read_text(&problems, "Kd 1 1 1\n"), KD_OK);
    assert_string_equal(problems.kinds[0], "unknown-keyword");
    assert_int_equal(read_text(&problems, "\xff\xfen\0"), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "UTF-16"));
}

static void test_material_names(void **state) {
    (void)state;
    reported_problems problems;
    assert_int_equal(read_text(&problems, "\xef\xbb\xbfnewmtl  a b #1 \nKd 1 0 0\n\tnewmtl\tc\r"
                                          "Kd 0 1 0\rnewmtl \nKd 0 0 1\nnewmtl c\nKd 1 1 1"),
                     KD_OK);
    assert_int_equal(library.count, 3);
    assert_string_equal(library.materials[0].name, "a b #1");
    assert_string_equal(library.materials[1].name, "c");
    assert_true(library.materials[1].record.diffuse.x == 0); /* of equal names the first is used */
    assert_string_equal(library.materials[2].name, "");
    assert_true(library.materials[2].record.diffuse.z == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_material_kind_depends_on_illum_and_colours),
        cmocka_unit_test(test_glass_is_smooth_and_tinted_by_tf),
        cmocka_unit_test(test_lower_exponents_are_rougher),
        cmocka_unit_test(test_coat_reflectance_from_ks),
        cmocka_unit_test(test_opacity_prefers_d_over_tr),
        cmocka_unit_test(test_pbr_keys_give_principled_plastic),
        cmocka_unit_test(test_blender_exponent),
        cmocka_unit_test(test_blender_keys),
        cmocka_unit_test(test_likely_glass_is_reported_but_opaque),
        cmocka_unit_test(test_cutouts_are_not_glass),
        cmocka_unit_test(test_coloured_highlights_are_metals),
        cmocka_unit_test(test_omitted_features_are_reported_once),
        cmocka_unit_test(test_map_names_with_spaces_and_options),
        cmocka_unit_test(test_map_options_are_used_or_named),
        cmocka_unit_test(test_problems_have_line_numbers),
        cmocka_unit_test(test_material_names),
    };
    const int failed = cmocka_run_group_tests(tests, folder_make, folder_remove);
    mtl_library_close(&library);
    return failed;
}
