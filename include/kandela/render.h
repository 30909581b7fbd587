/* Rendering: loads a scene and renders it to an image. C99.

       #include <kandela/render.h>
       #include <math.h>
       #include <stdio.h>

       // Renders a scene file by path tracing with 16 samples per pixel.
       int render_file(const char *scene_path, const char *image_path) {
           kd_scene *scene = NULL;
           kd_image *image = NULL;
           kd_render_options options;
           kd_render_options_default(&options);
           kd_status status = kd_scene_load(&scene, scene_path, &options);
           if (status == KD_OK) status = kd_render_options_set(&options, "integrator", "path");
           options.spp = 16;
           if (status == KD_OK) status = kd_render(&image, scene, &options, NULL, NULL);
           if (status == KD_OK) status = kd_image_write(image, image_path, NAN, KD_TONEMAP_AGX);
           if (status != KD_OK) fprintf(stderr, "%s\n", kd_last_error());
           kd_image_close(image);
           kd_scene_close(scene);
           return status;
       }

   Units: lengths are in the scene's unit, which its author chooses; "m" in units of light (radiance
   in W/(sr m^2)) is that unit.

   NULL: passing NULL for a required argument returns KD_ERROR_USAGE; functions that do not return a
   status then do nothing or return 0.

   Errors: the message of a failed call is in kd_last_error().

   Threads: only one call at a time may use a scene; kd_render itself uses all cores. Any number of
   threads may read one image.

   Binary compatibility: structs that may grow begin with `struct_size`, the sizeof that the caller
   was compiled with. The inline functions of this header pass it, so a compiled program keeps
   working with later versions of the library. Bindings for other languages call the _sized
   functions. */
#ifndef KANDELA_RENDER_H
#define KANDELA_RENDER_H
#include <kandela/control.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/************************************* Simple: options ***************************************/

/* Tone curve of 8-bit images. */
typedef enum kd_tonemap {
    KD_TONEMAP_LINEAR,
    KD_TONEMAP_REINHARD,
    KD_TONEMAP_ACES,
    KD_TONEMAP_AGX,
    KD_TONEMAP_NEUTRAL /* Khronos PBR Neutral */
} kd_tonemap;

/* Options of a rendering, as on the command line of `kandela render`, whose --help lists the
   defaults. Initialise with kd_render_options_default, which sets struct_size; new fields are only
   added at the end. Few users need the options marked "advanced" or "experimental". "Photon
   mapping" stands for the integrators "photon" and "sppm". */
