/* Follows what kube2sky writes of a domain's clients beside the records:
 *
 *     /kube2sky/<domain>/node-address/10-1-0-1  {"host":"10.1.0.1"}
 *     /kube2sky/<domain>/visible/<namespace>    a list of namespaces, or "*"
 *
 * The first is an address that pods share with their node: it identifies no client. Of these,
 * 0-0-0-0 stands for every address: kube2sky cannot know the pods. The second lists the namespaces
 * that may see this one's names. A third kind describes clients:
 *
 *     /kube2sky/<domain>/client/10-1-0-5        record_keys_internal.h
 *
 * and a fourth, if it is wanted, the addresses of headless Services:
 *
 *     /kube2sky/<domain>/topology/prod/web      topology_keys_internal.h
 *
 * Each is a mirror: three or four watches on the connection that exists anyway. Like the records,
 * the keys survive an etcd that came back without its data until kube2sky has written everything
 * again. An etcd whose user may not read them is asked every 10 s, with one warning; what was read
 * before counts until it is denied for the second time. A malformed value is skipped, logged once
 * and remembered with the broken keys (broken.h). Owned by clients.c; main thread. */
#ifndef SKYDNS_SYNC_CLIENT_MARKS_INTERNAL_H
#define SKYDNS_SYNC_CLIENT_MARKS_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

struct broken_table;
struct buf;
struct client_index;
struct clients;
struct client_marks;
struct etcd;
struct visible_namespace;

enum {
    /* Limits one domain's addresses; Kubernetes has 5,000 nodes at most. With more, the domain's
     * pods identify no client, since it is not known which of them share a node's address. */
    CLIENT_MARKS_ADDRESSES_MAX = 65536,
    /* Limits one list: 1,024 names (visibility.h). A longer one is unusable. */
    CLIENT_MARKS_LIST_MAX = 64 * 1024,
    /* Limits all lists of one domain, some hundred bytes for each of 10,000 namespaces: the longest
     * are left out. */
    CLIENT_MARKS_LISTS_MAX = 4 * 1024 * 1024,
    /* Limits lists including those left out: further ones are unusable until all is read again. */
    CLIENT_MARKS_LISTS_HELD_MAX = 2 * CLIENT_MARKS_LISTS_MAX,
    /* Limits one domain's client records, of 100 bytes each: Kubernetes has 150,000 pods at most,
     * with two addresses. Further clients are known by the pods' keys alone. */
    CLIENT_MARKS_RECORDS_MAX = 524288,
};

struct client_marks_config {
    struct ev_loop *loop;
    struct etcd *etcd;           /* borrowed */
    int64_t stale_max_ms;        /* as of the records */
    struct broken_table *broken; /* borrowed */
    struct client_index *index;  /* borrowed; gets the addresses and client records of
                                  * known domains */
    /* Bytes that client_marks_save appended in an earlier process, checked; borrowed until the
     * first client_marks_set_domains, which restores its domains from them. What they say is not
     * told before etcd has confirmed or corrected it. */
    struct slice saved;
    struct slice saved_records;  /* likewise, of client_marks_save_records; */
    struct slice saved_topology; /* and of client_marks_save_topology: these count at once */

    struct clients *owner;
};

/* Returns true if client_marks_save can have appended the bytes; no bytes are fine, too. */
bool client_marks_is_saved(struct slice saved) MUST_CHECK;
bool client_marks_are_records_saved(struct slice saved) MUST_CHECK;
bool client_marks_is_topology_saved(struct slice saved) MUST_CHECK;

struct client_marks *client_marks_new(const struct client_marks_config *config);
void client_marks_free(struct client_marks *marks); /* NULL is fine; tells nothing */

/* Appends what was told last. Returns false, and appends nothing, if something is not known yet. */
bool client_marks_save(const struct client_marks *marks, struct buf *out) MUST_CHECK;

/* Appends the client records that were told last; nothing if there are none, or they exceed the
 * buffer's limit: etcd has them all. A domain with unknown records is saved as unknown. */
void client_marks_save_records(const struct client_marks *marks, struct buf *out);

/* Does the same for topology keys. */
void client_marks_save_topology(const struct client_marks *marks, struct buf *out);

/* Sets whether topology keys are read; not at first. Turning it off removes what they showed. */
void client_marks_set_topology(struct client_marks *marks, bool wants_topology);

/* Sets the domains in force, at most ENGINE_ZONES_MAX; those that stay lose nothing. Calls
 * clients_on_known in any case. */
void client_marks_set_domains(struct client_marks *marks, const struct dname *domains,
                              size_t count);

/* Returns true if it is known which addresses the domain's pods share with nodes, and its client
 * records are known, or etcd denies reading those. */
bool client_marks_is_known(const struct client_marks *marks, const struct dname *domain);

/* Returns true if it is known which of the domain's namespaces others may see: before that, a
 * hidden name may turn out to be visible. */
bool client_marks_are_lists_known(const struct client_marks *marks, const struct dname *domain);

/* Sets whether only metrics depend on the keys: then a denial is no warning. */
void client_marks_set_optional(struct client_marks *marks, bool is_optional);

/* Returns true if, for every domain, etcd or a snapshot has told what there is, or etcd denies
 * reading it. */
bool client_marks_are_settled(const struct client_marks *marks);

/* Puts the addresses and client records of the known domains into the index, which has none. */
void client_marks_show(const struct client_marks *marks);

/* Remembers its broken keys again, after a full read of the records made the table forget them. */
void client_marks_remember_broken(struct client_marks *marks);

/* Appends the reason and returns true if etcd denies reading some of these keys, except client
 * records; pods are not known; or lists are left out. */
bool client_marks_explain_trouble(const struct client_marks *marks, struct buf *out);

/* Reads the address in the value of a key below node-address. Pure. */
bool client_marks_read_address(struct slice value, struct ip *ret_ip) MUST_CHECK;

/* ---- clients.c: called in this order when a commit, a denial, or the end of a domain has changed
 * something ---- */

/* Notes that client_marks_is_known of a domain has changed. */
void clients_on_known(struct clients *clients);

/* Receives the lists of all domains, in no order; a namespace has one in each. */
void clients_on_visible(const struct clients *clients, const struct visible_namespace *listed,
                        size_t count);

/* Notes that client_marks_are_lists_known of a domain has changed. */
void clients_on_lists_known(const struct clients *clients);

/* Ends the calls about this change. */
void clients_on_ended(struct clients *clients);

#endif
