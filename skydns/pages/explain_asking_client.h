/* Explains the client that asks: which namespace it has and why, what is hidden from it, its
 * limits, and its search list. Main thread; pure. */
#ifndef SKYDNS_PAGES_EXPLAIN_ASKING_CLIENT_H
#define SKYDNS_PAGES_EXPLAIN_ASKING_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/answer/view.h"
#include "skydns/clients/client_view.h"
#include "skydns/engine/rate_limit.h"
#include "skydns/engine/search_list.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

/* Ways in which the client has its namespace, or reasons why it has none. */
enum explain_identity {
    EXPLAIN_ANYBODY,    /* no client was named: it sees everything and has no search list */
    EXPLAIN_NOT_WANTED, /* no setting needs namespaces */
    EXPLAIN_BY_POD,     /* the pod with its address */
    EXPLAIN_OF_NODE,    /* a pod shares the address with its node */
    EXPLAIN_SHARED,     /* pods of several namespaces have it */
    EXPLAIN_NO_POD,     /* no pod has it, or it is not known yet which of them are on their nodes'
                         * network */
};

/* Result of the search for one candidate name. */
enum explain_outcome {
    EXPLAIN_ANSWERS,
    EXPLAIN_NO_DATA, /* the name exists, without records of the type */
    EXPLAIN_NO_NAME,
    EXPLAIN_FAILED,
    EXPLAIN_ASKED,     /* an upstream decides */
    EXPLAIN_TOO_SHORT, /* -ndots keeps it from being forwarded */
    EXPLAIN_TOO_LONG,  /* for a name */
};

/* Reasons why the client's queries for external names are answered. */
enum explain_recursion {
    EXPLAIN_RECURSION_NOT_ASKED,  /* the name is not external, or no client is named */
    EXPLAIN_RECURSION_FOR_ALL,    /* -allow-recursion=all */
    EXPLAIN_RECURSION_ALLOWED_BY, /* a network of -allow-recursion, or of its default */
    EXPLAIN_RECURSION_REFUSED,
};

struct explain_asking_client {
    enum explain_identity identity;
    struct ip ip;
    size_t spaces;                         /* SHARED: how many */
    struct client_view view;               /* borrowed until the loop turns */
    struct client_description description; /* BY_POD; borrowed, too */
    bool is_refused;                       /* not in a network of -allow */
    const struct network *network; /* of -allow, which contains it, or NULL; borrowed, too */

    /* Set if the name is external. */
    enum explain_recursion recursion;
    const struct network *recursion_network; /* that contains the client, or NULL; borrowed, too */

    uint32_t rate, burst; /* its limit over UDP; 0: none */
    bool has_left;
    uint32_t left;              /* of the burst, now */
    struct rate namespace_rate; /* its namespace's limit; 0: none, or it has no namespace */
    bool has_namespace_left;
    uint32_t namespace_left; /* that the client may have, now */
    bool has_near;           /* the name's records have zones, and the client has one: -topology */
    size_t far_count; /* of its addresses and targets left out, since they are not in that zone */
    size_t hidden_len;
    char hidden[63]; /* the namespace that hides the name; hidden_len 0: nothing does */

    struct search_list_names path;
    size_t tried; /* of its names, the first ones */
    enum explain_outcome outcomes[SEARCH_LIST_NAMES_MAX];
    bool has_answer;  /* the last one tried is it, or decides */
    bool has_failed;  /* without an answer: SERVFAIL, since one failed */
    bool has_no_data; /* without an answer, and none failed: NODATA, since one exists */
};

/* Fills it in for an address, "10.1.0.7"; NULL or "": no client is named. ERR_USAGE: no address. */
int explain_asking_client(const struct engine_config *config, const char *address,
                          struct explain_asking_client *ret, struct err *err) MUST_CHECK;

/* Notes whether the client may query external names. */
void explain_asking_client_recursion(const struct engine_config *config,
                                     struct explain_asking_client *client);

/* Notes why a lower-cased name is hidden from the client, if it is. */
void explain_asking_client_hidden(const struct view *view, const struct dname *name,
                                  struct explain_asking_client *client);

#endif
