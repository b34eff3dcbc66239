/* The seam of a recording: what record_answers.c asks of the program, whatever the program's own
 * interfaces are at that commit. side_*.c implement it for the tree that they lie in, and change
 * with it; this header, and all else here, knows nothing of the program. check_recorded.py builds
 * the other side with the adapter of its own commit, if that has this very header, else with ours.
 *
 *     record_answers -- side_answer --> adapter --> engine of the program
 *                    <-- step, step, ...               | deferred: what then?
 *                    <-- upstream ---------------------' bytes of an upstream's response
 *
 * One thread. Time and random are fixed by fixed.h, from the query that is being answered. */
#ifndef TESTS_RECORDED_SIDE_H
#define TESTS_RECORDED_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raised by whoever changes what adapters do here: older commits then get today's. */
enum { SIDE_EDITION = 1 };

/* How a query comes; the numbers stand in plans (plan.py). */
enum side_transport {
    SIDE_UDP,
    SIDE_TCP,
    SIDE_TLS,
    SIDE_HTTPS,
    SIDE_HTTP,
    SIDE_GRPC,
    SIDE_UDP_LATE, /* UDP, on the thread that may scan and sign: never deferred for those */
    SIDE_TRANSPORTS
};

/* The outcomes of a query, step by step; the letters stand in recordings (compare.py). */
enum side_step {
    SIDE_LIMITED = 'L',  /* beyond its client's rate */
    SIDE_BARRED = 'B',   /* REFUSED: the client may not ask at all */
    SIDE_FORWARD = 'F',  /* deferred; the query to an upstream */
    SIDE_LOOK_UP = 'X',  /* deferred for names that records point to; the query, once for each */
    SIDE_SCAN = 'W',     /* deferred: too many records */
    SIDE_SIGN = 'S',     /* deferred: signatures are to be made */
    SIDE_TRANSFER = 'T', /* deferred to the zone transfers; the end of it here */
    SIDE_REFRESH = 'P',  /* a cache entry is to be refreshed; the query to an upstream */
    SIDE_RESPONSE = 'R', /* its bytes; the end */
    SIDE_NOTHING = 'N',  /* no response; the end */
};

struct side_record {
    const char *key;   /* below /skydns/ */
    const char *value; /* JSON */
};

/* A pod: a client with a namespace. */
struct side_pod {
    const char *ns;
    const char *address;
};

/* A namespace that lists who sees it: "a,b" or "*". */
struct side_listed {
    const char *ns;
    const char *text;
};

struct side_calls {
    /* A step of the query with this position in the call of side_answer. */
    void (*step)(void *data, size_t query, enum side_step step, const uint8_t *bytes, size_t len);
    /* Writes an upstream's response to these bytes, at most SIDE_MESSAGE_MAX; 0: there is none. */
    size_t (*upstream)(void *data, size_t query, const uint8_t *asked, size_t len, bool is_tcp,
                       uint8_t *response);
    void *data;
};

enum { SIDE_MESSAGE_MAX = 65535 };

/* The input of answers; all borrowed. */
struct side_world {
    int argc; /* of skydns, with its flags */
    char *const *argv;
    size_t record_count; /* SIDE_UNSYNCED: etcd was not read yet */
    const struct side_record *records;
    size_t pod_count;
    const struct side_pod *pods;
    size_t listed_count;
    const struct side_listed *listed;
};

#define SIDE_UNSYNCED SIZE_MAX

struct side_address {
    uint8_t ip_len; /* 4 or 16; 0: not known */
    uint8_t ip[16];
    uint16_t port;
};

struct side_query {
    enum side_transport transport;
    struct side_address client, local;
    int64_t now_s;  /* Unix time */
    int64_t now_ms; /* monotonic */
    uint32_t random;
    const uint8_t *wire;
    size_t len;
};

struct side;

/* Once, before the first world. */
void side_begin(void);

/* Ends the process if there is no such world: flags or records that the program does not take. */
struct side *side_open(const struct side_world *world, const struct side_calls *calls);
void side_close(struct side *side);

/* Queries that came together, by one transport, at one time; each gets its steps, not always in
 * order. */
enum { SIDE_BATCH_MAX = 8 };
void side_answer(struct side *side, const struct side_query *queries, size_t count);

#endif
