#include "scenes/describe/describe_keys.h"
#include "scenes/mesh/shapes.h"

#define AT_LEAST_0 .maximum = HUGE_VAL
#define ABOVE_0 .maximum = HUGE_VAL, .open = true
#define UP_TO_1 .maximum = 1
#define COUNTED .minimum = 1, .maximum = 1e9
/* clang-format off */
#define KEY(key, json_type, target, member) .name = key, .kind = json_type, JSON_FIELD(target, member)
#define REMARK {.name = "about", .kind = JSON_REMARK, .help = "comment, ignored"}
/* clang-format on */

const json_key describe_scene_keys[] = {
    {KEY("kandela", JSON_INT, described_scene, version), .minimum = 1, .maximum = 1,
     .help = "version of this format; required"},
    REMARK,
    {KEY("meshes", JSON_LIST, described_scene, meshes), .inner = describe_mesh_keys,
     .help = "the surfaces; required"},
    {KEY("materials", JSON_MAP, described_scene, materials), .inner = describe_material_keys,
     .help = "materials by name, for `meshes`"},
    {KEY("media", JSON_MAP, described_scene, media), .inner = describe_medium_keys,
     .help = "participating media by name, for materials and for `fog`"},
    {KEY("fog", JSON_TEXT, described_scene, fog), .initial = "none",
     .help = "the medium that fills the bounding sphere of the scene"},
    {KEY("camera", JSON_OBJECT, described_scene, camera), .inner = describe_camera_keys,
     .initial = "frames the scene from +z"},
    {KEY("lights", JSON_LIST, described_scene, lights),
     .help = "lights in addition to emitting surfaces"},
    {KEY("environment", JSON_OBJECT, described_scene, environment),
     .inner = describe_environment_keys, .initial = "none; a soft sky if there is no light at all",
     .help = "environment light"},
    {KEY("render", JSON_OBJECT, described_scene, render),
     .help = "options; the command line overrides them"},
    {.name = NULL}};

const json_key describe_mesh_keys[] = {
    REMARK,
    {KEY("file", JSON_TEXT, described_mesh, file),
     .help = "path of a mesh file, gen:NAME:TRIANGLES:SEED, or mesh:NAME for arrays passed by the "
             "calling program"},
    {KEY("quad", JSON_VALUE, described_mesh, quad), .expected = "a list of 4 points",
     .help = "planar, counter-clockwise seen from the front"},
    {KEY("box", JSON_OBJECT, described_mesh, box), .inner = describe_box_keys},
    {KEY("sphere", JSON_OBJECT, described_mesh, sphere), .inner = describe_sphere_keys},
    {KEY("lathe", JSON_OBJECT, described_mesh, lathe), .inner = describe_lathe_keys},
    {KEY("torus", JSON_OBJECT, described_mesh, torus), .inner = describe_torus_keys},
    {KEY("cylinder", JSON_OBJECT, described_mesh, cylinder), .inner = describe_cylinder_keys},
    {KEY("uv", JSON_FLOAT, described_mesh, uv), .count = 2, .initial = "[1, 1]",
     .help = "largest texture coordinates of a quad, lathe, torus or cylinder"},
    {KEY("inward", JSON_BOOL, described_mesh, inward), .initial = "false",
     .help = "flips the front sides"},
    {KEY("transform", JSON_VALUE, described_mesh, transform), .inner = describe_step_keys,
     .expected = "a list of steps", .help = "steps in order of application"},
    {KEY("placements", JSON_VALUE, described_mesh, instances),
     .expected = "a list of lists of steps, or a file's name",
     .help = "transforms of instances, applied after `transform`; a file has 12 numbers per line, "
             "3 rows of 4"},
    {KEY("scatter", JSON_OBJECT, described_mesh, scatter), .inner = describe_scatter_keys,
     .help = "random instances"},
    {KEY("material", JSON_VALUE, described_mesh, material), .inner = describe_material_keys,
     .expected = "the name of a material or an object",
     .help = "replaces all materials of the mesh"},
    {KEY("materials", JSON_MAP, described_mesh, materials), .inner = describe_material_keys,
     .help = "by name of a material in the mesh file: the name of its replacement, or an object "
             "with the keys to change"},
    {KEY("camera_visible", JSON_BOOL, described_mesh, camera_visible), .initial = "true",
     .help = "false: not seen by the camera, except in mirrors and through glass"},
    {KEY("shadow_catcher", JSON_BOOL, described_mesh, shadow_catcher), .initial = "false",
     .help = "the camera sees only the shadows on it, as coverage, before the background"},
    {.name = NULL}};

