/* Takes over the sockets of a running skydns (-reuse-port), from the side of the new one. Main
 * thread.
 *
 *     handover_join_new       at start: shares the sockets; the running one goes on reading them
 *     handover_join_fd        meanwhile: readable when the running one has ended, or refuses
 *     handover_join_look
 *     handover_join_serving   this one reads the sockets: the running one leaves them
 *     handover_join_free
 *
 * They are the same sockets, not further ones at the same address: what the kernel has queued in
 * them, datagrams and connections, is never lost. A new skydns that ends or hangs before it serves
 * changes nothing. */
#ifndef SKYDNS_HANDOVER_HANDOVER_JOIN_INTERNAL_H
#define SKYDNS_HANDOVER_HANDOVER_JOIN_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/handover/handover_place.h"
#include "skydns/listen/passed_sockets.h"

struct handover_join;

/* Time for the running one to answer. Its main thread is never busy for so long. */
enum { HANDOVER_ANSWER_MS = 5000 };

/* Asks a running skydns for its sockets, which the caller closes. *ret_join is NULL if none runs
 * there. Fails if it is another user's, refuses, or does not answer. */
int handover_join_new(const struct handover_place *place, uid_t user,
                      struct passed_sockets *ret_sockets, struct handover_join **ret_join,
                      struct err *err) MUST_CHECK;
void handover_join_free(struct handover_join *join); /* NULL is fine */

int handover_join_fd(const struct handover_join *join);
pid_t handover_join_process(const struct handover_join *join); /* the running one's */

/* Returns 0 if the running one still waits for this one, 1 if it has ended, or ERR_REFUSED. */
int handover_join_look(const struct handover_join *join, struct err *err) MUST_CHECK;

/* Tells the running one to leave. Returns false if it has ended meanwhile. */
bool handover_join_serving(const struct handover_join *join);

#endif
