/* Names outside the domain that CNAME and SRV records point to: the questions the answer layer asks
 * about them, and upstream's answers. Plain data; owns nothing. */
#ifndef SKYDNS_ANSWER_EXTERNAL_ANSWER_H
#define SKYDNS_ANSWER_EXTERNAL_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"

struct external_question {
    struct dname name;
    uint16_t type; /* A or AAAA */
};

/* A record of upstream's answer to an external question: the CNAMEs in order come first, then the
 * addresses. */
struct external_rr {
    struct dname owner;
    uint16_t type; /* CNAME, A, AAAA */
    uint32_t ttl_s;
    struct dname target; /* CNAME */
    struct ip ip;        /* A, AAAA */
};

/* 32: a chain of 16 CNAMEs and a dozen addresses; further records are dropped. */
enum { EXTERNAL_RRS_MAX = 32 };

struct external_answer {
    struct external_question question;
    size_t count; /* 0: no such name, no data, or upstream failed */
    struct external_rr rrs[EXTERNAL_RRS_MAX];
};

struct external_answers {
    size_t count;
    const struct external_answer *items;
};

#endif
