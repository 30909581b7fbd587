/* Rendering from C: options as the command line, the scene file and a caller fill them. NULL where
   something is needed is KD_ERROR_USAGE; calls without a status then do nothing or answer 0.
   Structs that grow begin with struct_size, the caller's sizeof, which the inline functions of this
   header set: a program keeps working with later libraries. Other languages call the _sized ones.
 */
#ifndef KANDELA_RENDER_H
#define KANDELA_RENDER_H
#include <kandela/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kd_tonemap {
    KD_TONEMAP_LINEAR,
    KD_TONEMAP_REINHARD,
    KD_TONEMAP_ACES,
    KD_TONEMAP_AGX,
    KD_TONEMAP_NEUTRAL /* Khronos PBR Neutral */
} kd_tonemap;

/* Filled by kd_render_options_default, which sets struct_size; fields are only ever added at the
 * end. */
typedef struct kd_render_options {
    size_t struct_size;
    char integrator[32];      /* a name that kandela info lists: "path", "photon", ... */
    char builder[32];         /* triangle tree builder: "auto", "sweep", "median", ... */
    char device[256];         /* "auto", "cpu", "cuda:N" */
    int32_t width, height;    /* pixels */
    int32_t crop[4];          /* x0, y0, x1, y1 in pixels, half open; x1 == 0: the whole image */
    int32_t spp;              /* samples per pixel */
    int32_t max_depth;        /* surfaces a path may meet */
    uint64_t photons;         /* number stored in the global map to aim for */
    uint64_t caustic_photons; /* the same for the caustic map; 0: as many as `photons` */
    int32_t gather;           /* k: photons of one density estimate */
    float radius;             /* largest gather radius, scene units; 0: from the photons' density */
    char kernel[16];          /* "cone", ...: kandela info lists them */
    int32_t final_gather;     /* rays of the final gather; 0: the map is seen directly */
    uint64_t seed;
    int32_t threads;     /* 0: all cores */
    double time_seconds; /* for all of kd_render, photons included: ends with what there is, a
                            sample of every pixel at least; 0: no limit */
    float exposure; /* stops: colours are scaled by 2^exposure in 8-bit files; NAN: chosen by the
                       picture, few of whose pixels may clip */
    kd_tonemap tonemap;       /* 8-bit files only */
    float sah_traversal_cost; /* C_t */
    float sah_intersect_cost; /* C_i */
    float sah_empty_factor;   /* (0, 1]: cost factor of a split that cuts off empty space */
    int32_t precompute; /* final gather: 1: irradiance is computed once per photon where that is
                           less work; 0: at the end of every gather ray */
    int32_t passes; /* "ppm", "sppm": each with photons of its own and a sample of every pixel */
    float alpha;    /* of those, in (0, 1]: how slowly the gather radius shrinks */
    char
        channel[16]; /* "debug" shows: "normals", "depth", "ids", "density", "radius", "distance" */
    const char *photon_map; /* "photon": file of photons to use, the caller's; NULL: emitted */
    double target_error; /* stop sampling where the picture's estimated relative error (the root of
                            its relMSE) is at most this; 0: `spp` or `passes` alone say */
    int32_t batches;    /* "photon", "ppm", "sppm": photons are made in so many parts, one after the
                           other, each a map of its own, to need less memory; at least 1 */
    char estimator[16]; /* "photon": "nearest" (k), "fixed" (radius), "adaptive" (up to k) */
    uint64_t media_photons; /* stored in the map of media; 0: as many as `photons` */
    uint64_t device_paths;  /* "path", "direct" on a CUDA device: paths that are followed at a time,
                               about 460 bytes each; 0: as many as pay, 2^23 */
    char lookup[16];        /* how photons near a place are found: "auto", "leaves", an index of the
                               tree's leaves, or "walk", the stack-free walk of the left-balanced
                               tree; the picture is the same */
    int32_t filter; /* 0: box; 1: Blackman-Harris, 1.5 pixels; 2: Gaussian, 1.5 pixels, sigma 0.5;
                       3: Mitchell, 2 pixels, whose samples count +-1.145;
                       samples are drawn from it, so that pixels stay independent. Not of "light"
                       and "debug", which are box */
    float frame;    /* the time, in frames, at which what has keys is seen */
    float shutter;  /* frames for which it stays open from there on: the camera moves on its keys
                       meanwhile; 0: it stands still. Not of "light" and "debug" */
    float clamp;    /* "path": indirect light, scattered more than once, adds at most this to a
                       sample at each surface, W/(sr m^2) in the brightest channel; 0: all of it.
                       Less noise, and less light */
    char maps[16];  /* "photon", "ppm", "sppm" on several devices or ranks: "whole", each has all
                       photons; "apart", each keeps those that it has traced, which takes 1/N of
                       the memory, on CPUs; "auto", whole. The picture is the same */
    char media[16]; /* what the map of media keeps: "points", where photons are scattered, or
                       "beams", their whole flights, seen where a ray crosses them */
    int32_t maps_ahead; /* "ppm", "sppm" on a CUDA device: 1: the next pass's maps are made beside
                           the samples of this one, with memory for both; 0: when they are due. The
                           picture is the same */
    int32_t allow_outside; /* 1: the scene's files may name files outside of the folder of the scene
                              (a description's or a mesh's own); 0: these are refused, or left
                              out with a warning, whether they are there or not. glTF never may */
    uint64_t max_texture_memory; /* bytes that the images of a scene may take together, with what
                                    reading them takes; 0: a quarter of the machine's memory. More
                                    is KD_ERROR_MEMORY when the scene is loaded. Scene files do not
                                    set it */
} kd_render_options;