const json_key describe_box_keys[] = {
    {KEY("lo", JSON_POINT, described_box, lo), .unit = "m", .initial = "[-1, -1, -1]"},
    {KEY("hi", JSON_POINT, described_box, hi), .unit = "m", .initial = "[1, 1, 1]"},
    {KEY("rounding", JSON_DOUBLE, described_box, rounding), AT_LEAST_0, .unit = "m", .initial = "0",
     .help = "radius of rounded edges, at most half the smallest side"},
    {KEY("triangles", JSON_COUNT, described_box, triangles), COUNTED, .initial = "5000",
     .help = "approximate number with `rounding`"},
    {.name = NULL}};

const json_key describe_sphere_keys[] = {
    {KEY("centre", JSON_POINT, described_sphere, centre), .unit = "m", .initial = "[0, 0, 0]"},
    {KEY("radius", JSON_FLOAT, described_sphere, radius), ABOVE_0, .unit = "m", .initial = "1"},
    {KEY("triangles", JSON_COUNT, described_sphere, triangles), COUNTED, .initial = "20000",
     .help = "approximate number"},
    {.name = NULL}};

const json_key describe_lathe_keys[] = {
    {KEY("profile", JSON_VALUE, described_lathe, profile),
     .expected = "a list of [radius, height] and [radius, height, \"sharp\"]",
     .help = "the outline from its first point on, turned about the y axis; required"},
    {KEY("base", JSON_POINT, described_lathe, base), .unit = "m", .initial = "[0, 0, 0]",
     .help = "place of [0, 0] of the profile"},
    {KEY("smooth", JSON_BOOL, described_lathe, smooth), .initial = "false",
     .help = "a Catmull-Rom curve through the points instead of straight lines"},
    {KEY("closed", JSON_BOOL, described_lathe, closed), .initial = "false",
     .help = "the last point joins the first"},
    {KEY("caps", JSON_BOOL, described_lathe, caps), .initial = "false",
     .help = "discs join the ends of the profile to the axis"},
    {KEY("crease_degrees", JSON_FLOAT, described_lathe, crease_degrees), .maximum = 180,
     .unit = "degrees", .initial = "30; 180 if `smooth`",
     .help = "the surface has an edge where the profile turns by more, and at points marked sharp"},
    {KEY("triangles", JSON_COUNT, described_lathe, triangles), COUNTED, .initial = "20000",
     .help = "approximate number"},
    {.name = NULL}};

const json_key describe_profile_keys[] = {
    {KEY("radius", JSON_FLOAT, profile_point, radius), AT_LEAST_0},
    {KEY("height", JSON_FLOAT, profile_point, height)},
    {.name = NULL}};

const json_key describe_torus_keys[] = {
    {KEY("centre", JSON_POINT, described_torus, centre), .unit = "m", .initial = "[0, 0, 0]"},
    {KEY("radius", JSON_FLOAT, described_torus, radius), ABOVE_0, .unit = "m", .initial = "1",
     .help = "from the centre to the middle of the tube"},
    {KEY("tube_radius", JSON_FLOAT, described_torus, tube_radius), ABOVE_0, .unit = "m",
     .initial = "0.25", .help = "less than `radius`"},
    {KEY("triangles", JSON_COUNT, described_torus, triangles), COUNTED, .initial = "20000",
     .help = "approximate number"},
    {.name = NULL}};

