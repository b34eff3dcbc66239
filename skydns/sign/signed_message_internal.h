/* A reply of ours taken apart: its RRsets, each in the form that is signed (RFC 4034 6), and its
 * records moved behind what is added before them. Only what encode.c and fast_reply.c write is
 * understood: the question's name uncompressed, an OPT record without options at the end if there
 * is one. Pure; nothing allocates. For signed_*.c. */
#ifndef SKYDNS_SIGN_SIGNED_MESSAGE_INTERNAL_H
#define SKYDNS_SIGN_SIGNED_MESSAGE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/sign/signed_zones.h"
#include "skydns/wire/response.h"

enum {
    /* A record has at least a pointer, its head of 10 bytes and a byte of data. */
    SIGNED_RECORDS_MAX = DNS_MESSAGE_MAX / 13,
    /* RRsets that fit with a signature each: an address and an RRSIG of ECDSA P-256 by a zone of
     * one letter. */
    SIGNED_SETS_MAX = DNS_MESSAGE_MAX / (16 + 12 + 18 + 3 + 64),
    /* Names in data that are whole: an MX record with two bytes of pointer may have 255. */
    SIGNED_CANONICAL_MAX = SIGNED_RECORDS_MAX * (2 + DNAME_MAX),
    SIGNED_NONE = UINT16_MAX, /* no record */
};

enum signed_section { SIGNED_ANSWER, SIGNED_AUTHORITY, SIGNED_ADDITIONAL, SIGNED_SECTIONS };

struct signed_record {
    uint16_t at; /* where its owner begins */
    uint16_t data_at, data_len;
    uint16_t next; /* of its RRset; SIGNED_NONE: it is the last */
};

struct signed_set {
    enum signed_section section;
    uint16_t type;
    uint16_t owner_at; /* where the owner's first label is written */
    uint16_t count;
    uint16_t first, last;
    uint32_t owner_hash; /* of a name other than the question's */
    uint32_t ttl_s;      /* the smallest of its records' */
    const struct dnssec_zone *keys;
};

struct signed_message {
    uint8_t bytes[DNS_MESSAGE_MAX]; /* a copy */
    size_t len;                     /* without OPT */
    struct dname name;              /* the question's, in lower case, */
    struct signed_place place;      /* and where it belongs */
    size_t question_end, answers_end;
    uint16_t counts[SIGNED_SECTIONS]; /* of records, without OPT */
    bool is_signed;                   /* an RRset is in a signed zone */
    bool has_room;                    /* false: there are more than SIGNED_SETS_MAX RRsets, */
    bool has_additionals_room;        /* or only with the additional ones, which are left out */
    size_t record_count, set_count;
    struct signed_record records[SIGNED_RECORDS_MAX];
    struct signed_set sets[SIGNED_SETS_MAX];
};

/* Takes a reply apart, and gives the records of each RRset one TTL (RFC 2181 5.2). `name` is the
 * question's in lower case. False: it is none that we write. */
bool signed_message_read(struct signed_message *message, const struct signed_zones *zones,
                         const struct dname *name, const struct response *response) MUST_CHECK;

/* The name written at an offset, in lower case. */
void signed_message_name(const struct signed_message *message, size_t at, struct dname *ret_name);

/* The RRset of this owner and type in a section, or NULL. */
const struct signed_set *signed_message_find(const struct signed_message *message,
                                             enum signed_section section, const struct dname *owner,
                                             uint16_t type);

/* The data of its records as they are signed, but for their order. They point into the message and
 * into `out`, which has SIGNED_CANONICAL_MAX bytes. */
void signed_message_data(const struct signed_message *message, const struct signed_set *set,
                         struct slice *ret_data, uint8_t *out);

/* Where something in the message is when what is behind the answers is written `shift` bytes
 * further. */
static inline size_t signed_message_moved(const struct signed_message *message, size_t at,
                                          size_t shift)
{
    return at < message->answers_end ? at : at + shift;
}

/* Appends the records of a section behind the answers, of a message that so far has the answers and
 * what was put behind them. False: they do not fit, or a pointer cannot reach its name. */
bool signed_message_move(const struct signed_message *message, enum signed_section section,
                         size_t shift, struct writer *w) MUST_CHECK;

#endif
