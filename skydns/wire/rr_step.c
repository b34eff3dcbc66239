#include "skydns/wire/rr_step.h"

#include "common/dns/dname.h"
#include "common/dns/dns.h"

bool rr_step_name(struct reader *r)
{
    enum { POINTER = 0xc0 };
    uint8_t label;
    while ((label = reader_u8(r)) > 0 && label <= DNAME_LABEL_MAX) {
        (void)reader_take(r, label); /* the reader remembers the failure */
    }
    if (label >= POINTER) {
        (void)reader_u8(r);
    } else if (label > 0) {
        r->failed = true;
    }
    return !r->failed;
}

bool rr_step_question(struct reader *r)
{
    return rr_step_name(r) && reader_take(r, DNS_QUESTION_TAIL);
}

bool rr_step_next(struct reader *r, struct rr_step *ret)
{
    return rr_step_name(r) && rr_step_body(r, ret);
}
