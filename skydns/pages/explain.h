/* Explains why a question is answered as it is, for /explain. Takes the answer that this process
 * gives now from the engine's own code. For each name on the way it lists the keys, which of them
 * gave a record, and the rule by which others did not; or where the name stops existing, and
 * similar names. Main thread; bounded work, so that it delays nothing for long. */
#ifndef SKYDNS_PAGES_EXPLAIN_H
#define SKYDNS_PAGES_EXPLAIN_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/answer/answer.h"
#include "skydns/pages/explain_asking_client.h"
#include "skydns/pages/explain_external.h"
#include "skydns/sign/signed_sets.h"
#include "skydns/sync/broken.h"
#include "skydns/transfer/serial.h"

struct explainer;
struct outage;
struct publisher;
struct namespace_rate;
struct rate_limit;
struct recent_changes;
struct resolver;
struct store_sync;
struct transfer_source;

enum {
    EXPLAIN_NAMES_MAX = 16,    /* the name asked for and its targets */
    EXPLAIN_RECORDS_MAX = 200, /* shown per name; others are only counted */
    EXPLAIN_NEAR_MAX = 5,      /* similar names */
    EXPLAIN_LEVELS_MAX = 128,  /* labels of a name */
    EXPLAIN_BROKEN_MAX = 20,   /* unusable keys at or below a name */
};

/* Rule for a key. */
enum explain_rule {
    EXPLAIN_GAVE,      /* it gave a record of the answer */
    EXPLAIN_HIDDEN,    /* below a label that starts with `_`, which must be queried by name */
    EXPLAIN_PATTERN,   /* the labels do not match the wildcards */
    EXPLAIN_DUPLICATE, /* a duplicate of another key */
    EXPLAIN_GROUP,     /* of another group */
    EXPLAIN_FAMILY,    /* an address of the other family */
    EXPLAIN_TARGET,    /* the host name has no such address */
    EXPLAIN_EXTERNAL,  /* upstreams are asked for the host name */
    EXPLAIN_NO_HOST,
    EXPLAIN_BAD_HOST, /* neither an address nor a name */
    EXPLAIN_NO_TEXT,
    EXPLAIN_NO_MAIL,
    EXPLAIN_BELOW,   /* the type needs a key at the name itself */
    EXPLAIN_ADDRESS, /* the type needs a host name */
    EXPLAIN_SCHEMA,  /* -schema=kubernetes has no such record there */
    EXPLAIN_ALIAS,   /* -schema=kubernetes: the name has a CNAME, so nothing else */
    EXPLAIN_TYPE,    /* no key gives records of this type */
    EXPLAIN_ROOM,    /* the answer is full */
    EXPLAIN_STUB,    /* the name is in a stub zone, whose upstreams are asked instead */
    EXPLAIN_VEILED,  /* the client may not see it */
    EXPLAIN_FAR,     /* it is in another zone than the client (-topology) */
};

struct explain_record {
    const struct store_record *record;
    enum explain_rule rule;
    const struct store_record *other; /* DUPLICATE, GROUP: the key that counts instead, or NULL */
};

struct explain_name {
    struct dname name;
    bool is_asked;                    /* itself, or through the CNAMEs of aliases */
    const struct store_record *from;  /* whose host it is; NULL: the name asked for */
    const struct store_record *alias; /* makes it an alias under -schema=kubernetes, or NULL */
    bool exists;
    bool is_too_large;    /* more records than are visited */
    struct dname closest; /* if it does not exist: the last ancestor that does */
    size_t near_count;
    struct dname near[EXPLAIN_NEAR_MAX];
    size_t record_count;
    size_t record_total; /* including those not shown */
    struct explain_record records[EXPLAIN_RECORDS_MAX];
    size_t broken_count;
    struct broken_key broken[EXPLAIN_BROKEN_MAX];
};

/* Explains where the serial of an SOA in the answer comes from. */
struct explain_serial {
    bool is_shown;
    bool is_hour; /* the zone cannot be transferred */
    uint32_t value;
    struct serial_origin origin; /* else */
};

