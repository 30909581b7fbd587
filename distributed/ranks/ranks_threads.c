/* Ranks as threads of one process.
   Idea: in a collective call each rank publishes a pointer and waits at a barrier; then each
         copies from the others' memory and waits at a second barrier before it returns. Messages
         are copied into a shared list. */
#include "core/memory.h"
#include "core/system/machine.h"
#include "distributed/ranks/ranks.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS_MAX = 1024 };

typedef struct message {
    struct message *next;
    int32_t from, to, tag;
    uint64_t count;
    char bytes[];
} message;

typedef struct barrier {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int32_t size, arrived;
    uint64_t round;
    bool broken;
    void **places; /* the pointer published by each rank for the current call */
    message *first, **last;
    int32_t failed; /* the first rank that failed */
    kd_status status;
    char words[1024];
} barrier;

typedef struct member {
    barrier *at;
    ranks_body body;
    void *context;
    ranks comm;
    pthread_t thread;
    kd_status status;
} member;

/* Barrier. Returns 1 if a rank has given up. */
static int barrier_wait(barrier *at) {
    pthread_mutex_lock(&at->mutex);
    const uint64_t round = at->round;
    if (++at->arrived == at->size) {
        at->arrived = 0;
        ++at->round;
        pthread_cond_broadcast(&at->changed);
    }
    while (at->round == round && !at->broken) pthread_cond_wait(&at->changed, &at->mutex);
    const int broken = at->broken;
    pthread_mutex_unlock(&at->mutex);
    return broken;
}

static int place(member *member, void *bytes) {
    member->at->places[member->comm.rank] = bytes;
    return barrier_wait(member->at);
}

static int threads_broadcast(void *user_data, void *bytes, uint64_t count, int32_t from) {
    member *self = (member *)user_data;
    if (place(self, bytes)) return 1;
    if (self->comm.rank != from) memcpy(bytes, self->at->places[from], count);
    return barrier_wait(self->at);
}

static int threads_all_gather(void *user_data, void *bytes, const uint64_t *begins) {
    member *self = (member *)user_data;
    if (place(self, bytes)) return 1;
    for (int32_t r = 0; r < self->comm.size; ++r)
        if (r != self->comm.rank)
            memcpy((char *)bytes + begins[r], (char *)self->at->places[r] + begins[r],
                   begins[r + 1] - begins[r]);
    return barrier_wait(self->at);
}

/* Each rank sums its share of the elements and writes the result to all ranks. */
static int threads_all_sum(void *user_data, int64_t *values, uint64_t count) {
    member *self = (member *)user_data;
    uint64_t begin, end;
    if (place(self, values)) return 1;
    ranks_part(&self->comm, self->comm.rank, count, &begin, &end);
    for (uint64_t i = begin; i < end; ++i) {
        uint64_t sum = 0;
        for (int32_t r = 0; r < self->comm.size; ++r)
            sum += (uint64_t)((const int64_t *)self->at->places[r])[i];
        for (int32_t r = 0; r < self->comm.size; ++r)
            ((int64_t *)self->at->places[r])[i] = (int64_t)sum;
    }
    return barrier_wait(self->at);
}

typedef struct message_copy {
    const char *bytes;
    const uint64_t *begins;
} message_copy;

static int threads_all_to_all(void *user_data, const void *bytes, const uint64_t *begins,
                              void *into, const uint64_t *into_begins) {
    member *self = (member *)user_data;
    message_copy message = {(const char *)bytes, begins};
    int wrong = 0;
    if (place(self, &message)) return 1;
    const int32_t rank = self->comm.rank;
    for (int32_t r = 0; r < self->comm.size; ++r) {
        const message_copy *from = (const message_copy *)self->at->places[r];
        const uint64_t count = from->begins[rank + 1] - from->begins[rank];
        wrong |= count != into_begins[r + 1] - into_begins[r];
        if (!wrong)
            wrong = ranks_copy(&self->comm, (char *)into + into_begins[r],
                               from->bytes + from->begins[rank], count);
    }
    return barrier_wait(self->at) || wrong;
}

