/* Says of each address which pods have it, in two kinds of keys (client_keys.h). One has the
 * addresses that pods share with their nodes:
 *
 *     /kube2sky/<domain>/node-address/10-1-0-1  {"host":"10.1.0.1"}
 *
 * the other (--client-records) says which pod has an address of its own:
 *
 *     /kube2sky/<domain>/client/10-1-0-5  {"namespace":"prod","pod":"web-0","node":"n1",
 *                                          "zone":"eu-1a"}
 *
 * Fields without a value are absent. Of several pods of one namespace with the address, only the
 * namespace is known. An address of pods of several namespaces, or of a pod on its node's network,
 * has no client record. Pods that have ended do not count. The zone is the label
 * topology.kubernetes.io/zone of the pod's Node.
 *
 * No client record is wanted before pods and Nodes have been listed, or are refused: an address may
 * have more pods, and a value without its zone would be written twice. A part of client_keys.h;
 * single-threaded. */
#ifndef KUBE2SKY_NAMING_CLIENT_RECORDS_INTERNAL_H
#define KUBE2SKY_NAMING_CLIENT_RECORDS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/client_keys.h"

struct client_records;

struct client_records *client_records_new(const struct client_keys_config *config);
void client_records_free(struct client_records *records);

/* Take the reflectors' events, of KUBE_POD and KUBE_NODE; others are ignored. */
void client_records_list_begin(struct client_records *records, enum kube_kind kind, const char *ns);
void client_records_upsert(struct client_records *records, const struct kube_object *object);
void client_records_remove(struct client_records *records, enum kube_kind kind, const char *ns,
                           const char *name);
void client_records_list_end(struct client_records *records, enum kube_kind kind, const char *ns);

/* Notes that the server refuses to list the kind: nothing waits for it. */
void client_records_lack(struct client_records *records, enum kube_kind kind, const char *ns);

/* Notes whether pods cannot be trusted any longer: then no client record is wanted, and every
 * address counts as shared. */
void client_records_lose(struct client_records *records, bool are_lost);

/* Returns the value that the address's key should have, borrowed until the next call; ptr NULL:
 * none. Here and below, the part is one of the two kinds of keys. */
struct slice client_records_value(const struct client_records *records, enum client_keys_part part,
                                  const struct ip *ip);

/* Takes an address whose value has changed since it was last taken. Returns false if there is
 * none. */
bool client_records_next_change(struct client_records *records, enum client_keys_part part,
                                struct ip *ret_ip);

/* Return whether wanted keys are known, and whether unwanted ones may be deleted. */
bool client_records_are_known(const struct client_records *records);
bool client_records_may_delete(const struct client_records *records, enum client_keys_part part);

/* Returns the number of Nodes, or of pods that have not ended and have addresses; 0 without client
 * records. */
size_t client_records_count(const struct client_records *records, enum kube_kind kind);

#endif
