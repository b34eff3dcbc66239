/* Makes the messages of one transfer, record by record, in order. A whole zone (RFC 5936 2.2) is
 * made name by name when its messages are asked for, so it holds a version of the record store and
 * little memory. An incremental one (RFC 1995 4) takes its changes from steps of the journal, which
 * it holds. The SOA alone says that the client has everything, or should ask over TCP. No I/O, no
 * clock. The transfers' thread. */
#ifndef SKYDNS_TRANSFER_TRANSFER_SESSION_INTERNAL_H
#define SKYDNS_TRANSFER_TRANSFER_SESSION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/answer/zone_answers.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"
#include "skydns/transfer/journal_internal.h"
#include "skydns/transfer/transfer_message_internal.h"

enum transfer_kind {
    TRANSFER_WHOLE,
    TRANSFER_STEPS,
    TRANSFER_SOA,
};

/* Inputs of a session, borrowed for its life; it takes over only the steps. */
struct transfer_ask {
    enum transfer_kind kind;
    const struct transfer_query *query;
    const struct engine_config *config;
    const struct dname *apex;     /* lower case */
    uint32_t serial;              /* that the client will have */
    struct ip local;              /* the address that the request came to */
    struct zone_answers *answers; /* WHOLE: of the configuration; */
    const struct store *store;    /* of that serial */
    struct journal_step *steps;   /* STEPS: the first; the one that leads to `serial` is the last */
};

struct transfer_session;

struct transfer_session *transfer_session_new(const struct transfer_ask *ask);
void transfer_session_free(struct transfer_session *session);

enum transfer_progress {
    TRANSFER_MORE,
    TRANSFER_DONE,   /* this was the last message */
    TRANSFER_FAILED, /* etcd is known to lack records: end the connection */
};

/* Writes the next message into `out`; not after DONE or FAILED. `cap` is DNS_MESSAGE_MAX less what
 * a TSIG takes, or a UDP client's limit: then any result but DONE says that not all fits. */
enum transfer_progress transfer_session_next(struct transfer_session *session, uint8_t *out,
                                             size_t cap, size_t *ret_len) MUST_CHECK;

/* Returns the records so far, for the log. */
uint64_t transfer_session_records(const struct transfer_session *session);

#endif
