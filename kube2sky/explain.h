/* Explains why a Service's records are in etcd, or not: `GET /explain?service=NAMESPACE/SERVICE`
 * and `kube2sky --explain`. explain.c gathers the knowledge of inventory and reconciler,
 * explain_page.c writes it. Changes nothing. On the main loop, but for kube2sky_explain_client. */
#ifndef KUBE2SKY_EXPLAIN_H
#define KUBE2SKY_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
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

/* Lists of the page, in its order. */
enum explain_list {
    EXPLAIN_FAULTS,
    EXPLAIN_SKIPPED, /* what cannot be part of a key */
    EXPLAIN_KEYS,
    EXPLAIN_REVERSE,
    EXPLAIN_HELD_BACK,
    EXPLAIN_ALIASES, /* external names that lead to the Service, or would (external_aliases.h) */
    EXPLAIN_LISTS
};

/* Holds what is known of a Service, gathered for one page. */
struct explanation {
    const struct metrics_sources *sources;
    bool is_for_text;                  /* with the members that only the form of the text has */
    char id[EXPLAIN_ID_MAX + 1];       /* "default/web", in lower case */
    const struct kube_object *service; /* borrowed until the next change; NULL: absent */
    bool is_listed;                    /* all Services of its namespace are known */
    bool is_followed;                  /* its namespace is followed, as far as is known */

    /* Addresses of a headless Service; for other Services they are not stored */
    size_t ready;
    size_t not_ready;

    struct owner_report report;
    size_t states[OWNER_KEY_STATES]; /* its own keys, counted */
    struct {
        struct buf entries;  /* as JSON: the first EXPLAIN_LIST_MAX ones, */
        size_t count, total; /* and the number of all */
    } lists[EXPLAIN_LISTS];
};

/* Writes the id of NAMESPACE/SERVICE. Returns false if the text is not of that form, which
 * EXPLAIN_EXPECTED describes. */
#define EXPLAIN_EXPECTED "expected NAMESPACE/SERVICE, such as default/kubernetes"
bool explain_parse(const char *text, char ret_id[EXPLAIN_ID_MAX + 1]) MUST_CHECK;

/* Return whether kube2sky follows the namespace of such an id, by --namespaces and, as far as the
 * Namespaces are known, by --namespace-labels. */
bool explain_follows_namespace(const struct metrics_sources *sources, const char *id);
bool explain_selects_namespace(const struct metrics_sources *sources, const char *id);

/* Finds existing Services that id may have meant; returns their number. */
size_t kube2sky_explain_near(const struct inventory *inventory, const char *id,
                             char ret_near[EXPLAIN_NEAR_MAX][EXPLAIN_ID_MAX + 1]);

/* Appends the page: JSON, of which a form makes the text; for a Service of which nothing is left in
 * etcd (is_absent) with another one. */
void explain_service_write(const struct explanation *x, bool is_absent, struct buf *out);

/* Serves the page: an http_handler; data is a struct metrics_sources. Sends 200; 400 for a text
 * that is no NAMESPACE/SERVICE; 404 for a Service that does not exist; 503 while Services are not
 * listed yet. With `&text` the page is for people. */
void explain_page_handle(void *data, const struct http_request *request, struct http_reply *reply);

/* Asks the kube2sky at that address, for --explain, and prints its response. Blocks. Fails with a
 * message if it cannot be reached, or knows no such Service. */
int kube2sky_explain_client(const struct addr *server, const char *id, struct err *err) MUST_CHECK;

#endif