const json_key describe_cylinder_keys[] = {
    {KEY("base", JSON_POINT, described_cylinder, base), .unit = "m", .initial = "[0, 0, 0]",
     .help = "centre of the bottom"},
    {KEY("radius", JSON_FLOAT, described_cylinder, radius), AT_LEAST_0, .unit = "m",
     .initial = "1"},
    {KEY("top_radius", JSON_FLOAT, described_cylinder, top_radius), AT_LEAST_0, .unit = "m",
     .initial = "`radius`", .help = "0: a cone"},
    {KEY("height", JSON_FLOAT, described_cylinder, height), ABOVE_0, .unit = "m", .initial = "1"},
    {KEY("caps", JSON_BOOL, described_cylinder, caps), .initial = "true",
     .help = "discs close the bottom and the top"},
    {KEY("triangles", JSON_COUNT, described_cylinder, triangles), COUNTED, .initial = "2000",
     .help = "approximate number"},
    {.name = NULL}};

#define STEP_KEYS                                                                                  \
    {KEY("translate", JSON_POINT, described_step, translate), .unit = "m"},                        \
        {KEY("rotate", JSON_VECTOR, described_step, rotate),                                       \
         .help = "axis; counter-clockwise when it points to the viewer"},                          \
        {KEY("degrees", JSON_FLOAT, described_step, degrees), .unit = "degrees",                   \
         .help = "angle of `rotate`"},                                                             \
        {KEY("scale", JSON_COLOUR, described_step, scale), .expected = "a number or [x, y, z]",    \
         .help = "not 0; negative factors mirror"},                                                \
    {                                                                                              \
        KEY("matrix", JSON_DOUBLE, described_step, matrix),                                        \
            .count = 12, .help = "3 rows of 4; the last column is the translation"                 \
    }

const json_key describe_step_keys[] = {
    STEP_KEYS,
    {KEY("keys", JSON_LIST, described_step, keys), .inner = describe_step_key_keys,
     .help = "instead: keyframes of one kind of step, interpolated smoothly"},
    {.name = NULL}};

const json_key describe_step_key_keys[] = {
    {KEY("frame", JSON_DOUBLE, described_step, frame), .help = "required; increasing"},
    STEP_KEYS,
    {.name = NULL}};

const json_key describe_scatter_keys[] = {
    {KEY("count", JSON_COUNT, described_scatter, count), .minimum = 0, .maximum = 1e9,
     .help = "number of instances; required"},
    {KEY("seed", JSON_COUNT, described_scatter, seed), .maximum = 1e15, .initial = "0"},
    {KEY("lo", JSON_POINT, described_scatter, lo), .unit = "m", .initial = "[-1, 0, -1]",
     .help = "minimum of the box of positions"},
    {KEY("hi", JSON_POINT, described_scatter, hi), .unit = "m", .initial = "[1, 0, 1]"},
    {KEY("scale", JSON_FLOAT, described_scatter, scale), .count = 2, ABOVE_0, .initial = "[1, 1]",
     .help = "range of random factors"},
    {KEY("turned", JSON_BOOL, described_scatter, turned), .initial = "true",
     .help = "rotate by random angles about y"},
    {.name = NULL}};

