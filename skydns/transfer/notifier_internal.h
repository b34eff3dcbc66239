/* Sends NOTIFY (RFC 1996), which tells secondaries that a zone has a new serial: over UDP, without
 * TSIG. Each pair of a secondary and a zone has its own pace. A message leaves at once or, if the
 * last one is not a second old, when it is; again after 1, 2, 4 and 8 seconds until there is a
 * response; then it is given up until the zone changes again. A silent secondary delays no other. A
 * response counts only if it comes from the address that was asked, with the ID and the zone of the
 * question.
 *
 * Asks the secondary for the zone's SOA, too, until it has the serial that it is told. The serial
 * that it has instead, perhaps from an earlier process or another reader, is known nowhere else
 * (serial.h). Its first answer, and that after notifier_ask_serials, counts for more. So that this
 * answer tells of the time when it was asked, the question is sent at once, and an answer to it
 * counts however late it comes.
 *
 * On the loop of the transfers' thread. At most TRANSFER_ACCESS_MAX secondaries. */
#ifndef SKYDNS_TRANSFER_NOTIFIER_INTERNAL_H
#define SKYDNS_TRANSFER_NOTIFIER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/transfer/transfers.h"

enum { NOTIFY_PAUSE_MS = 1000, NOTIFY_TRIES = 5 };

struct notifier;

struct notifier_config {
    struct ev_loop *loop;
    const struct addr *from;         /* two: IPv4 and IPv6, as transfers_config.notify_from */
    struct transfers_counts *counts; /* borrowed */
    int64_t pause_ms;                /* NOTIFY_PAUSE_MS; shorter in tests */
    /* Called when a secondary has this serial of a zone; may call notifier_tell. `is_first`: it has
     * said nothing since it was told first, or since notifier_ask_serials. NULL: none is asked. */
    void (*heard)(void *data, const struct dname *apex, uint32_t serial, bool is_first);
    void *data;
};

struct notifier *notifier_new(const struct notifier_config *config);
void notifier_free(struct notifier *notifier); /* NULL is fine */

/* Sets whom to tell from now on; those who were told before keep their pace. */
void notifier_set_targets(struct notifier *notifier, const struct addr *targets, size_t count);

/* Tells secondaries of a serial of the zone that they have not been told. */
void notifier_tell(struct notifier *notifier, const struct dname *apex, uint32_t serial);

/* Asks secondaries which serials they have, since settings have changed. Sends the question when
 * the zone is told next, also of the same serial. */
void notifier_ask_serials(struct notifier *notifier);

/* Tells nobody of any zone any more. */
void notifier_forget(struct notifier *notifier);

/* Returns whether bytes from a secondary answer the NOTIFY with this ID about this lower-cased
 * zone. Pure; for fuzzing, too. */
bool notifier_is_reply(const uint8_t *wire, size_t len, uint16_t id,
                       const struct dname *apex) MUST_CHECK;

/* Returns whether they answer the question for the SOA, and the serial in the answer. */
bool notifier_is_answer(const uint8_t *wire, size_t len, uint16_t id, const struct dname *apex,
                        bool *ret_has_serial, uint32_t *ret_serial) MUST_CHECK;

#endif
