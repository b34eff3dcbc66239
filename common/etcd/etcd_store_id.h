/* Is this still the same store? An etcd that lost its data and was started again with the same
 * flags has the same cluster id, member id and, after as many writes, the same revision; one
 * restored from a snapshot has all that and an older content. What tells stores apart is what they
 * say of the past. Used by etcd_mirror.c, which keeps the evidence and asks before it goes on from
 * it.
 *
 * The evidence: the store key, a random id that kube2sky writes into a store once everything is in
 * it, and the last changes seen, each of which reads the same for ever at its own revision (until
 * it is compacted) in the store it was seen in.
 *
 * Same loop and thread as the etcd asked. */
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

/* "/kube2sky/cluster.local/<name>", to be freed: a key that the writer of a domain keeps beside the
 * records, out of what SkyDNS reads. The domain is in text, lower case; its last dot does not
 * matter. */
char *etcd_writer_key(struct slice domain, const char *name);

/* The one named "store". */
char *etcd_store_key(struct slice domain);

/* 128 random bits in hexadecimal, for a new store key. False: the kernel has none to give. */
enum { ETCD_STORE_ID_SIZE = 33 };
bool etcd_store_id_random(char ret_id[ETCD_STORE_ID_SIZE]) MUST_CHECK;

/* ---- Evidence: plain data ---- */

struct etcd_witness { /* a put or a delete that was seen */
    struct buf key;
    struct buf value;
    int64_t create_revision;
    int64_t mod_revision; /* 0 = none */
    int64_t version;
};

struct etcd_evidence {
    int64_t revision; /* up to which the store is known; 0 = nothing is */
    int64_t written;  /* the newest revision that a transaction was acknowledged with; 0 = none */
    struct buf id;    /* the store key's value; empty: it had none */
    struct etcd_witness put;
    struct etcd_witness del; /* key and mod_revision alone */
};

void etcd_evidence_init(struct etcd_evidence *evidence);
void etcd_evidence_fini(struct etcd_evidence *evidence);
void etcd_evidence_clear(struct etcd_evidence *evidence); /* of nothing, memory kept */
void etcd_evidence_set_id(struct etcd_evidence *evidence, struct slice id);

/* The newest ones are kept, whatever the order they come in. */
void etcd_evidence_put(struct etcd_evidence *evidence, const struct etcd_kv *kv);
void etcd_evidence_del(struct etcd_evidence *evidence, struct slice key, int64_t revision);

/* ---- Asking ---- */

enum etcd_store_verdict {
    ETCD_STORE_SAME,
    ETCD_STORE_OTHER,
    ETCD_STORE_COMPACTED, /* what was seen last is; only reading everything tells */
    ETCD_STORE_UNKNOWN,   /* nothing was seen: the same */
};

struct etcd_store_answer {
    enum etcd_store_verdict verdict;
    int64_t revision;          /* of the store, when its key was read; 0 without permission to */
    struct slice id;           /* the store key's value now, borrowed; empty: it has none */
    const char *reason;        /* of the verdict, for the log; borrowed */
    const struct err *key_err; /* why the store key may not be read, borrowed: `id` is what was
                                  known of a store that may be the same. NULL: it was read */
};

struct etcd_store_question;

/* Answer or err is NULL, both are borrowed. Watches and calls that are started in it
 * with only_now are of the store that answered. */
typedef void (*etcd_store_cb)(void *data, const struct etcd_store_answer *answer,
                              const struct err *err);

struct etcd_store_ask {
    struct slice store_key;
    struct slice range; /* what is mirrored, which a lost permission is told with */
    struct slice range_end;
    const struct etcd_evidence *evidence; /* must not change meanwhile */
    etcd_store_cb cb;                     /* once, not from inside */
    void *data;
};

/* Asks whoever the watch line is connected to (connecting it if need be): the store key, and what
 * the evidence was seen at; two or three small Ranges on one connection. A store key that may not
 * be read (other writers' stores) counts as none. The slices are borrowed until cb. */
struct etcd_store_question *etcd_store_ask(struct etcd *etcd, const struct etcd_store_ask *ask);

/* Before cb was called; not needed after. NULL is fine. */
void etcd_store_question_cancel(struct etcd_store_question *question);

#endif