const json_key describe_material_keys[] = {
    REMARK,
    {KEY("kind", JSON_CHOICE, described_material, kind),
     .choices = "diffuse|mirror|glass|conductor|plastic|principled", .initial = "diffuse"},
    {KEY("diffuse", JSON_COLOUR, described_material, diffuse), UP_TO_1, .initial = "0.7",
     .help = "albedo"},
    {KEY("specular", JSON_COLOUR, described_material, specular), UP_TO_1,
     .initial = "1 for mirror and conductor", .help = "reflectance along the normal"},
    {KEY("transmission", JSON_COLOUR, described_material, transmission), UP_TO_1, .initial = "1",
     .help = "colour factor at each refraction by glass"},
    {KEY("emission", JSON_COLOUR, described_material, emission), AT_LEAST_0, .unit = "W/(sr m^2)",
     .initial = "0", .help = "radiance emitted from the front"},
    {KEY("emission_nits", JSON_COLOUR, described_material, emission_nits), AT_LEAST_0,
     .unit = "cd/m^2", .help = "the same as luminance, instead of `emission`"},
    {KEY("two_sided", JSON_BOOL, described_material, two_sided), .initial = "false",
     .help = "emit from the back, too"},
    {KEY("roughness", JSON_FLOAT, described_material, roughness), UP_TO_1, .initial = "0",
     .help = "square root of GGX alpha"},
    {KEY("energy", JSON_CHOICE, described_material, energy), .choices = "full|single",
     .initial = "full", .help = "`single`: no multiple scattering between microfacets"},
    {KEY("metallic", JSON_FLOAT, described_material, metallic), UP_TO_1, .initial = "0",
     .help = "plastic and principled: weight of metal"},
    {KEY("ior", JSON_FLOAT, described_material, ior), .minimum = 0.1, .maximum = 10,
     .initial = "1.5", .help = "index of refraction, inside relative to outside"},
    {KEY("cauchy", JSON_FLOAT, described_material, cauchy), .count = 3,
     .help = "instead of `ior`, for glass: A, B, C of n = A + B/w^2 + C/w^4, w in micrometres"},
    {KEY("sellmeier", JSON_FLOAT, described_material, sellmeier), .count = 6,
     .help = "the same: B1, B2, B3, C1, C2, C3 of n^2 = 1 + sum of B w^2/(w^2 - C)"},
    {KEY("medium", JSON_TEXT, described_material, medium), .initial = "none",
     .help = "medium behind the surface; for closed meshes"},
    {KEY("medium_outside", JSON_TEXT, described_material, medium_outside), .initial = "`fog`",
     .help = "medium in front of the surface"},
    {KEY("priority", JSON_INT, described_material, priority), .maximum = 255, .initial = "0",
     .help = "of closed meshes that overlap: the medium of the highest one fills the overlap"},
    {KEY("opacity", JSON_FLOAT, described_material, opacity), UP_TO_1, .initial = "1",
     .help = "0: invisible surface, for example around a medium"},
    {KEY("diffuse_map", JSON_TEXT, described_material, maps[0]), .help = "an image, sRGB"},
    {KEY("specular_map", JSON_TEXT, described_material, maps[1]), .help = "an image, sRGB"},
    {KEY("emission_map", JSON_TEXT, described_material, maps[2]),
     .help = "an image, sRGB, HDR or EXR"},
    {KEY("opacity_map", JSON_TEXT, described_material, maps[3]),
     .help = "an image: its alpha or first channel"},
    {KEY("roughness_map", JSON_TEXT, described_material, maps[4]), .help = "an image, linear"},
    {KEY("metallic_map", JSON_TEXT, described_material, maps[5]), .help = "an image, linear"},
    {KEY("normal_map", JSON_TEXT, described_material, maps[6]),
     .help = "an image, linear, in tangent space"},
    {KEY("bump_map", JSON_TEXT, described_material, maps[7]), .help = "an image, linear, heights"},
    {KEY("metal", JSON_CHOICE, described_material, metal), .choices = METAL_NAMES,
     .help = "colour of a `conductor`; without `kind`: a metallic `principled` material of this "
             "colour"},
    {KEY("specular_weight", JSON_FLOAT, described_material, layers.specular), .maximum = 10,
     .initial = "1", .help = "principled: factor of the normal reflectance by `ior`"},
    {KEY("specular_tint", JSON_COLOUR, described_material, layers.specular_tint), UP_TO_1,
     .initial = "1",
     .help = "colour of that reflectance; of metals: their reflectance at 82 degrees"},
    {KEY("anisotropy", JSON_FLOAT, described_material, layers.anisotropy), UP_TO_1, .initial = "0",
     .help = "principled: elongated highlights; 0: isotropic"},
    {KEY("anisotropy_degrees", JSON_FLOAT, described_material, turn_degrees), .minimum = -360,
     .maximum = 360, .unit = "degrees", .initial = "0", .help = "angle from u to the tangent"},
    {KEY("sheen", JSON_COLOUR, described_material, layers.sheen), UP_TO_1, .initial = "0",
     .help = "principled: colour of the sheen layer"},
    {KEY("sheen_roughness", JSON_FLOAT, described_material, layers.sheen_roughness), UP_TO_1,
     .initial = "0.5"},
    {KEY("coat", JSON_FLOAT, described_material, layers.coat), UP_TO_1, .initial = "0",
     .help = "principled: weight of the clear coat"},
    {KEY("coat_roughness", JSON_FLOAT, described_material, layers.coat_roughness), UP_TO_1,
     .initial = "0"},
    {KEY("coat_ior", JSON_FLOAT, described_material, layers.coat_ior), .minimum = 1, .maximum = 3,
     .initial = "1.5"},
    {KEY("transmission_weight", JSON_FLOAT, described_material, layers.transmission), UP_TO_1,
     .initial = "0",
     .help = "principled: weight of glass in the dielectric part, tinted by the square root of "
             "`diffuse`"},
    {KEY("thin", JSON_BOOL, described_material, thin), .initial = "false",
     .help = "principled: thin sheet without refraction, tinted by `diffuse`"},
    {KEY("normal_scale", JSON_FLOAT, described_material, layers.normal_scale), .minimum = -100,
     .maximum = 100, .initial = "1", .help = "principled: factor of the slopes of `normal_map`"},
    {KEY("unlit", JSON_BOOL, described_material, unlit), .initial = "false",
     .help = "`emission` is visible to the camera but does not illuminate"},
    {KEY("specular_tint_map", JSON_TEXT, described_material, maps[MESH_MAP_SPECULAR_TINT]),
     .help = "an image, sRGB; this and the following maps: principled"},
    {KEY("anisotropy_map", JSON_TEXT, described_material, maps[MESH_MAP_ANISOTROPY]),
     .help = "an image, linear: direction in red and green, factor in blue"},
    {KEY("sheen_map", JSON_TEXT, described_material, maps[MESH_MAP_SHEEN]),
     .help = "an image, sRGB"},
    {KEY("sheen_roughness_map", JSON_TEXT, described_material, maps[MESH_MAP_SHEEN_ROUGHNESS]),
     .help = "an image, linear"},
    {KEY("coat_map", JSON_TEXT, described_material, maps[MESH_MAP_COAT]),
     .help = "an image, linear"},
    {KEY("coat_roughness_map", JSON_TEXT, described_material, maps[MESH_MAP_COAT_ROUGHNESS]),
     .help = "an image, linear"},
    {KEY("coat_normal_map", JSON_TEXT, described_material, maps[MESH_MAP_COAT_NORMAL]),
     .help = "an image, linear, of the coat only; without it the coat ignores `normal_map`"},
    {KEY("transmission_map", JSON_TEXT, described_material, maps[MESH_MAP_TRANSMISSION]),
     .help = "an image, linear"},
    {KEY("bump_scale", JSON_FLOAT, described_material, bump_scale), .initial = "1",
     .help = "height of white, relative to the texture's period"},
    {KEY("map_scale", JSON_FLOAT, described_material, map_scale), .count = 2, .initial = "[1, 1]",
     .help = "factor of texture coordinates, for all maps"},
    {KEY("map_offset", JSON_FLOAT, described_material, map_offset), .count = 2, .initial = "[0, 0]",
     .help = "added to texture coordinates afterwards"},
    {KEY("map_clamp", JSON_BOOL, described_material, map_clamp), .initial = "false",
     .help = "clamp images at the edge instead of repeating"},
    {.name = NULL}};

