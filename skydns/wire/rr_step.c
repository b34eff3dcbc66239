#include "skydns/wire/rr_step.h"

#include "common/dns/dname.h"
#include "common/dns/dns.h"

bool rr_step_question(struct reader *r)
{
    return dname_skip(r) && reader_take(r, DNS_QUESTION_TAIL);
}

bool rr_step_next(struct reader *r, struct rr_step *ret)
{
    return dname_skip(r) && rr_step_body(r, ret);
}