/* Age of the records. */
struct explain_etcd {
    bool is_away; /* cannot be followed: for so long, and why, if that is known */
    int64_t away_s;
    const char *reason;
    bool has_records;
    int64_t age_s;       /* since etcd was last heard from; 0: it is followed */
    bool is_holding_old; /* answers come from records that etcd lacks, for so long */
    int64_t holding_s;
};

/* Search list of a short name, as a pod's resolver goes through it. */
struct explain_search {
    size_t count;       /* 0: the name is not short, in a domain, or ends with a dot */
    bool is_assumed;    /* the namespace is not that of the client */
    struct slice space; /* of the pod */
    struct dname names[SEARCH_LIST_NAMES_MAX];
    enum explain_outcome outcomes[SEARCH_LIST_NAMES_MAX];
};

/* Name from the root down to the one that the explanation is about, as etcd has it, whichever
 * client asks. The root itself is left out. */
struct explain_level {
    struct dname name;
    bool exists;     /* a key is at or below it */
    bool has_record; /* a key is at it */
    size_t below;    /* records at or below it, without hidden ones (store_visible_count) */
};

/* Result, borrowed from the explainer and the record store until the loop turns. */
struct explanation {
    struct dname asked;       /* the client's question, */
    struct question question; /* and the candidate name that this is about */
    struct explain_asking_client who;
    struct explain_etcd etcd;
    struct explain_search search;
    const struct engine_zone *zone;   /* the domain of the name; NULL: none of ours */
    struct slice prefix;              /* of keys */
    int64_t revision;                 /* of the version; 0: none yet */
    const struct explain_past *past;  /* what of; NULL: the present */
    bool is_from_snapshot;            /* etcd has not confirmed it yet */
    int64_t snapshot_age_s;           /* since etcd was heard from then */
    const struct answer_plan *plan;   /* NULL: none of its own, see `external` */
    const char *why;                  /* a sentence about what the names do not show */
    struct explain_external external; /* an external name, or EXPLAIN_FROM_HERE */
    const uint8_t *message;           /* header, question and cached records of `external` */
    size_t message_len, records_at;
    struct signed_keys_shown keys; /* with a set: they are the answer, instead of the plan */
    /* Counts RRsets that would be signed for clients with DO, but for NSEC: no client has asked for
     * these yet. */
    size_t signed_count;
    const struct signed_set_shown *signed_sets;
    struct explain_serial serial;
    size_t external_count; /* targets that are external names */
    const struct explain_external *externals;
    size_t level_count; /* 0: nothing has been read */
    struct explain_level levels[EXPLAIN_LEVELS_MAX];
    const struct recent_changes *recent; /* of all records */
    size_t name_count;
    const struct explain_name *names;
    size_t near_count; /* names that may be meant instead of one that is in no domain */
    struct dname near[EXPLAIN_NEAR_MAX];
};

/* Sources of explanations; borrowed, and all but the first two may be NULL. */
struct explainer_sources {
    const struct store_sync *sync;
    const struct publisher *publisher; /* whose newest configuration is in force */
    const struct resolver *resolver;   /* else nothing is said of upstreams' states */
    const struct outage *outage;       /* else etcd counts as there */
    const struct rate_limit *rates;    /* else nothing is said of what clients have left */
    const struct namespace_rate *namespace_rates;
    const struct transfer_source
        *transfer_source; /* what `serials` asks; else all are of the hour */
    struct serial_origin (*serials)(const struct transfer_source *source, const struct dname *apex);
};

struct explainer *explainer_new(const struct explainer_sources *sources);
void explainer_free(struct explainer *explainer); /* NULL is fine */

/* Version of an earlier revision, which an explanation is about instead of the newest. What is of
 * today alone is left out then: the state of etcd and of upstreams, what is cached and signed, the
 * serial, the tree, similar names, and the search list of a short name. */
struct explain_past {
    const struct store *store;
    const struct broken_table *broken;
    struct slice asked; /* the moment as the user wrote it */
    struct moment_found {
        int64_t revision;
        bool has_mark; /* that it was found by: this server had reached mark_revision then */
        int64_t mark_ms, mark_revision;
    } at;
};