KD_API void kd_render_options_default_sized(kd_render_options *options, size_t struct_size);
static inline void kd_render_options_default(kd_render_options *options) {
    kd_render_options_default_sized(options, sizeof *options);
}

/* An option as `kandela render --help` shows it. Never grows; texts live as long as the program. */
typedef enum kd_render_option_kind {
    KD_RENDER_OPTION_INTEGER,
    KD_RENDER_OPTION_NUMBER,
    KD_RENDER_OPTION_NAME, /* one of a list, which `expected` says */
    KD_RENDER_OPTION_FILE
} kd_render_option_kind;
typedef struct kd_render_option {
    char name[32]; /* with _ where the command line has -: "max_depth" */
    kd_render_option_kind kind;
    int32_t count;       /* values side by side: 2 of "resolution" */
    int32_t alias;       /* 1: sets other options' fields and has none of its own */
    char expected[480];  /* "a whole number from 1 to 65536", "auto, leaves or walk" */
    const char *unit;    /* "" for none */
    const char *initial; /* the default as text; "" for none */
    const char *help;
} kd_render_option;
KD_API int32_t kd_render_option_count(void);
/* KD_ERROR_USAGE unless 0 <= index < kd_render_option_count(). */
KD_API kd_status kd_render_option_get_info(kd_render_option *out, int32_t index);

/* One option by its name and text, as the command line takes them: "max_depth", "32";
   "resolution", "640x480". KD_ERROR_USAGE, and nothing is changed, if there is no such option or
   the text does not suit it. A file's name is not copied: it stays the caller's. */
KD_API kd_status kd_render_options_set(kd_render_options *options, const char *name,
                                       const char *text);
/* The value as kd_render_options_set takes it, cut after `bytes`; 512 are enough for all but files.
 */
KD_API kd_status kd_render_options_get(const kd_render_options *options, const char *name,
                                       char *text, size_t bytes);

/* A scene in memory. Any number of renderings, one at a time, may use it. */
typedef struct kd_scene kd_scene;

/* Loads a JSON scene, a mesh file, or a generator's scene ("gen:blob:1000000"). `options`, filled
   by kd_render_options_default before, takes what the file says; NULL: not wanted.
   *scene is the caller's, closed by kd_scene_close; NULL on failure. */
KD_API kd_status kd_scene_load(kd_scene **scene, const char *path, kd_render_options *options);
KD_API void kd_scene_close(kd_scene *scene); /* takes NULL */

/* A mesh in host memory, read while a scene is made. Never grows. */
typedef struct kd_scene_mesh {
    const char *name;      /* "file": "mesh:NAME" in the description */
    const float *vertices; /* x, y, z of each, side by side */
    uint64_t vertex_count;
    const uint32_t *indices; /* 3 a triangle; NULL: triangle i has vertices 3i, 3i+1, 3i+2 */
    uint64_t triangle_count;
    const float *normals;   /* x, y, z of each vertex, of any length; NULL: flat triangles */
    const float *texcoords; /* u, v of each vertex, v upwards; NULL: none */
} kd_scene_mesh;

/* The same from a description's `bytes` of text in memory (the keys: scenes/DESCRIPTION.md) and
   meshes that it may name. Relative paths in it begin in `folder`; NULL: the working directory.
   KD_ERROR_INPUT says where in the text, or which mesh, is at fault. */
KD_API kd_status kd_scene_parse(kd_scene **scene, const char *text, uint64_t bytes,
                                const char *folder, const kd_scene_mesh *meshes,
                                uint64_t mesh_count, kd_render_options *options);

/* Never grows. */
typedef struct kd_scene_counts {
    uint64_t triangles, materials, lights;
} kd_scene_counts;
KD_API kd_scene_counts kd_scene_count(const kd_scene *scene);

/* A rendered picture: planes of floats, rows from the top, `width` x `height` each. */
typedef struct kd_image kd_image;

/* Called about ten times a second from any thread: `stage` ("build", "emit", "photon_tree",
   "render") has done `done` of `total`. An answer other than 0 cancels the rendering. */
typedef int (*kd_progress)(void *context, const char *stage, int64_t done, int64_t total);

/* Renders. KD_INTERRUPTED if `progress` (may be NULL) asked for it: *image then holds what was
   finished. After any other failure *image is NULL; otherwise it is the caller's, closed by
   kd_image_close. */
KD_API kd_status kd_render(kd_image **image, const kd_scene *scene,
                           const kd_render_options *options, kd_progress progress, void *context);
KD_API void kd_image_close(kd_image *image); /* takes NULL */

KD_API int32_t kd_image_width(const kd_image *image);
KD_API int32_t kd_image_height(const kd_image *image);
KD_API int32_t kd_image_samples(const kd_image *image); /* per pixel, at least */
/* "R" "G" "B" radiance in W/(sr m^2), linear Rec. 709, "A", "Z" distance along the view axis
   (infinite where nothing was met), "N.X" "N.Y" "N.Z", "Albedo.R" "Albedo.G" "Albedo.B". Lives as
   long as the image; NULL if there is no such channel. */
KD_API const float *kd_image_channel(const kd_image *image, const char *name);
/* XXH3 of the channels R, G, B: equal pictures have equal hashes. */
KD_API uint64_t kd_image_hash(const kd_image *image);
/* By suffix; `kandela info` lists the formats. Those of 8 bits (.png, .jpg) are sRGB, `exposure`
   stops brighter (NAN: as in the options) and tone mapped, the others linear. */
KD_API kd_status kd_image_write(const kd_image *image, const char *path, float exposure,
                                kd_tonemap tonemap);

#ifdef __cplusplus
}
#endif
#endif
