/* Serves one client's request for a zone, from its bytes to its last message: which kind of
 * transfer it gets, its TSIGs, its counts and its log line. No I/O. The transfers' thread. */
#ifndef SKYDNS_TRANSFER_TRANSFER_TASK_INTERNAL_H
#define SKYDNS_TRANSFER_TRANSFER_TASK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/dns/dns.h"
#include "skydns/transfer/transfer_message_internal.h"
#include "skydns/transfer/transfer_zones_internal.h"
#include "skydns/transfer/transfers.h"
#include "skydns/tsig/tsig.h"
#include "skydns/wire/edns.h"

/* Request as it came. */
struct transfer_request {
    struct transfer_origin origin;
    struct addr client, local;
    struct tsig_keys *keys; /* a reference; NULL: none */
    uint16_t udp_max;       /* of a reply over UDP */
    size_t len;
    uint8_t wire[TSIG_QUERY_MAX];
};

struct transfer_task {
    TAILQ_ENTRY(transfer_task) entry; /* its owner's */
    uint64_t id;
    bool has_begun; /* else another transfer of its connection goes first */
    bool is_last;   /* no message follows the last one */
    bool is_unhurt; /* that one was the end of a transfer, or a reply that says why not */
    bool gives_way; /* broken off with the next message */
    bool is_query;  /* its bytes make sense */
    struct transfer_request *request;
    struct transfer_query query;
    struct tsig_query tsig;
    bool is_signed;
    size_t mac_len;
    uint8_t mac[TSIG_MAC_MAX]; /* of the message before */
    int64_t begun_ms;
    struct dname apex;
    uint32_t serial;
    enum transfers_kind kind;
    enum dns_rcode rcode;
    enum edns_error error;            /* of SERVFAIL */
    struct transfer_version *version; /* of a whole zone */
    struct transfer_setup *setup;
    struct transfer_session *session; /* NULL: a reply alone */
    uint64_t messages, bytes;
};

/* Makes a task; takes the request over. */
struct transfer_task *transfer_task_new(struct transfer_request *request, uint64_t id);
void transfer_task_free(struct transfer_task *task);

/* Decides what the client gets. `is_refused`: nothing but SERVFAIL. */
void transfer_task_begin(struct transfer_task *task, struct transfer_zones *zones, int64_t now_ms,
                         bool is_refused);

/* Writes the next message, with its TSIG, into `out`, DNS_MESSAGE_MAX bytes; returns its length and
 * sets is_last. 0: it is broken off. */
size_t transfer_task_next(struct transfer_task *task, struct transfer_zones *zones, int64_t now_ms,
                          int64_t now_s, uint8_t *out);

/* Logs and counts the task, which is over. */
void transfer_task_end(const struct transfer_task *task, struct transfer_zones *zones,
                       enum transfers_result result, int64_t now_ms,
                       struct transfers_counts *counts);

#endif