static int threads_send(void *user_data, int32_t to, int32_t tag, const void *bytes,
                        uint64_t count) {
    member *self = (member *)user_data;
    barrier *at = self->at;
    char *buffer = NULL;
    if (KD_RESERVE(buffer, sizeof(message) + count) != KD_OK) return 1;
    message *made = (message *)(void *)buffer;
    made->next = NULL;
    made->from = self->comm.rank;
    made->to = to;
    made->tag = tag;
    made->count = count;
    memcpy(made->bytes, bytes, count);
    pthread_mutex_lock(&at->mutex);
    *at->last = made;
    at->last = &made->next;
    const int broken = at->broken;
    pthread_cond_broadcast(&at->changed);
    pthread_mutex_unlock(&at->mutex);
    return broken;
}

/* Removes and returns the first message that matches, or NULL. */
static message *take_message(barrier *at, int32_t from, int32_t to, int32_t tag) {
    for (message **link = &at->first; *link; link = &(*link)->next) {
        message *match = *link;
        if (match->to != to || match->tag != tag || (from != RANKS_ANY && match->from != from))
            continue;
        *link = match->next;
        if (!*link) at->last = link;
        return match;
    }
    return NULL;
}

static int threads_receive(void *user_data, int32_t from, int32_t tag, void *bytes, uint64_t count,
                           int32_t *sender) {
    member *self = (member *)user_data;
    barrier *at = self->at;
    message *message = NULL;
    pthread_mutex_lock(&at->mutex);
    while (!at->broken && !(message = take_message(at, from, self->comm.rank, tag)))
        pthread_cond_wait(&at->changed, &at->mutex);
    pthread_mutex_unlock(&at->mutex);
    if (!message) return 1;
    const int wrong = message->count != count;
    if (!wrong) memcpy(bytes, message->bytes, count);
    if (sender) *sender = message->from;
    memory_free(message);
    return wrong;
}

static void threads_abort(void *user_data, int32_t code) {
    member *self = (member *)user_data;
    barrier *at = self->at;
    pthread_mutex_lock(&at->mutex);
    if (!at->broken) {
        at->broken = true;
        at->failed = self->comm.rank;
        at->status = (kd_status)code;
        strncpy(at->words, kd_last_error(), sizeof at->words - 1);
    }
    pthread_cond_broadcast(&at->changed);
    pthread_mutex_unlock(&at->mutex);
}

static const ranks_calls threads_calls = {.version = RANKS_VERSION,
                                          .name = "threads",
                                          .broadcast = threads_broadcast,
                                          .all_gather = threads_all_gather,
                                          .all_sum = threads_all_sum,
                                          .all_to_all = threads_all_to_all,
                                          .send = threads_send,
                                          .receive = threads_receive,
                                          .abort = threads_abort};

static void *run_member(void *context) {
    member *self = (member *)context;
    self->status = self->body(self->context, &self->comm);
    if (self->status != KD_OK && self->status != KD_INTERRUPTED)
        threads_abort(self, (int32_t)self->status);
    return NULL;
}

static kd_status run_members(barrier *at, member *members) {
    int32_t started = 1;
    while (started < at->size &&
           threads_start(&members[started].thread, run_member, members + started) == 0)
        ++started;
    if (started < at->size) {
        status_fail(KD_ERROR_RUNTIME, __FILE__, __LINE__, "cannot create the thread of rank %d",
                    started);
        threads_abort(members, KD_ERROR_RUNTIME);
    } else {
        run_member(members);
    }
    for (int32_t r = 1; r < started; ++r) pthread_join(members[r].thread, NULL);
    if (at->broken) return status_fail(at->status, __FILE__, __LINE__, "%s", at->words);
    return members[0].status;
}

kd_status ranks_threads_run(int32_t size, ranks_body body, void *context) {
    kd_status status = KD_OK;
    member *members = NULL;
    barrier at = {
        .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .size = size};
    at.last = &at.first;
    KD_REQUIRE(size >= 1 && size <= THREADS_MAX, KD_ERROR_USAGE,
               "the number of ranks is %d; supported: 1 to %d", size, THREADS_MAX);
    KD_TRY_GOTO(KD_RESERVE_ZEROED(members, (uint64_t)size));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(at.places, (uint64_t)size));
    for (int32_t r = 0; r < size; ++r) {
        member *one = members + r;
        one->at = &at;
        one->body = body;
        one->context = context;
        one->comm.rank = r;
        one->comm.size = size;
        one->comm.calls = &threads_calls;
        one->comm.user_data = one;
    }
    KD_TRY_GOTO(run_members(&at, members));
done:
    while (at.first) {
        message *next = at.first->next;
        memory_free(at.first);
        at.first = next;
    }
    memory_free(at.places);
    memory_free(members);
    return status;
}