const json_key describe_medium_keys[] = {
    REMARK,
    {KEY("absorption", JSON_COLOUR, described_medium, absorption), AT_LEAST_0, .unit = "1/m",
     .initial = "0", .help = "absorption coefficient"},
    {KEY("scattering", JSON_COLOUR, described_medium, scattering), AT_LEAST_0, .unit = "1/m",
     .initial = "0", .help = "scattering coefficient"},
    {KEY("g", JSON_FLOAT, described_medium, g), .minimum = -0.99, .maximum = 0.99, .initial = "0",
     .help = "mean cosine of the phase function (Henyey and Greenstein)"},
    {.name = NULL}};

#define CAMERA_KEYS                                                                                \
    {KEY("eye", JSON_POINT, described_camera, eye), .unit = "m",                                   \
     .initial = "position that shows the whole scene"},                                            \
        {KEY("look_at", JSON_POINT, described_camera, look_at), .unit = "m",                       \
         .initial = "the centre of the scene's box"},                                              \
        {KEY("up", JSON_VECTOR, described_camera, up), .initial = "[0, 1, 0]"},                    \
        {KEY("fov", JSON_FLOAT, described_camera, fov),                                            \
         .maximum = 180,                                                                           \
         .open = true,                                                                             \
         .unit = "degrees",                                                                        \
         .initial = "40",                                                                          \
         .help = "vertical field of view"},                                                        \
        {KEY("orthographic", JSON_FLOAT, described_camera, tall), AT_LEAST_0, .unit = "m",         \
         .initial = "0",                                                                           \
         .help = "height of the view of an orthographic camera; 0: perspective, by `fov`"},        \
        {KEY("lens_radius", JSON_FLOAT, described_camera, lens_radius), AT_LEAST_0, .unit = "m",   \
         .initial = "0", .help = "0: pinhole camera, no depth of field"},                          \
    {                                                                                              \
        KEY("focus_distance", JSON_FLOAT, described_camera, focus_distance), AT_LEAST_0,           \
            .unit = "m", .initial = "0", .help = "along the view axis; 0: distance of `look_at`"   \
    }