typedef struct kd_render_options {
    size_t struct_size;
    char integrator[32];   /* "auto": the one that suits the scene; else "path", "photon", ...:
                              `kandela info` lists the names */
    char builder[32];      /* advanced: builder of the triangle tree: "auto", "sweep", ... */
    char device[256];      /* "auto": the first CUDA device if the integrator has CUDA kernels, else
                              the CPU; "cpu"; "cuda:N"; or several: "cuda:0,cuda:1", "cuda:all" */
    int32_t width, height; /* pixels */
    int32_t crop[4];       /* x0, y0, x1, y1 in pixels, half open; x1 == 0: the whole image */
    int32_t spp;           /* samples per pixel */
    int32_t max_depth;     /* maximum number of path vertices: surfaces hit and scattering events */
    uint64_t photons;      /* photon mapping: photons to store in the global map, approximately */
    uint64_t caustic_photons; /* photons to store in the caustic map; 0: as many as `photons` */
    int32_t gather;           /* photons per density estimate (k) */
    float radius;    /* maximum radius of a density estimate, in scene units; 0: derived from the
                        density of the photons */
    char kernel[16]; /* advanced: kernel of the density estimate: "cone", ...; `kandela info` lists
                        them */
    int32_t final_gather; /* rays per final gather; 0: direct visualisation of the photon map */
    uint64_t seed;        /* seed of the random numbers: the same seed gives the same bits */
    int32_t threads;      /* CPU threads; 0: kd_threads() */
    double time_seconds;  /* time limit of kd_render, photons included; it then returns the partial
                             result, at least one sample per pixel. 0: no limit */
    float exposure; /* stops: 8-bit images are scaled by 2^exposure; NAN: chosen so that at most 5 %
                       of the pixels clip */
    kd_tonemap tonemap;       /* of 8-bit images */
    float sah_traversal_cost; /* experimental: SAH cost C_t of traversing an inner node */
    float sah_intersect_cost; /* experimental: SAH cost C_i of a triangle test */
    float sah_empty_factor;   /* experimental: cost factor of a split that cuts off empty space, in
                                 (0, 1] */
    int32_t precompute; /* advanced, final gather: 1: precompute irradiance at the photons where
                           that is less work; 0: estimate it at the end of each gather ray */
    int32_t passes;     /* "sppm": passes, each with its own photon maps and one sample per
                           pixel */
    float alpha;        /* "sppm", "vcm": in (0, 1]: pass i shrinks the squared radius by the factor
                            (i + alpha) / (i + 1) */
    char channel[16];   /* "debug": quantity shown: "normals", "depth", "ids", "density", "radius",
                           "distance" */
    const char *photon_map; /* "photon": photon file, owned by the caller; NULL: emit photons */
    double target_error;    /* stop at this estimated relative error (root of relMSE) of the image,
                               tested at 16, 32, 48, 64, 96, 128, ... samples; `spp` or `passes`
                               remain the limit. Does not include light that no sample has found.
                               0: off */
    int32_t batches;    /* photon mapping, advanced: photons are emitted in this many batches, each
                           a map of its own, which divides the memory; at least 1 */
    char estimator[16]; /* "photon", advanced: photons of an estimate: "nearest" (the `gather`
                           nearest), "fixed" (all within `radius`), "adaptive" (up to `gather`) */
    uint64_t media_photons; /* photons to store in the map of media; 0: as many as `photons` */
    uint64_t device_paths;  /* experimental, on a CUDA device: paths in flight, 475 to 700 bytes
                               each; 0: as many as fit into 1 GB, or an eighth of the
                               device's free memory if that is more */
    char lookup[16]; /* experimental: photon lookup: "leaves" (leaf index), "walk" (stack-free
                        traversal of the left-balanced tree) or "auto"; same image */
    int32_t filter;  /* pixel reconstruction filter: 0: box; 1: Blackman-Harris, radius 1.5 pixels;
                        2: Gaussian, radius 1.5 pixels, sigma 0.5; 3: Mitchell, radius 2 pixels,
                        sample weights +-1.145. Filters are importance-sampled, so pixels are
                        independent. "debug" supports the box only */
    float frame;     /* time, in frames, at which an animated scene is evaluated */
    float shutter; /* exposure time from `frame` on, in frames: moving objects and cameras blur the
                      image; 0: none. If objects move, the scene's files are read again for each
                      of up to 64 times, or more if there are more than 64 samples */
    float clamp;   /* "path", "vcm": limit on what indirect light (scattered more than once) adds to
                      a sample at each surface, W/(sr m^2) in the brightest channel: less noise, but
                      biased (darker). 0: off */
    char maps[16]; /* advanced, photon mapping on several devices or processes: "whole": each holds
                      all photons; "apart": each holds those that it traced, 1/N of the memory;
                      "auto": by memory and bandwidth. Same image */
    char media[16];     /* advanced: contents of the map of media: "points" (photons at scattering
                           events) or "beams" (photon beams) */
    int32_t maps_ahead; /* advanced, "sppm" on a CUDA device: 1: the maps of the next pass
                           are built during this one, in extra memory; 0: when needed. Same image */
    int32_t allow_outside; /* security: 1: scene files may refer to files outside their directory
                              (of the description or the mesh); 0: these are refused, or skipped
                              with a warning, whether or not they exist. Never allowed for glTF */
    uint64_t max_texture_memory; /* security: limit on the memory of all textures of a scene, in
                                    bytes, including what decoding needs; 0: a quarter of the
                                    machine's memory. Loading a scene that needs more returns
                                    KD_ERROR_MEMORY. Scene files cannot set this option */
    int32_t max_specular; /* maximum number of mirror reflections and refractions in smooth glass of
                             a path, minus its other scattering events; 0: no limit but max_depth */
    char background[256]; /* what rays from the camera that meet no surface see: "environment";
                             "transparent": nothing, and A is 0; a colour "#rrggbb", "r,g,b"
                             (linear, 0 to 1), "white", "grey" or "black", two of them from top to
                             bottom, "white:#204060", or a picture file, which is scaled and cut to
                             fill the image: in 8-bit images, transparent in others. The environment
                             lights the scene in any case */
    const char
        *clip; /* animation of glTF files, by name or by number from 0, owned by the caller; it is
                  evaluated when the scene is opened, at the time `frame` / `frame_rate`; "": the
                  first one; NULL: none, meshes are in their rest pose. Scene files cannot set it */
    float frame_rate;    /* frames per second of glTF animations, and of animated images */
    char techniques[32]; /* experimental, "vcm": how light is found: "all", or names of "eye" (paths
                            that hit lights), "lamps" (sampled lights), "splat" (light paths seen by
                            the camera) and "merge" (light paths that merge with eye paths behind
                            mirrors and glass, also in media), in this order, joined by "+" */
    /* The finish of 8-bit images: */
    float bloom;            /* fraction of the light that is spread around each pixel, 0 to 1 */
    float bloom_radius;     /* radius of the widest part, in heights of the image */
    float vignette;         /* darkening of the corners, 0 to 1 */
    float contrast;         /* exponent about middle grey, before the tone curve; 1: none */
    float saturation;       /* 1: unchanged; 0: grey */
    char white_balance[24]; /* the colour shown as white: "none"; a colour temperature, "3200K"; or
                               a colour as for `background` */
    char look[16]; /* light of scenes without lights: "studio" (key, fill and rim, and a ground),
                      "sky" (a clear sky with the sun, and a ground), "plain" (a soft sky) or
                      "auto": "studio" for mesh files by "path" and "direct", or "sky" in
                      interiors; else "plain". Integrators that trace paths from lights show no
                      ground */
    char material[16]; /* material of all surfaces that emit no light: "own" (those of the file, or
                          clay in the looks "studio" and "sky" where it has none), "clay",
                          "plastic", "metal", "gold", "copper", "glass" or "mirror" */
    float regularise;  /* "path": least roughness of surfaces that rough ones reflect, 0 to 1:
                          caustics, also of lights without size, are found more often, but
                          blurred. 0: off */
    char show_techniques[32]; /* experimental, "vcm": the techniques whose weighted shares make up
                                 the image, named as in `techniques`, whose weights they keep; the
                                 shares of all add up to the whole image, but for rounding */
    int32_t lens_samples; /* rays through pixel and lens per sample, 1 to 256, for the light that is
                             seen directly, coverage and the channels of surfaces; the light that
                             surfaces scatter takes one of them. On CPUs, not by "light", "ao" and
                             "debug" */
} kd_render_options;

