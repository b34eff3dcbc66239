/* Offers the sockets of this skydns to a new one that takes them over (-reuse-port;
 * handover_join_internal.h). Main thread.
 *
 * Answers a new one at once with the sockets themselves, and goes on reading them until it says
 * that it serves. One at a time is known by its secret: a later one replaces it, as the earlier may
 * hang for ever. Others have HANDOVER_HELLO_S to say the secret, and the next one takes their
 * place. Whatever a peer sends, this skydns goes on. */
#ifndef SKYDNS_HANDOVER_HANDOVER_OFFER_H
#define SKYDNS_HANDOVER_HANDOVER_OFFER_H

#include <ev.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/handover/handover_place.h"
#include "skydns/listen/passed_sockets.h"

struct handover_offer;

struct handover_offer_config {
    struct ev_loop *loop;
    const struct handover_place *place;       /* for the call */
    const struct passed_sockets *sockets;     /* borrowed, as are their descriptors */
    void (*taken)(void *data, pid_t process); /* another one serves: leave the sockets */
    void *data;
};

enum { HANDOVER_HELLO_S = 2 };

/* Listens. Replaces the socket of one that has ended, or that hands over just now. */
int handover_offer_new(const struct handover_offer_config *config,
                       struct handover_offer **ret_offer, struct err *err) MUST_CHECK;
void handover_offer_free(struct handover_offer *offer); /* not from `taken`; NULL is fine */

/* Counts for the metrics: starts that had no right to the sockets, or spoke nonsense. */
uint64_t handover_offer_refused(const struct handover_offer *offer); /* NULL: 0 */

#endif