const json_key describe_camera_keys[] = {CAMERA_KEYS,
                                         {KEY("keys", JSON_LIST, described_camera, keys),
                                          .inner = describe_camera_key_keys,
                                          .help = "keyframes, interpolated smoothly"},
                                         {.name = NULL}};

const json_key describe_camera_key_keys[] = {
    {KEY("frame", JSON_DOUBLE, described_camera, frame), .help = "required; increasing"},
    CAMERA_KEYS,
    {.name = NULL}};

#define LIGHT_KIND                                                                                 \
    REMARK, {                                                                                      \
        KEY("kind", JSON_CHOICE, described_light, kind), .choices = "point|spot|directional|area", \
                                                         .help = "required"                        \
    }
#define LIGHT_POWER                                                                                \
    {                                                                                              \
        KEY("power", JSON_COLOUR, described_light, power), AT_LEAST_0,                             \
            .unit = "W", .help = "total power, instead of intensity or radiance"                   \
    }
#define LIGHT_LUMENS                                                                               \
    {                                                                                              \
        KEY("power_lumens", JSON_COLOUR, described_light, lumens), AT_LEAST_0,                     \
            .unit = "lm", .help = "the same as luminous flux"                                      \
    }
#define LIGHT_CANDELAS                                                                             \
    {                                                                                              \
        KEY("intensity_candelas", JSON_COLOUR, described_light, candelas), AT_LEAST_0,             \
            .unit = "cd", .help = "the same as luminous intensity"                                 \
    }
#define LIGHT_POSITION                                                                             \
    { KEY("position", JSON_POINT, described_light, position), .unit = "m", .initial = "[0, 0, 0]" }
#define LIGHT_RADIUS(what)                                                                         \
    {                                                                                              \
        KEY("radius", JSON_FLOAT, described_light, radius), AT_LEAST_0,                            \
            .unit = "m", .initial = "0", .help = what ", seen and with soft shadows; 0: a point"   \
    }
#define LIGHT_SEEN                                                                                 \
    {                                                                                              \
        KEY("camera_visible", JSON_BOOL, described_light, camera_visible),                         \
            .initial = "true",                                                                     \
            .help = "false: not seen by the camera, except in mirrors and through glass"           \
    }
#define LIGHT_DIRECTION                                                                            \
    {                                                                                              \
        KEY("direction", JSON_VECTOR, described_light, direction),                                 \
            .initial = "[0, -1, 0]", .help = "direction in which light travels"                    \
    }