/* Set all fields to their defaults. */
KD_API void kd_render_options_default_sized(kd_render_options *options, size_t struct_size);
static inline void kd_render_options_default(kd_render_options *options) {
    kd_render_options_default_sized(options, sizeof *options);
}

/************************ Advanced: options by name, for other languages *********************/

/* Type of an option's value. */
typedef enum kd_render_option_kind {
    KD_RENDER_OPTION_INTEGER,
    KD_RENDER_OPTION_NUMBER,
    KD_RENDER_OPTION_NAME, /* one of the names listed in `expected` */
    KD_RENDER_OPTION_FILE
} kd_render_option_kind;
/* Description of an option, as `kandela render --help` shows it. The struct never grows; its
   strings are static. */
typedef struct kd_render_option {
    char name[32]; /* as on the command line, with _ for -: "max_depth" */
    kd_render_option_kind kind;
    int32_t count;       /* number of values: 2 for "resolution" */
    int32_t alias;       /* 1: sets the fields of other options and has none of its own */
    char expected[480];  /* valid values: "a whole number from 1 to 65536" */
    const char *unit;    /* "" if none */
    const char *initial; /* default as text; "" if none */
    const char *help;    /* one-line description */
} kd_render_option;
/* Returns the number of options. */
KD_API int32_t kd_render_option_count(void);
/* Describes an option; returns KD_ERROR_USAGE unless 0 <= index < kd_render_option_count(). */
KD_API kd_status kd_render_option_get_info(kd_render_option *out, int32_t index);

