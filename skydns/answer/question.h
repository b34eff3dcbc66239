/* A client's message, checked and taken apart: header, the one question, EDNS. The engine calls it
 * first for every query, on any thread; what it refuses never reaches the records. Pure. */
#ifndef SKYDNS_ANSWER_QUESTION_H
#define SKYDNS_ANSWER_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"

enum question_verdict {
    QUESTION_OK,
    QUESTION_DROP,    /* no header, or itself a response: a reply could go round for ever */
    QUESTION_FORMERR, /* not a message, not one question, or broken EDNS */
    QUESTION_NOTIMP,  /* an opcode other than QUERY */
    QUESTION_BADVERS, /* EDNS of a version that is not ours, RFC 6891 6.1.3 */
};

struct question {
    uint16_t id;
    uint8_t opcode;
    bool recursion_desired;

    /* name.len 0: the question was not read, and a reply repeats none. */
    struct dname name; /* case as typed */
    uint16_t type;
    uint16_t qclass;

    bool has_edns;
    bool dnssec_ok;
    uint16_t udp_size; /* as the client says in EDNS */
};

/* Fills in what could be read, whatever the verdict but DROP: a FORMERR repeats the question if it
 * was not the question that was wrong. The query's question name is not compressed, so that
 * replies may point into it at offset 12. */
enum question_verdict question_parse(const uint8_t *wire, size_t len,
                                     struct question *ret_question) MUST_CHECK;

#endif
