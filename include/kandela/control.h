/* Control of the library's calls: their threads, progress and cancellation, messages, memory. C99.

       #include <kandela/control.h>
       #include <kandela/points.h>
       #include <stdio.h>

       static void print_message(void *context, kd_log_level level, const char *message) {
           fprintf((FILE *)context, "%s: %s\n", level == KD_LOG_ERROR ? "error" : "note", message);
       }
       static int is_over(void *context, const char *stage, int64_t done, int64_t total) {
           (void)stage, (void)done, (void)total;
           return *(const int *)context; // not 0: cancel
       }
       // Builds a tree on two threads. Another thread, or a signal handler, may set *stop.
       kd_status build(kd_points **tree, const kd_point_array *points, int *stop) {
           kd_call call;
           kd_call_default(&call);
           call.threads = 2;
           call.progress = is_over;
           call.context = stop;
           kd_log_set(print_message, stderr, KD_LOG_WARNING);
           kd_status status = kd_call_set(&call);
           if (status == KD_OK) status = kd_points_open(tree, points, NULL);
           kd_call_set(NULL);
           return status; // KD_INTERRUPTED if it was cancelled
       }

   Callbacks must not leave by longjmp or a C++ exception. */
#ifndef KANDELA_CONTROL_H
#define KANDELA_CONTROL_H
#include <kandela/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*************************** Threads, progress and cancellation ******************************/

/* Progress callback, called about ten times a second: `done` of `total` items of `stage` are
   complete; `total` is 0 if it is unknown. Stages are "build" (points or triangles), "query"
   (queries or rays) and those of rendering: "load", "emit", "photon_tree", "render". A call may
   have several stages and repeat one. A non-zero return value cancels the call.
   The callback runs on the thread that made the call; for kd_render, kd_photons_emit,
   kd_scene_load, kd_scene_parse and kd_scene_make it may run on any thread, on one at a time. It
   may call functions of the library, to which the settings of kd_call_set do not apply, but must
   not change or close what the call uses. */
typedef int (*kd_progress)(void *context, const char *stage, int64_t done, int64_t total);

/* Settings of calls. Initialise with kd_call_default; new fields are only added at the end. */
typedef struct kd_call {
    size_t struct_size;
    int32_t threads;  /* CPU threads, including the calling one; 0: the `threads` of the tree's or
                         the rendering's options, else kd_threads() */
    int32_t reserved; /* must be 0 */
    kd_progress progress; /* or NULL; an argument `progress` of a call takes precedence */
    void *context;        /* passed to `progress` */
} kd_call;

/* Sets the fields to their defaults. */
KD_API void kd_call_default_sized(kd_call *call, size_t struct_size);
static inline void kd_call_default(kd_call *call) {
    kd_call_default_sized(call, sizeof *call);
}

/* Sets threads, progress and cancellation of the later calls of the calling thread; NULL: the
   defaults. `call` is copied. Other threads have their own settings. Results do not depend on them.
   KD_ERROR_USAGE: `threads` is negative.
   A cancelled call returns KD_INTERRUPTED and frees what it made. Handles are then NULL, trees are
   unchanged and the contents of result arrays are undefined. Exceptions: kd_render returns the
   partial image; a kd_ray_scene whose commit was cancelled keeps its geometries and instances, but
   queries return KD_ERROR_USAGE until a commit succeeds.
   Work on the CPU is cancelled after about 10 ms; some steps of a build, and the functions that
   save and load trees, run to their end. Calls on trees of CUDA devices are neither reported nor
   cancelled. */
KD_API kd_status kd_call_set(const kd_call *call);

/**************************************** Messages *******************************************/

typedef enum kd_log_level {
    KD_LOG_ERROR = 0, /* a call failed; the message is that of kd_last_error() */
    KD_LOG_WARNING = 1,
    KD_LOG_INFO = 2,
    KD_LOG_DETAIL = 3
} kd_log_level;

/* Receives a message of one line, without a trailing newline. Any thread may call it; errors come
   from the thread that made the call. */
typedef void (*kd_log_function)(void *context, kd_log_level level, const char *message);

/* Sets the receiver of the messages of all calls, of levels up to `maximum`; NULL (the default):
   none. The library itself prints nothing. Not thread-safe: no call may run concurrently. */
KD_API void kd_log_set(kd_log_function log, void *context, kd_log_level maximum);

/***************************************** Memory ********************************************/

/* Functions for the library's host memory, called from any thread. Initialise all fields. */
typedef struct kd_allocator {
    size_t struct_size; /* sizeof(kd_allocator) */
    void *context;      /* passed to both */
    /* Returns at least `bytes` bytes, aligned to `alignment`, a power of two (64 today); or NULL,
       upon which the call returns KD_ERROR_MEMORY. */
    void *(*allocate)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *memory); /* `memory` is not NULL */
} kd_allocator;

/* Sets the allocator of the process, which is copied; NULL: that of the system. Returns
   KD_ERROR_USAGE while the library holds memory: set it before other calls, or when all handles are
   closed. It serves trees, scenes, images and all working memory. Outside libraries (JSON, glTF,
   PNG, JPEG, EXR), the system's threads and CUDA allocate on their own. Not thread-safe: no call
   may run concurrently. */
KD_API kd_status kd_allocator_set(const kd_allocator *allocator);

#ifdef __cplusplus
}
#endif
#endif