/* Sets an option from text, as on the command line: "max_depth", "32"; "resolution", "640x480". For
   an unknown name or an invalid value returns KD_ERROR_USAGE and changes nothing. A file name is
   not copied: the caller keeps `text` alive as long as `options` is used. */
KD_API kd_status kd_render_options_set(kd_render_options *options, const char *name,
                                       const char *text);
/* Writes the value in the syntax of kd_render_options_set, truncated to `bytes`; 512 suffice for
   everything but file names. */
KD_API kd_status kd_render_options_get(const kd_render_options *options, const char *name,
                                       char *text, size_t bytes);

/************************************* Simple: scenes ****************************************/

/* A scene in memory. It may be rendered any number of times, but by only one call at a time. */
typedef struct kd_scene kd_scene;

/* Loads a scene: a JSON description, a mesh file, or a generated scene ("gen:blob:1000000").
   `options` (or NULL), initialised by kd_render_options_default, receives the options that the
   file sets. On failure *scene is NULL. The caller closes *scene with kd_scene_close. */
KD_API kd_status kd_scene_load(kd_scene **scene, const char *path, kd_render_options *options);
/* Frees the scene; `scene` may be NULL. */
KD_API void kd_scene_close(kd_scene *scene);

/* Advanced: a mesh in host memory, which the caller owns and kd_scene_parse copies. The struct
   never grows. */
typedef struct kd_scene_mesh {
    const char *name; /* the description refers to it by "file": "mesh:NAME" */
    /* x, y, z of each, packed. Floats have steps of 1/16 at 10^6: subtract the centre of a far mesh
       in double precision before rounding, and add it by "translate" in the description. */
    const float *vertices;
    uint64_t vertex_count;
    const uint32_t *indices; /* 3 per triangle; NULL: triangle i has vertices 3i, 3i+1, 3i+2 */
    uint64_t triangle_count;
    const float *normals;   /* x, y, z of each vertex, of any length; NULL: flat shading */
    const float *texcoords; /* u, v of each vertex, v pointing up; NULL: none */
} kd_scene_mesh;

/* Advanced: creates a scene from the `bytes` bytes of a JSON description in memory (keys:
   scenes/DESCRIPTION.md) and from meshes that it refers to. Relative paths are resolved against
   `folder`; NULL: the working directory. `scene` and `options` as for kd_scene_load.
   KD_ERROR_INPUT names the position in the text, or the mesh. */
KD_API kd_status kd_scene_parse(kd_scene **scene, const char *text, uint64_t bytes,
                                const char *folder, const kd_scene_mesh *meshes,
                                uint64_t mesh_count, kd_render_options *options);

/* Advanced: a camera and lights as structs, which never grow. A field marked * that is 0 or NaN has
   the default that the comment names. */
typedef struct kd_scene_camera {
    double eye[3], look_at[3]; /* positions, scene units */
    double up[3];              /* * up direction: (0, 1, 0) */
    double fov;                /* * vertical field of view, degrees: 40 */
    double orthographic;       /* height of an orthographic view, scene units; 0: perspective */
    double lens_radius;        /* scene units; 0: pinhole camera */
    double focus_distance;     /* * along the view axis, scene units: the distance of look_at */
} kd_scene_camera;

typedef enum kd_scene_light_kind {
    KD_LIGHT_POINT = 0,
    KD_LIGHT_SPOT = 1,
    KD_LIGHT_DIRECTIONAL = 2,
    KD_LIGHT_AREA = 3 /* parallelogram */
} kd_scene_light_kind;
typedef struct kd_scene_light {
    kd_scene_light_kind kind;
    int32_t hidden;      /* 1: not seen by the camera, except in mirrors and through glass */
    double position[3];  /* scene units; the corner of an area light */
    double direction[3]; /* direction in which the light of a spot or directional light travels */
    double edges[2][3];  /* edges of an area light, which emits along edges[0] x edges[1] */
    double emission[3];  /* red, green, blue: intensity of point and spot lights (on the axis),
                            W/sr; irradiance by directional lights, W/m^2; radiance of area lights,
                            W/(sr m^2) */
    double radius;       /* of the ball of a point light, or the disc of a spot, scene units; 0: a
                            point */
    double inner, outer; /* * spots: angles from the axis of full and of zero intensity, degrees:
                            20, 30 */
    double angle;        /* diameter of the disc of a directional light, degrees; 0: a point */
} kd_scene_light;

