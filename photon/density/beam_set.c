/* Source: Jarosz, Zwicker and Jensen 2008, "The beam radiance estimate for volumetric photon
           mapping", section 5.2 (hierarchy of boxes); boxes over segments of beams as in Jarosz et
           al. 2011, section 6.
   Idea: the box of a long beam is mostly empty, so beams are cut into segments about four radii
         long. The segments are sorted by the in-order traversal of a point tree over their centres:
         halves of that order are halves in space, and recursive halving gives the hierarchy.
   Work: that of the point tree, otherwise linear.
   Memory: 48 bytes per beam, 28 per segment, of which there are at most 2^19 plus 16 for each beam.
   Invariants: the result does not depend on the number of threads or on the device that emitted the
               photons. */
#include "core/memory.h"
#include "photon/density/beams.h"
#include "points/select/builders.h"

enum { PIECES_FREE = 1 << 19, PIECES_EACH = 16 };
/* Length of a segment relative to the kernel's radius. */
#define PIECE_RADII 4.0
/* Smallest radius relative to the diagonal of the box of all beams, which may lie on one line. */
#define RADIUS_MIN 2e-4
/* Rounding error of the position of a crossing, relative to the size of the scene. */
#define SLACK_SHARE 4e-5f

typedef struct beam_making {
    beam_set *beams;
    beam_piece *cut; /* pieces in the order of beams */
    vec3 *middles;
    pointtree order;
    uint32_t ordered; /* number of segments sorted so far */
    double piece;     /* minimum length of a segment */
} beam_making;

static beam beam_of(const photon *photon) {
    beam made;
    made.start = photon->position;
    made.length = photon->normal.x;
    made.direction = photon->direction;
    made.medium = photon->triangle;
    made.power = photon->power;
    return made;
}

/* Mean free path in the channel with the smallest extinction. */
static double depth_of(const scene_view *scene, uint32_t index) {
    const vec3 lost = vec3_add(scene->media[index].absorption, scene->media[index].scattering);
    const float minimum = float_min(lost.x, float_min(lost.y, lost.z));
    return minimum > 0 ? 1 / (double)minimum : HUGE_VAL;
}

/* Returns the radius at which a ray meets `gather` beams. Rays of random direction through a box of
   volume V and surface S have the mean length 4 V / S, limited by the mean free path; a ray of
   length t passes beams of total length l within r at (pi / 2) r t l / V points. Sums are in the
   order of beams. */
static double find_radius(const beam_set *beams, const scene_view *scene, uint32_t gather) {
    box3 box = box3_empty();
    double lengths = 0, rays = 0;
    for (uint32_t i = 0; i < beams->count; ++i) {
        const beam *at = &beams->beams[i];
        box3_include(&box, at->start);
        box3_include(&box, vec3_along(at->start, at->length, at->direction));
    }
    const vec3 size = box3_size(box);
    const double x = (double)size.x, y = (double)size.y, z = (double)size.z;
    const double outside = 2 * (x * y + y * z + z * x), volume = x * y * z;
    const double through = outside > 0 ? 4 * volume / outside : 0;
    for (uint32_t i = 0; i < beams->count; ++i) {
        const double depth = depth_of(scene, beams->beams[i].medium);
        lengths += fmin((double)beams->beams[i].length, depth);
        rays += fmin(through, depth);
    }
    rays /= beams->count;
    const double minimum = RADIUS_MIN * sqrt(x * x + y * y + z * z);
    if (volume > 0 && rays > 0) return fmax(minimum, 2 * gather * volume / (M_PI * lengths * rays));
    return fmax(minimum, gather * outside / (2 * M_PI * lengths)); /* the beams lie in a plane */
}

static uint32_t parts_of(const beam *at, double piece) {
    const double parts = ceil((double)at->length / piece);
    return parts >= 1 ? (uint32_t)parts : 1;
}

static float cut_at(const beam *at, uint32_t part, uint32_t parts) {
    return part == parts ? at->length : at->length * (float)part / (float)parts;
}

static uint64_t pieces_max(uint64_t beams) {
    return beams ? PIECES_FREE + PIECES_EACH * beams : 0;
}

/* Cuts all beams into segments; there are at most pieces_max. */
static kd_status cut_beams(beam_making *work) {
    beam_set *to = work->beams;
    double lengths = 0;
    uint64_t count = 0, made = 0;
    for (uint32_t i = 0; i < to->count; ++i) lengths += (double)to->beams[i].length;
    const double minimum = lengths / (double)(pieces_max(to->count) - to->count);
    work->piece = fmax(minimum, PIECE_RADII * (double)to->radius);
    for (uint32_t i = 0; i < to->count; ++i) count += parts_of(&to->beams[i], work->piece);
    KD_REQUIRE(count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "the photon beams have %llu segments; supported: at most %u: lower --media-photons",
               (unsigned long long)count, POINTTREE_COUNT_MAX);
    KD_TRY(KD_RESERVE(work->cut, count));
    KD_TRY(KD_RESERVE(work->middles, count));
    for (uint32_t i = 0; i < to->count; ++i) {
        const beam *at = &to->beams[i];
        const uint32_t parts = parts_of(at, work->piece);
        for (uint32_t p = 0; p < parts; ++p, ++made) {
            const beam_piece piece = {i, cut_at(at, p, parts), cut_at(at, p + 1, parts)};
            work->cut[made] = piece;
            work->middles[made] =
                vec3_along(at->start, 0.5f * (piece.begin + piece.end), at->direction);
        }
    }
    to->piece_count = (uint32_t)count;
    return KD_OK;
}

