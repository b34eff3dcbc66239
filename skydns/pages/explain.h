/* Why a question is answered as it is: the answer this process gives now, from the engine's own
 * code, and for each name it came through the keys there, which of them gave a record, and by which
 * rule the others did not; or where the name stops existing and what is spelled like it. For
 * /explain. Main thread; bounded in what it looks at, so that it delays nothing for long. */
#ifndef SKYDNS_PAGES_EXPLAIN_H
#define SKYDNS_PAGES_EXPLAIN_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/answer/answer.h"
#include "skydns/sync/broken.h"

struct explainer;
struct store_sync;

enum {
    EXPLAIN_NAMES_MAX = 16,    /* the name asked for and those it leads to */
    EXPLAIN_RECORDS_MAX = 200, /* shown of each; the others are counted */
    EXPLAIN_NEAR_MAX = 5,      /* names spelled alike */
    EXPLAIN_BROKEN_MAX = 20,   /* keys that cannot be used, at or below a name */
};

/* What became of a key. */
enum explain_rule {
    EXPLAIN_GAVE,      /* it gave a record of the answer */
    EXPLAIN_HIDDEN,    /* below a label that starts with `_`: only for who names that label */
    EXPLAIN_PATTERN,   /* the labels do not match those with a wildcard */
    EXPLAIN_DUPLICATE, /* another key says the same */
    EXPLAIN_GROUP,     /* of another group */
    EXPLAIN_FAMILY,    /* an address of the other family */
    EXPLAIN_TARGET,    /* the host is a name that gave no address */
    EXPLAIN_EXTERNAL,  /* the host is a name that nameservers are asked for */
    EXPLAIN_NO_HOST,
    EXPLAIN_BAD_HOST, /* neither an address nor a name */
    EXPLAIN_NO_TEXT,
    EXPLAIN_NO_MAIL,
    EXPLAIN_BELOW,   /* the type takes the key itself, not those below */
    EXPLAIN_ADDRESS, /* the type takes a name for a host */
    EXPLAIN_SCHEMA,  /* -schema=kubernetes has no such records there */
    EXPLAIN_TYPE,    /* no key gives records of the type */
    EXPLAIN_ROOM,    /* the answer is full */
};

struct explain_record {
    const struct store_record *record;
    enum explain_rule rule;
    const struct store_record *other; /* DUPLICATE, GROUP: the one that counts instead; or NULL */
};

struct explain_name {
    struct dname name;
    const struct store_record *from; /* whose host it is; NULL: asked for */
    bool exists;
    bool is_too_large;    /* more records than are looked at */
    struct dname closest; /* when it does not exist: the last ancestor that does */
    size_t near_count;
    struct dname near[EXPLAIN_NEAR_MAX];
    size_t record_count;
    size_t record_total; /* with those that are not shown */
    struct explain_record records[EXPLAIN_RECORDS_MAX];
    size_t broken_count;
    struct broken_key broken[EXPLAIN_BROKEN_MAX];
};

/* Borrowed from the explainer and the store: until the loop turns. */
struct explanation {
    struct question question;
    struct slice prefix;            /* of keys */
    int64_t revision;               /* of the version; 0: there is none yet */
    const struct answer_plan *plan; /* NULL: the query would be forwarded */
    const char *why;                /* in a sentence, of what the names below do not tell */
    size_t external_count;          /* asked of nameservers when a client asks */
    const struct external_question *externals;
    size_t name_count;
    const struct explain_name *names;
};

struct explainer *explainer_new(const struct engine_config *config);
void explainer_free(struct explainer *explainer); /* NULL is fine */

/* Type as "A", "SRV", "TYPE65"; NULL or "": A. A name or type that cannot be read is ERR_USAGE. The
 * configuration is the one in force. */
int explain(struct explainer *explainer, const struct store_sync *sync,
            const struct engine_config *config, const char *name, const char *type,
            const struct explanation **ret, struct err *err) MUST_CHECK;

/* What explain_why is asked. */
struct explain_case {
    const struct engine_config *config;
    const struct store *store;
    const struct engine_zone *zone; /* of the name, or NULL */
    const struct dname *name;       /* in lower case */
    uint16_t type;
    const struct answer_plan *plan; /* NULL: it is answered elsewhere */
    bool is_forwarded;              /* then by a nameserver */
};

/* What the answer depends on besides the name's keys (explain_why.c); constant; NULL: nothing. */
const char *explain_why(const struct explain_case *c);

/* Names at or beside the place where one stops existing that are spelled like it (explain_near.c);
 * returns how many. `zone` is the domain it is in. */
size_t explain_near(const struct store *store, const struct engine_zone *zone,
                    const struct dname *name, const struct dname *closest,
                    struct dname near[EXPLAIN_NEAR_MAX]);

#endif