static const json_key point_keys[] = {
    LIGHT_KIND,
    LIGHT_POSITION,
    {KEY("intensity", JSON_COLOUR, described_light, intensity), AT_LEAST_0, .unit = "W/sr"},
    LIGHT_CANDELAS,
    LIGHT_POWER,
    LIGHT_LUMENS,
    LIGHT_RADIUS("a ball"),
    LIGHT_SEEN,
    {.name = NULL}};

static const json_key spot_keys[] = {
    LIGHT_KIND,
    LIGHT_POSITION,
    LIGHT_DIRECTION,
    {KEY("look_at", JSON_POINT, described_light, look_at), .unit = "m",
     .help = "instead of `direction`"},
    {KEY("intensity", JSON_COLOUR, described_light, intensity), AT_LEAST_0, .unit = "W/sr",
     .help = "on the axis"},
    LIGHT_CANDELAS,
    LIGHT_POWER,
    LIGHT_LUMENS,
    {KEY("inner_degrees", JSON_FLOAT, described_light, inner_degrees), .maximum = 180,
     .unit = "degrees", .initial = "20", .help = "angle from the axis of full intensity"},
    {KEY("outer_degrees", JSON_FLOAT, described_light, outer_degrees), .maximum = 180,
     .unit = "degrees", .initial = "30",
     .help = "angle from the axis of zero intensity; at most 85 with a `radius`"},
    LIGHT_RADIUS("a disc"),
    LIGHT_SEEN,
    {.name = NULL}};

static const json_key directional_keys[] = {
    LIGHT_KIND,
    LIGHT_DIRECTION,
    {KEY("irradiance", JSON_COLOUR, described_light, irradiance), AT_LEAST_0, .unit = "W/m^2",
     .initial = "1", .help = "on a surface perpendicular to the direction"},
    {KEY("illuminance_lux", JSON_COLOUR, described_light, lux), AT_LEAST_0, .unit = "lx",
     .help = "the same as illuminance, instead of `irradiance`"},
    {KEY("angle_degrees", JSON_FLOAT, described_light, angle_degrees), .maximum = 90,
     .unit = "degrees", .initial = "0",
     .help = "diameter of the disc in the sky, seen and with soft shadows (sun: 0.53); 0: a point"},
    LIGHT_SEEN,
    {.name = NULL}};

static const json_key area_keys[] = {
    LIGHT_KIND,
    {KEY("corner", JSON_POINT, described_light, corner), .unit = "m", .initial = "[0, 0, 0]"},
    {KEY("edge_u", JSON_VECTOR, described_light, edge_u), .unit = "m", .initial = "[1, 0, 0]"},
    {KEY("edge_v", JSON_VECTOR, described_light, edge_v), .unit = "m", .initial = "[0, 0, 1]",
     .help = "emits along edge_u x edge_v"},
    {KEY("radiance", JSON_COLOUR, described_light, radiance), AT_LEAST_0, .unit = "W/(sr m^2)"},
    {KEY("luminance_nits", JSON_COLOUR, described_light, nits), AT_LEAST_0, .unit = "cd/m^2",
     .help = "the same as luminance"},
    LIGHT_POWER,
    LIGHT_LUMENS,
    {KEY("two_sided", JSON_BOOL, described_light, two_sided), .initial = "false"},
    {KEY("spread_degrees", JSON_FLOAT, described_light, spread_degrees), .minimum = 1,
     .maximum = 180, .unit = "degrees", .initial = "180",
     .help = "full angle of the cone of light about the normal, as of a soft box with a grid; "
             "`radiance`: along the normal"},
    LIGHT_SEEN,
    {.name = NULL}};

const json_key *const describe_light_keys[4] = {point_keys, spot_keys, directional_keys, area_keys};