/* In-order traversal below a node of the point tree. */
static void put_in_order(beam_making *work, uint64_t node) {
    if (node >= work->order.count) return;
    put_in_order(work, 2 * node + 1);
    work->beams->pieces[work->ordered++] = work->cut[work->order.ids[node]];
    put_in_order(work, 2 * node + 2);
}

static void widen(box3 *box, const beam_set *beams, const beam_piece *piece) {
    const beam *at = &beams->beams[piece->beam];
    box3_include(box, vec3_along(at->start, piece->begin, at->direction));
    box3_include(box, vec3_along(at->start, piece->end, at->direction));
}

/* Builds the nodes of the leaves [begin, end), at least one, from node `at` on. */
static box3 box_leaves(beam_set *beams, uint32_t begin, uint32_t end, uint32_t at) {
    beam_node *node = &beams->nodes[at];
    box3 box = box3_empty();
    node->beyond = at + 2 * (end - begin) - 1;
    node->first = end - begin == 1 ? BEAM_LEAF * begin : KD_NONE;
    if (end - begin == 1) {
        const uint32_t last =
            BEAM_LEAF * end < beams->piece_count ? BEAM_LEAF * end : beams->piece_count;
        for (uint32_t p = node->first; p < last; ++p) widen(&box, beams, &beams->pieces[p]);
    } else {
        const uint32_t middle = begin + (end - begin) / 2;
        box = box_leaves(beams, begin, middle, at + 1);
        box3_join(&box, box_leaves(beams, middle, end, at + 2 * (middle - begin)));
    }
    node->lo = box.lo;
    node->hi = box.hi;
    return box;
}

static kd_status make_tree(beam_making *work, job_control *job) {
    beam_set *to = work->beams;
    const uint32_t leaves = (to->piece_count + BEAM_LEAF - 1) / BEAM_LEAF;
    KD_TRY(pointtree_open(&work->order, work->middles, to->piece_count, NULL, NULL, job));
    KD_TRY(KD_RESERVE(to->pieces, to->piece_count));
    put_in_order(work, 0);
    to->node_count = 2 * leaves - 1;
    KD_TRY(KD_RESERVE(to->nodes, to->node_count));
    (void)box_leaves(to, 0, leaves, 0);
    return KD_OK;
}

kd_status beam_set_open(beam_set *out, const photon *photons, uint64_t count,
                        const scene_view *scene, uint32_t gather, job_control *job) {
    kd_status status = KD_OK;
    beam_making work;
    memset(out, 0, sizeof *out);
    memset(&work, 0, sizeof work);
    work.beams = out;
    if (count == 0) return KD_OK;
    KD_TRY(KD_RESERVE(out->beams, count));
    out->count = (uint32_t)count;
    for (uint64_t i = 0; i < count; ++i) out->beams[i] = beam_of(&photons[i]);
    out->radius = (float)find_radius(out, scene, gather);
    out->slack = SLACK_SHARE * scene->environment.scene_radius;
    KD_TRY_GOTO(cut_beams(&work));
    KD_TRY_GOTO(make_tree(&work, job));
done:
    memory_free(work.cut);
    memory_free(work.middles);
    pointtree_close(&work.order);
    if (status != KD_OK) beam_set_close(out);
    return status;
}

void beam_set_close(beam_set *owned) {
    memory_free(owned->beams);
    memory_free(owned->pieces);
    memory_free(owned->nodes);
    memset(owned, 0, sizeof *owned);
}

beam_view beam_set_get_view(const beam_set *beams, photon_kernel kernel, float scale) {
    beam_view view;
    view.nodes = beams->nodes;
    view.pieces = beams->pieces;
    view.beams = beams->beams;
    view.node_count = beams->node_count;
    view.piece_count = beams->piece_count;
    view.radius = beams->radius;
    view.scale = scale;
    view.slack = beams->slack;
    view.kernel = kernel;
    return view;
}

uint64_t beam_set_bytes_kept(uint64_t beams) {
    const uint64_t pieces = pieces_max(beams);
    return beams * sizeof(beam) + pieces * sizeof(beam_piece) +
           (2 * (pieces / BEAM_LEAF) + 2) * sizeof(beam_node);
}

uint64_t beam_set_bytes_max(uint64_t beams) {
    const uint64_t pieces = pieces_max(beams);
    const uint64_t tree = sizeof(vec3) + sizeof(uint32_t);
    if (beams == 0) return 0;
    return beam_set_bytes_kept(beams) + pieces * (sizeof(beam_piece) + sizeof(vec3) + tree) +
           pointtree_builders[0]->scratch_bytes(pieces);
}
