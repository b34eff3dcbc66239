/* Passes the sockets of the addresses from a running skydns to a new one, without a lost query
 * (-reuse-port). Main thread.
 *
 *     new one                                 running one
 *     handover_open: shares the sockets  ───▶ goes on answering, also if nothing more comes
 *     ... reads a snapshot, etcd
 *     handover_look: is it still there?
 *     ... starts to answer
 *     handover_serve ───────────────────────▶ `taken`: leaves them, ends
 *     offers them to the next one
 *
 * So two never wait for each other: whatever the new one does before it serves, the running one
 * answers; if that ends before, the new one serves at once. */
#ifndef SKYDNS_HANDOVER_HANDOVER_H
#define SKYDNS_HANDOVER_HANDOVER_H

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/handover/handover_offer.h"
#include "skydns/handover/handover_place.h"
#include "skydns/listen/passed_sockets.h"

struct handover;

/* Asks a running skydns of this user for its sockets. place: borrowed. */
int handover_open(struct ev_loop *loop, const struct handover_place *place, uid_t user,
                  struct handover **ret_handover, struct err *err) MUST_CHECK;
void handover_free(struct handover *handover); /* NULL is fine */

/* Returns the sockets that were passed, borrowed; NULL: there are none, or NULL was given. */
const struct passed_sockets *handover_passed(const struct handover *handover);

/* Closes the passed sockets: those that are wanted are shared by now. NULL is fine. */
void handover_opened(struct handover *handover);

/* Returns whether a running skydns answers for this one. False for NULL. */
bool handover_is_joined(const struct handover *handover);

/* Looks after the running one; the loop wakes up when there is something to see. Returns 0, or the
 * code if it refuses. Once it has ended, handover_is_joined is false. */
int handover_look(struct handover *handover, struct err *err) MUST_CHECK;

/* Tells the running one that this one reads the sockets, and offers them to the next one. They and
 * their descriptors are borrowed. `taken`: handover_offer_config. After a handover, it is an error
 * in the log alone that they cannot be offered: nobody else answers. */
int handover_serve(struct handover *handover, const struct passed_sockets *sockets,
                   void (*taken)(void *data, pid_t process), void *data,
                   struct err *err) MUST_CHECK;

/* Returns the offer, for its counts; NULL: none yet. */
const struct handover_offer *handover_its_offer(const struct handover *handover);

/* Returns whether a process that has handed over must wait for its end to be told. A container
 * would be started again at once, and take the addresses back. Its first process has no parent that
 * it could see. */
bool handover_must_stay(void);

#endif