const json_key describe_environment_keys[] = {
    REMARK,
    {KEY("radiance", JSON_COLOUR, described_environment, radiance), AT_LEAST_0,
     .unit = "W/(sr m^2)", .initial = "1", .help = "factor of the image"},
    {KEY("luminance_nits", JSON_COLOUR, described_environment, nits), AT_LEAST_0, .unit = "cd/m^2",
     .help = "the same as luminance, instead of `radiance`; not with `sky`"},
    {KEY("image", JSON_TEXT, described_environment, image),
     .help = "latitude-longitude, .exr, .hdr or 8 bit; its top is +y, its centre -z"},
    {KEY("rotation_degrees", JSON_FLOAT, described_environment, rotation_degrees),
     .unit = "degrees", .initial = "0", .help = "about +y, counter-clockwise seen from above"},
    {KEY("projection", JSON_CHOICE, described_environment, projection),
     .choices = "latlong|equal_area", .initial = "\"latlong\"",
     .help = "of the image; `equal_area`: a square with +y in the centre, -y in the corners, +x on "
             "the right, -z at the bottom"},
    {KEY("sky", JSON_OBJECT, described_environment, sky), .inner = describe_sky_keys,
     .help = "a clear sky instead of an image"},
    {.name = NULL}};

const json_key describe_sky_keys[] = {
    {KEY("sun", JSON_VECTOR, described_sky, sun), .initial = "[0.5, 0.5, 0.5]",
     .help = "direction to the sun, above the horizon"},
    {KEY("turbidity", JSON_FLOAT, described_sky, turbidity), .minimum = 1.7, .maximum = 10,
     .initial = "3", .help = "2: very clear, 3: clear, 6: hazy"},
    {KEY("disc", JSON_BOOL, described_sky, disc), .initial = "true", .help = "include the sun"},
    {KEY("ground", JSON_COLOUR, described_sky, ground), UP_TO_1, .initial = "0.2",
     .help = "albedo of the ground"},
    {KEY("model", JSON_CHOICE, described_sky, model), .choices = "preetham|atmosphere",
     .initial = "\"preetham\"",
     .help = "`atmosphere`: light scattered by air and aerosols; true colours at a low sun"},
    {.name = NULL}};

/* Source: published complex indices of refraction n + ik (aluminium, chromium, copper, gold,
     iridium, rhodium, silver, tungsten: the luxpop.com and SOPRA tables that Mitsuba 3 ships;
     iron, titanium: Johnson and Christy 1974, Phys. Rev. B 9, 5056; platinum: Rakic et al. 1998,
     Appl. Opt. 37, 5271, Brendel-Bormann; both as tabulated by refractiveindex.info), converted by
     Fresnel's equations for unpolarised light and weighted by CIE 1931 and D65 from 380 to 780 nm.
     Red values above 1 are clamped. */

metal_colours metal_of(int32_t name) {
    static const metal_colours metals[] = {
        {{0.9132f, 0.9215f, 0.9245f}, {0.8797f, 0.9082f, 0.9342f}}, /* aluminium */
        {{0.6347f, 0.6622f, 0.7046f}, {0.7161f, 0.7474f, 0.8280f}}, /* chromium */
        {{0.9554f, 0.6376f, 0.5382f}, {0.9864f, 0.9523f, 0.9526f}}, /* copper */
        {{1.0000f, 0.7824f, 0.3434f}, {0.9855f, 0.9992f, 0.9728f}}, /* gold */
        {{0.5297f, 0.5132f, 0.4942f}, {0.7649f, 0.7673f, 0.8016f}}, /* iron */
        {{0.7008f, 0.6931f, 0.6565f}, {0.7753f, 0.8030f, 0.8415f}}, /* iridium */
        {{0.6789f, 0.6395f, 0.5836f}, {0.7920f, 0.8190f, 0.8540f}}, /* platinum */
        {{0.7970f, 0.7646f, 0.7425f}, {0.8079f, 0.8182f, 0.8367f}}, /* rhodium */
        {{0.9715f, 0.9599f, 0.9153f}, {0.9853f, 0.9890f, 0.9999f}}, /* silver */
        {{0.6186f, 0.5793f, 0.5426f}, {0.7686f, 0.7905f, 0.8206f}}, /* titanium */
        {{0.5153f, 0.4959f, 0.4676f}, {0.7190f, 0.7300f, 0.7451f}}, /* tungsten */
    };
    return metals[name];
}
