/* Finds where a running skydns is met (-reuse-port), and the secret that shows one's right to its
 * sockets. Main thread, at start.
 *
 *     with -snapshot     FILE.handover, FILE.handover-key
 *     without            /tmp/skydns-UID/ADDRESS.handover and .handover-key, in a folder of mode
 * 0700
 *
 * Both are of mode 0600. The secret outlives the processes: who cannot read it is not of this
 * instance, even as the same user, for example in another container. */
#ifndef SKYDNS_HANDOVER_HANDOVER_PLACE_H
#define SKYDNS_HANDOVER_HANDOVER_PLACE_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/handover/handover_message.h"

struct handover_place {
    char socket[PATH_MAX];
    char key[PATH_MAX];
};

/* Sets the paths; makes the folder in /tmp for this user if there is no snapshot ("") beside which
 * they lie. address: the first one that is answered on. */
int handover_place_find(const char *snapshot, const struct addr *address, uid_t user,
                        struct handover_place *ret_place, struct err *err) MUST_CHECK;

/* Reads the secret. -ENOENT: there is none. */
int handover_place_read_key(const struct handover_place *place,
                            uint8_t ret_secret[HANDOVER_SECRET_SIZE], struct err *err) MUST_CHECK;

/* Reads it, or makes one if there is none that can be used. */
int handover_place_make_key(const struct handover_place *place,
                            uint8_t ret_secret[HANDOVER_SECRET_SIZE], struct err *err) MUST_CHECK;

#endif
