/* Explains why a Service's records are in etcd, or not: `GET /explain?service=NAMESPACE/SERVICE`
 * and `kube2sky --explain`. explain.c gathers the knowledge of inventory and reconciler,
 * explain_page.c writes it. Changes nothing. On the main loop, but for kube2sky_explain_client. */
#ifndef KUBE2SKY_EXPLAIN_H
#define KUBE2SKY_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/arena.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/http/http_server.h"
#include "kube2sky/metrics_table.h"
#include "kube2sky/reconcile/owner_report.h"

/* Limits of a page: entries of each list, so that a Service with 100,000 records does not fill it
 * (further ones are counted); suggested names; and bytes of one text, since a key of another writer
 * may have a megabyte. */
enum { EXPLAIN_LIST_MAX = 1000, EXPLAIN_NEAR_MAX = 5, EXPLAIN_TEXT_MAX = 1024 };

/* Limits of namespace and name, as in DNS; a kube-apiserver allows less. */
enum { EXPLAIN_PART_MAX = 253, EXPLAIN_ID_MAX = 2 * EXPLAIN_PART_MAX + 1 };

struct explain_drop {
    struct slice what; /* "port name" */
    struct slice value;
};

struct explain_fault {
    const char *kind; /* "services" */
    struct slice name;
    struct slice reason;
};

/* An external name that leads to the Service, or would (external_aliases.h). */
struct explain_alias {
    struct slice name;         /* as given */
    struct slice owner_object; /* "svc/default/web", "ingress/default/shop" */
    struct slice winner;       /* empty: nobody */
    const char *state;         /* "present", "missing", "taken", "foreign", "refused" */
    const char *reason;        /* of a refusal, else "" */
    int64_t revision;
};

struct explain_held {
    bool is_delete;
    struct slice key;
};

struct explain_away {
    bool is_away;
    int64_t since_ms; /* its age */
    const char *why;  /* "": unknown; borrowed */
};

/* Each list has the first EXPLAIN_LIST_MAX entries, and the number of all. */
struct explanation {
    struct arena arena;                /* holds all slices but `id` */
    char id[EXPLAIN_ID_MAX + 1];       /* "default/web", in lower case */
    struct slice ns;                   /* part of `id` */
    const struct kube_object *service; /* borrowed until the next change; NULL: absent */
    bool is_listed;                    /* all Services of its namespace are known */
    bool is_followed;                  /* its namespace is followed, as far as is known */
    const char *missing;               /* kinds that are not listed yet; NULL: none */
    const struct metrics_sources *sources;

    /* Addresses of a headless Service; for other Services they are not stored */
    size_t ready;
    size_t not_ready;

    struct owner_report report;
    size_t states[OWNER_KEY_STATES]; /* its own keys, counted */
    struct owner_key *keys;
    size_t key_count, key_total;
    struct owner_claim *claims;
    size_t claim_count, claim_total;
    struct explain_drop *drops;
    size_t drop_count, drop_total;
    struct explain_alias *aliases;
    size_t alias_count, alias_total;
    struct explain_held *held;
    size_t held_count, held_total;
    struct explain_fault *faults;
    size_t fault_count, fault_total;

    char near[EXPLAIN_NEAR_MAX][EXPLAIN_ID_MAX + 1];
    size_t near_count;
    struct explain_away etcd, api;
};

/* Writes the id of NAMESPACE/SERVICE. Returns false if the text is not of that form, which
 * EXPLAIN_EXPECTED describes. */
#define EXPLAIN_EXPECTED "expected NAMESPACE/SERVICE, such as default/kubernetes"
bool explain_parse(const char *text, char ret_id[EXPLAIN_ID_MAX + 1]) MUST_CHECK;

/* Fills ret_explanation for an id of explain_parse; explain_fini frees it. */
void explain_gather(const struct metrics_sources *sources, const char *id,
                    struct explanation *ret_explanation);
void explain_fini(struct explanation *x);

/* Returns whether there is no such Service, and nothing of it is left in etcd. */
bool explain_is_absent(const struct explanation *x);

/* Finds existing Services that id may have meant; returns their number. */
size_t kube2sky_explain_near(const struct inventory *inventory, const char *id,
                             char ret_near[EXPLAIN_NEAR_MAX][EXPLAIN_ID_MAX + 1]);

/* Append the page, as JSON and as text. */
void explain_json(const struct explanation *x, struct buf *out);
void explain_text(const struct explanation *x, struct buf *out);

/* Serves the page: an http_handler; data is a struct metrics_sources. Sends 200; 400 for a text
 * that is no NAMESPACE/SERVICE; 404 for a Service that does not exist; 503 while Services are not
 * listed yet. With `&text` the page is for people. */
void explain_page_handle(void *data, const struct http_request *request, struct http_reply *reply);

/* Asks the kube2sky at that address, for --explain, and prints its response. Blocks. Fails with a
 * message if it cannot be reached, or knows no such Service. */
int kube2sky_explain_client(const struct addr *server, const char *id, struct err *err) MUST_CHECK;

#endif