/* A scene in memory. Set struct_size to sizeof and what is not needed to 0. */
typedef struct kd_scene_parts {
    size_t struct_size;
    const char *text; /* description as for kd_scene_parse, without the keys `camera` and `lights`
                         if these are given below; NULL: all meshes, grey */
    uint64_t bytes;
    const char *folder;
    const kd_scene_mesh *meshes;
    uint64_t mesh_count;
    const kd_scene_camera *camera; /* NULL: that of the description, or one that frames the scene */
    const kd_scene_light *lights;
    uint64_t light_count;
} kd_scene_parts;

/* Creates a scene from its parts, which are copied. Otherwise as kd_scene_parse; errors name the
   parts as keys of a description, such as "lights[1].radius". */
KD_API kd_status kd_scene_make(kd_scene **scene, const kd_scene_parts *parts,
                               kd_render_options *options);

/* Size of a scene. The struct never grows. */
typedef struct kd_scene_counts {
    uint64_t triangles, materials, lights;
} kd_scene_counts;
/* Returns the size of a scene; all 0 if `scene` is NULL. */
KD_API kd_scene_counts kd_scene_count(const kd_scene *scene);

/* Sets origin[0..2] to the origin of a scene far from (0, 0, 0): what was subtracted, in double
   precision, from all positions of its files, so that those relative to it keep their precision as
   floats. All 0 for other scenes, and if `scene` is NULL. */
KD_API void kd_scene_origin(const kd_scene *scene, double *origin);

/*************************************** Simple: images **************************************/

/* A rendered image: channels of `width` x `height` floats each, rows from the top. */
typedef struct kd_image kd_image;

/* Renders a scene; `progress` (<kandela/control.h>) may be NULL. If `progress` cancels, the call
   returns KD_INTERRUPTED and *image holds the partial result. On any other failure *image is NULL.
   The caller closes *image with kd_image_close. */
KD_API kd_status kd_render(kd_image **image, const kd_scene *scene,
                           const kd_render_options *options, kd_progress progress, void *context);
/* Reads a picture of any format that the program reads. An .exr file by kd_image_write has all
   channels, equal to the bit, and the number of samples; other files have R, G, B, maybe A, and 0
   samples. `options`: how kd_image_write finishes 8-bit files, as for kd_render; NULL: the
   defaults. On failure *image is NULL. The caller closes *image with kd_image_close. */
KD_API kd_status kd_image_read(kd_image **image, const char *path,
                               const kd_render_options *options);
/* Frees the image; `image` may be NULL. */
KD_API void kd_image_close(kd_image *image);

/* Return the size in pixels. */
KD_API int32_t kd_image_width(const kd_image *image);
KD_API int32_t kd_image_height(const kd_image *image);
/* Returns the smallest number of samples that any pixel has. */
KD_API int32_t kd_image_samples(const kd_image *image);
/* Returns a channel, or NULL if there is none of that name: "R" "G" "B": radiance in W/(sr m^2),
   linear Rec. 709; "A": coverage, 1 without a background; "Z": distance along the view axis,
   infinite where no surface was hit; "N.X" "N.Y" "N.Z": normal; "Albedo.R" "Albedo.G" "Albedo.B".
   The image owns the array. */
KD_API const float *kd_image_channel(const kd_image *image, const char *name);
/* Returns the XXH3 hash of the channels R, G and B: equal images have equal hashes. */
KD_API uint64_t kd_image_hash(const kd_image *image);
/* Writes the image in the format of the suffix; `kandela info` lists the formats. 8-bit formats
   (.png, .jpg) are scaled by 2^exposure (NAN: chosen as for kd_render_options.exposure), finished
   (kd_render_options.bloom to white_balance, as set for the rendering), tone mapped and encoded as
   sRGB; the others are linear. An .exr file of a crop has the place of the crop in the image. */
KD_API kd_status kd_image_write(const kd_image *image, const char *path, float exposure,
                                kd_tonemap tonemap);

#ifdef __cplusplus
}
#endif
#endif
