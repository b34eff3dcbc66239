/* Packs the answers about external names that CNAME, SRV and MX records point to: the answer
 * layer's questions, and their outcomes.
 *
 * An answer's records are packed, so that many can wait in little memory.
 * skydns/upstream/external.h packs them on the resolver's thread as a response arrives;
 * follow_external.c reads them. Pure; any thread; an answer owns nothing. */
#ifndef SKYDNS_WIRE_EXTERNAL_ANSWER_H
#define SKYDNS_WIRE_EXTERNAL_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

struct external_question {
    struct dname name;
    uint16_t type; /* A or AAAA */
};

enum external_outcome {
    EXTERNAL_NOT_ASKED, /* nothing is known: only in explanations */
    EXTERNAL_ANSWERED,  /* all addresses */
    EXTERNAL_DENIED,    /* no such name, or no such address: maybe CNAMEs, but no address */
    EXTERNAL_TRUNCATED, /* some of the addresses, maybe none */
    EXTERNAL_FAILED,    /* no upstream gave a usable response: no records */
};

struct external_answer {
    struct external_question question;
    enum external_outcome outcome;
    bool is_nxdomain;      /* DENIED: there is no such name, of any type */
    uint32_t denial_ttl_s; /* DENIED: for how long; 0: that is not known */
    struct slice records;  /* packed: the CNAMEs in order, then the addresses; borrowed */
};

struct external_answers {
    size_t count;
    const struct external_answer *items;
};

/* Returns the answer to a question. NULL: it was not asked. */
const struct external_answer *external_answers_find(const struct external_answers *answers,
                                                    const struct dname *name, uint16_t type);

/* Returns whether each of these questions was asked. */
bool external_answers_cover(const struct external_answers *answers,
                            const struct external_question *questions, size_t count);

/* A record. Its owner is the target of the CNAME before it. */
struct external_rr {
    struct slice owner;
    uint16_t type; /* CNAME, A, AAAA */
    uint32_t ttl_s;
    struct slice data; /* CNAME: a name in wire form; else the address */
};

/* Appends a record, or nothing if it exceeds the buffer's limit. An address takes no more room than
 * its record in a message, and a CNAME 6 bytes besides the name. */
void external_answer_put(struct buf *packed, uint16_t type, uint32_t ttl_s, struct slice data);

/* Cuts the answer to `max` records. An answer that loses some is truncated. */
void external_answer_cut(struct external_answer *answer, size_t max);

struct external_reader {
    struct reader packed;
    struct slice owner;
};

/* Starts to read. `name` is the question's, in the spelling for the first record. The records
 * borrow from it and from the answer. */
struct external_reader external_answer_read(const struct external_answer *answer,
                                            struct slice name);

/* Reads the next record: type, length of the rdata, TTL, rdata. Returns false when there are no
 * more. Inline, since for each of many waiting queries thousands are read. */
static inline bool external_answer_next(struct external_reader *reader, struct external_rr *ret)
{
    struct reader *r = &reader->packed;
    *ret = (struct external_rr){.owner = reader->owner, .type = reader_u8(r)};
    size_t len = reader_u8(r);
    ret->ttl_s = reader_u32(r);
    ret->data = slice_of(reader_take(r, len), len);
    if (r->failed) {
        return false;
    }
    if (ret->type == DNS_TYPE_CNAME) {
        reader->owner = ret->data;
    }
    return true;
}

#endif