/* Question; NULL is as empty. */
struct explain_query {
    const char *name;
    const char *type;   /* "A", "SRV", "TYPE65"; empty: A */
    const char *client; /* an address; empty: a client that sees everything and has no search
                         * list */
    const char *at;     /* the moment to explain, for a command; the server's is `past` */
    const struct explain_past *past; /* NULL: the present */
};

/* Reads the question, and lists the names that its answer may be about, in lower case: those of the
 * client's search list, or the name alone. At most SEARCH_LIST_NAMES_MAX. ERR_USAGE as below. */
int explain_names_of(const struct engine_config *config, const struct explain_query *query,
                     struct dname ret_names[SEARCH_LIST_NAMES_MAX], size_t *ret_count,
                     uint16_t *ret_type, struct err *err) MUST_CHECK;

/* Explains by the configuration in force. ERR_USAGE: an invalid name, type or address. */
int explainer_explain(struct explainer *explainer, const struct explain_query *query,
                      const struct explanation **ret, struct err *err) MUST_CHECK;

/* Makes the answer alone, without what led to it, for /watch: the name is taken as it is, no
 * search list applies, and subtree scans are made here. ERR_USAGE, too: they need more than
 * EXPLAIN_NOW_SCAN_MAX records; or neither a domain of ours nor a key of etcd has the name. */
enum { EXPLAIN_NOW_SCAN_MAX = 16 * 1024, EXPLAIN_PAST_SCAN_MAX = 64 * 1024 };
int explainer_answer(struct explainer *explainer, const struct explain_query *query,
                     const struct explanation **ret, struct err *err) MUST_CHECK;

/* Appends that answer: "status":"NOERROR","answer":[...]. (explain_page.c) */
void explain_page_answer(const struct explanation *x, struct buf *out);

/* Returns why a record found for a name gave nothing of the type (explain_why.c). */
enum explain_rule explain_type_rule(const struct engine_config *config, uint16_t type,
                                    const struct dname *name, const struct store_record *record);

/* Inputs of explain_why. */
struct explain_case {
    const struct engine_config *config;
    const struct store *store;
    const struct engine_zone *zone; /* of the name, or NULL */
    const struct dname *name;       /* in lower case */
    uint16_t type;
    const struct answer_plan *plan; /* NULL: an external name */
    bool is_of_keys;                /* the keys of -dnssec answer */
    enum answer_rule rule;          /* of the plan */
    const struct explain_external *external;
};

/* Returns what the answer depends on other than the name's keys (explain_why.c): a constant, or
 * NULL. */
const char *explain_why(const struct explain_case *c);

/* Returns the state of etcd now (explain_why.c). */
struct explain_etcd explain_etcd(const struct store_sync *sync, const struct outage *outage);

/* Fills in the levels of a lower-cased name (explain_near.c); returns how many. */
size_t explain_tree(const struct store *store, const struct dname *name,
                    struct explain_level levels[EXPLAIN_LEVELS_MAX]);

/* Inputs of explain_near_names. */
struct explain_near_case {
    const struct store *store;
    const struct engine_config *config;
    const struct dname *name; /* in lower case: does not exist, or is in no domain */
    struct slice space;       /* the client's namespace; empty: not known */
    bool (*resolves)(void *data, const struct dname *name);
    void *data;
};

/* Finds the likeliest name that may be meant instead of one that does not exist (lower case), as a
 * client of this namespace (empty: not known) may mean it, whatever it may see. Returns false if
 * there is none. */
bool explainer_nearest(struct explainer *explainer, const struct dname *name, struct slice space,
                       struct dname *ret_near);

/* Finds names that may be meant and that resolve (explain_near.c), the likeliest first; returns how
 * many. Bounded: looks at 20,000 labels, asks about 32 names. */
size_t explain_near_names(const struct explain_near_case *c, struct dname near[EXPLAIN_NEAR_MAX]);

#endif
