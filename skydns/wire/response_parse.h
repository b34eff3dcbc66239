/* Parses a response once, into a table: the header and question, and the offset of each record. It
 * is the only parser of responses from outside; all code that relays, caches or follows one reads
 * the table instead of the bytes.
 *
 *     bytes --> response_head_read --> is this ours? id, question, capitals (upstream_message.h)
 *               response_parse ------> parsed_response: head | answer | authority | additional
 *
 * The head costs one name, so that a forged datagram costs no more. The table's cost is linear in
 * the bytes, whatever the counts say: a record has 11 bytes at least, so there are 5,957 at most,
 * and a name 255 at most (dname.h). Owner names are checked. Rdata is not; rdata_layout.h says
 * where it has names.
 *
 * Pure; any thread. The table borrows the bytes and owns its records. */
#ifndef SKYDNS_WIRE_RESPONSE_PARSE_H
#define SKYDNS_WIRE_RESPONSE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/dns/dname.h"

enum response_section {
    RESPONSE_ANSWER,
    RESPONSE_AUTHORITY,
    RESPONSE_ADDITIONAL,
    RESPONSE_SECTIONS,
};

/* The header, and the question if there is one. */
struct response_head {
    bool is_readable; /* at most one question, and that one is whole */
    uint16_t flags;   /* 0: fewer bytes than a header has */
    uint16_t questions;
    uint16_t counts[RESPONSE_SECTIONS]; /* of records, as the header says */
    size_t records_at;                  /* the end of the question, if is_readable */
    struct dname name;                  /* in the response's spelling; len 0: no question */
    uint16_t type, qclass;
};

struct response_rr {
    uint16_t owner_at; /* of records of one name in a row: the first one's */
    uint16_t data_at, data_len;
    uint16_t type, rr_class;
    uint32_t ttl_s;      /* RFC 2181 8: 0 if its top bit is set */
    uint32_t owner_hash; /* response_name_hash */
};

struct parsed_response {
    const uint8_t *bytes; /* borrowed */
    size_t len;
    struct response_head head;
    bool is_whole; /* there are as many records as the head says; bytes after them are ignored */
    size_t count;  /* of the records before the first that is malformed, in all sections */
    struct response_rr *rrs;       /* owned; in order */
    const struct response_rr *opt; /* the additional section's first; NULL: none */
};

/* Reads only the header and the question. */
void response_head_read(const uint8_t *bytes, size_t len, struct response_head *ret_head);

/* Returns whether the response has exactly this question, in any spelling. */
bool response_head_asks(const struct response_head *head, const struct dname *name, uint16_t type,
                        uint16_t qclass);

/* Always returns a table, maybe an empty one: see head.is_readable and is_whole. The caller frees
 * it. seeded_hash_init comes first if hashes matter. */
void response_parse(const uint8_t *bytes, size_t len, struct parsed_response *ret_response);
void response_parse_fini(struct parsed_response *response);

/* Copies the table over a copy of the bytes, `bytes`, of the same length: borrowed. */
void response_copy(const struct parsed_response *response, const uint8_t *bytes,
                   struct parsed_response *ret_copy);

/* Drops the records that `drops` chooses from a sound table, and from the head's counts. It asks
 * once for records of one name and type in a row. */
typedef bool (*response_drops)(const void *data, enum response_section section, uint16_t type,
                               const struct dname *owner);
void response_drop(struct parsed_response *response, response_drops drops, const void *data);

/* A section's parsed records: rrs[from] to rrs[to - 1]. */
struct response_span {
    size_t from, to;
};
struct response_span response_section_span(const struct parsed_response *response,
                                           enum response_section section);

/* Returns the offset after the span's last record, at which further records would begin. */
size_t response_span_end(const struct parsed_response *response, struct response_span span);

/* Returns the upper bits of the rcode that an OPT record has in place of a TTL (RFC 6891 6.1.3). */
uint8_t response_rr_extended_rcode(const struct parsed_response *response,
                                   const struct response_rr *opt);

/* Returns whether any OPT record has such bits: the lower ones mean something else then. */
bool response_has_extended_rcode(const struct parsed_response *response);

/* Returns a hash that all spellings share: a chain is followed by comparing numbers, not names. */
uint32_t response_name_hash(const struct dname *name);

/* Returns a record's owner, as spelled. */
struct dname response_rr_owner(const struct parsed_response *response,
                               const struct response_rr *rr);

/* A name whose records are looked for in one response. */
struct response_name {
    struct dname name;
    uint32_t hash;     /* response_name_hash */
    uint16_t owner_at; /* where it was found as an owner, so that it is read once; 0: nowhere yet */
};
struct response_name response_name_of(const struct dname *name);
struct response_name response_rr_name_of_owner(const struct parsed_response *response,
                                               const struct response_rr *rr);

/* Returns whether the name, in any spelling, is the record's owner. */
bool response_rr_is_of(const struct parsed_response *response, const struct response_rr *rr,
                       struct response_name *name);

/* Returns a reader over the OPT record's options, at offsets of the message (edns_option_next);
 * empty without OPT. */
struct reader response_options(const struct parsed_response *response);

/* Returns the seconds for which a denial with this SOA holds: the smaller of its TTL and its last
 * field (RFC 2308 5). */
uint32_t response_rr_denial_ttl_s(const struct parsed_response *response,
                                  const struct response_rr *soa);

/* Reads a name within the rdata, `offset` bytes into it. *ret_end, unless NULL, is the first byte
 * of the message after it, at most the end of the rdata. Returns false when there is none. */
bool response_rr_name(const struct parsed_response *response, const struct response_rr *rr,
                      size_t offset, struct dname *ret_name, size_t *ret_end) MUST_CHECK;

#endif
