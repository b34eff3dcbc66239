/* Tells whether etcd's data set is still the same one, by its history.
 *
 * An etcd that lost its data and was restarted with the same flags has the same cluster id and
 * member id. After as many writes, it has the same revision. One restored from a snapshot has all
 * that, and older content. Only their histories tell data sets apart. The mirror has the evidence
 * and checks it before it resumes.
 *
 * The evidence is the store key and the last changes seen. The store key is a random id that
 * kube2sky writes once it has written everything else. A change reads the same at its own revision
 * as long as that revision is not compacted; another data set has something else there. Compacted,
 * a data set is taken for another one only if its revision has jumped, as after `etcdutl snapshot
 * restore --bump-revision --mark-compacted`.
 *
 * Same loop and thread as the etcd client in use. */
#ifndef COMMON_ETCD_ETCD_STORE_ID_H
#define COMMON_ETCD_ETCD_STORE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/slice.h"

struct err;
struct etcd;
struct etcd_kv;

/* Returns "/kube2sky/cluster.local/<name>", which the caller frees: a key that the writer of a
 * domain has next to the records, outside the prefix that SkyDNS reads. The domain is lower-case
 * text; a trailing dot does not matter. */
char *etcd_writer_key(struct slice domain, const char *name);

/* Returns the writer's key named "store". */
char *etcd_store_key(struct slice domain);

/* Writes 128 random bits in hexadecimal, for a new store key. Returns false if the kernel has no
 * random bits. */
enum { ETCD_STORE_ID_SIZE = 33 };
bool etcd_store_id_random(char ret_id[ETCD_STORE_ID_SIZE]) MUST_CHECK;

/* ---- The serial ---- */

/* The serial key's number plus the revision that wrote that key
 * (kube2sky/reconcile/serial_key_internal.h). */
struct etcd_serial {
    bool is_there; /* else it is unknown: no such key, no number, or it may not be read */
    uint32_t value;
};

struct etcd_serial etcd_serial_of(const struct etcd_kv *kv);

/* Reads the serial key's value, a number below 2^32. Returns false for anything else, which is
 * another writer's. */
bool etcd_serial_base(struct slice value, uint32_t *ret_base);

/* Returns whether both are there, and `a` comes after `b` by RFC 1982. */
bool etcd_serial_is_after(struct etcd_serial a, struct etcd_serial b);

/* ---- Evidence: plain data ---- */

struct etcd_witness { /* a put or a delete seen earlier */
    struct buf key;
    struct buf value;
    int64_t create_revision;
    int64_t mod_revision; /* 0 = none */
    int64_t version;
};

struct etcd_evidence {
    int64_t revision;          /* all changes up to it are known; 0 = none */
    int64_t written;           /* the newest revision of an acknowledged transaction; 0 = none */
    struct buf id;             /* the store key's value; empty: no store key */
    struct etcd_serial serial; /* the latest of this store and earlier ones, once complete */
    struct etcd_witness put;
    struct etcd_witness del; /* only key and mod_revision */
};

void etcd_evidence_init(struct etcd_evidence *evidence);
void etcd_evidence_fini(struct etcd_evidence *evidence);
void etcd_evidence_clear(struct etcd_evidence *evidence); /* empties it, keeps the memory */
void etcd_evidence_set_id(struct etcd_evidence *evidence, struct slice id);

/* Remember the newest put and the newest delete, in whatever order they come. */
void etcd_evidence_put(struct etcd_evidence *evidence, const struct etcd_kv *kv);
void etcd_evidence_del(struct etcd_evidence *evidence, struct slice key, int64_t revision);

/* Returns the revision of the newest change; 0: there is none. */
int64_t etcd_evidence_newest(const struct etcd_evidence *evidence);

/* ---- Asking ---- */

enum etcd_store_verdict {
    ETCD_STORE_SAME,
    ETCD_STORE_OTHER,
    ETCD_STORE_COMPACTED, /* the evidence has left the history; only a full read tells */
    ETCD_STORE_UNKNOWN,   /* there is no evidence; only a full read tells */
};

struct etcd_store_answer {
    enum etcd_store_verdict verdict;
    int64_t revision;          /* etcd's, when the store key was read; 0 if not permitted */
    int64_t newest;            /* the newest revision in etcd's replies; 0: no reply had one */
    bool is_seen_compacted;    /* SAME, but the last change seen cannot be watched again */
    struct slice id;           /* the store key's value now, borrowed; empty: none */
    struct etcd_serial serial; /* at `revision`; unknown without a store key */
    bool can_read_serial;      /* etcd permits it; false without a store key */
    const char *reason;        /* for the verdict, for the log; borrowed */
    const struct err *key_err; /* why the store key may not be read, borrowed; `id` is then the
                                  known one unless the data set is another. NULL: it was read */
};

struct etcd_store_question;

/* Gets exactly one of answer and err, borrowed; the other is NULL. Watches and calls started inside
 * with only_now reach the server that answered. */
typedef void (*etcd_store_cb)(void *data, const struct etcd_store_answer *answer,
                              const struct err *err);

struct etcd_store_ask {
    struct slice store_key;
    struct slice serial_key; /* empty: the serial is not read */
    struct slice range;      /* the mirrored range, named when permission is missing */
    struct slice range_end;
    const struct etcd_evidence *evidence; /* must not change until cb */
    bool is_key_old;  /* the store key came with a backup: its writer is about to replace it */
    etcd_store_cb cb; /* once, never from inside etcd_store_ask */
    void *data;
};

/* Reads the store key and the evidence at its revisions from the member that the watch link is
 * connected to, connecting first if needed: two to four small Ranges on one connection. A store key
 * that may not be read (other writers' data sets) counts as none. The slices are borrowed until
 * cb. */
struct etcd_store_question *etcd_store_ask(struct etcd *etcd, const struct etcd_store_ask *ask);

/* Ends the question without its callback. Only before cb was called; unnecessary afterwards. NULL
 * is fine. */
void etcd_store_question_cancel(struct etcd_store_question *question);

#endif
