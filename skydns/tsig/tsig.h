/* Checks and makes TSIGs (RFC 8945): a query's is checked; a response, or each message of a
 * transfer, gets one. Pure but for libcrypto's HMAC (tsig_hmac.c); any thread. All that was read of
 * the query is in struct tsig_query. A query that waits keeps a part of that, and its response is
 * signed with the key that has that name by then.
 *
 *     tsig_open ──▶ TSIG_NONE       no TSIG record: as ever
 *                   TSIG_GOOD       then tsig_sign each message
 *                   TSIG_BAD_*      NOTAUTH, with the error in its TSIG record: tsig_sign, too,
 *                                   which leaves BADKEY and BADSIG unsigned (5.2, 5.3.2)
 *                   TSIG_MALFORMED  FORMERR: it is not the last record, or there are two (5.1)
 *
 * A query that fast_query_read reads has no such record, and need not come here. */
#ifndef SKYDNS_TSIG_TSIG_H
#define SKYDNS_TSIG_TSIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/tsig/tsig_keys.h"

enum {
    TSIG_MAC_MAX = 64, /* SHA-512 */
    /* Room for the owner, fixed fields, algorithm's name, time, MAC, and BADTIME's other data. */
    TSIG_RECORD_MAX = DNAME_MAX + 10 + DNAME_MAX + 16 + TSIG_MAC_MAX + 6,
    TSIG_ALGORITHM_MAX = 13, /* of a known one: "hmac-sha512." */
    /* Room for the same with a known key. */
    TSIG_KNOWN_MAX = TSIG_NAME_MAX + 10 + TSIG_ALGORITHM_MAX + 16 + TSIG_MAC_MAX + 6,
    /* Limits a query with a TSIG that is read at all: the longest name, an SOA for IXFR, EDNS
     * options. Beyond it: TSIG_MALFORMED, so that nobody has 64 KB hashed for a question. */
    TSIG_QUERY_MAX = 2048,
};

enum tsig_verdict {
    TSIG_NONE,
    TSIG_GOOD,
    TSIG_BAD_KEY,
    TSIG_BAD_SIG,
    TSIG_BAD_TIME,
    TSIG_BAD_TRUNC, /* RFC 8945 5.2.2.1: truncated below half of the MAC, or 10 bytes */
    TSIG_MALFORMED,
    TSIG_VERDICTS
};

/* Position of the record in a message, from those who read the message (question.h). */
struct tsig_place {
    uint16_t at;       /* 0: there is none, or it is no whole message */
    bool is_misplaced; /* not the last record, or there are two (5.1) */
};

/* TSIG record of a query. */
struct tsig_query {
    enum tsig_verdict verdict;
    const struct tsig_key *key; /* once it is known; borrowed from the keys */
    struct dname key_name;      /* as the query has it */
    struct dname algorithm;
    uint64_t time_s; /* signed at; 48 bits */
    uint16_t fudge_s;
    uint16_t original_id;
    uint8_t mac_len;
    uint8_t mac[TSIG_MAC_MAX];
    size_t plain_len; /* of the query without the record */
};

/* Verifies a query whose record is there. Compares in constant time. */
enum tsig_verdict tsig_open(const struct tsig_keys *keys, const uint8_t *wire, size_t len,
                            const struct tsig_place *place, int64_t now_s, struct tsig_query *ret);

/* Parts of a query with a good record that its late response needs. */
struct tsig_state {
    uint8_t mac_len, mac[TSIG_MAC_MAX];
    uint8_t name_len, name[TSIG_NAME_MAX]; /* both as the query has them */
    uint8_t algorithm_len, algorithm[TSIG_ALGORITHM_MAX];
};

void tsig_keep(const struct tsig_query *query, struct tsig_state *ret_kept);

/* Restores the query when these are the keys. Returns false if its key is no longer among them. */
bool tsig_restore(const struct tsig_keys *keys, const struct tsig_state *kept,
                  struct tsig_query *ret) MUST_CHECK;

/* Returns how many bytes tsig_sign adds to a response to this query. */
size_t tsig_reply_size(const struct tsig_query *query);

/* Appends the TSIG record to a response, which has tsig_reply_size more bytes; returns the new
 * length. The MAC covers the query's MAC as prefix. In a transfer (RFC 8945 5.3.1) it covers
 * `previous`, the MAC of the message before, instead; previous_len 0: this is the first. ret_mac,
 * unless NULL, gets this message's MAC, as long as *ret_mac_len says. */
size_t tsig_sign(const struct tsig_query *query, const uint8_t *previous, size_t previous_len,
                 int64_t now_s, uint8_t *reply, size_t len, uint8_t ret_mac[TSIG_MAC_MAX],
                 size_t *ret_mac_len);

#endif
