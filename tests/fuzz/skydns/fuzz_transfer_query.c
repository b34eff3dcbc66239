/* Any bytes as a request for a zone: what is taken for one is a question that the engine takes for
 * one, too, and its reply begins with it. */
#include "common/dns/dns.h"
#include "skydns/transfer/transfer_message_internal.h"
#include "skydns/wire/question.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct transfer_message message;
    static uint8_t out[DNS_UDP_SIZE];
    struct transfer_query query;
    struct question question, repeated;
    if (!transfer_query_parse(data, size, &query)) {
        return 0;
    }
    fuzz_check(question_parse(data, size, &question) == QUESTION_OK);
    fuzz_check(question.type == (query.is_incremental ? DNS_TYPE_IXFR : DNS_TYPE_AXFR));
    fuzz_check(dname_equal(&question.name, &query.zone));
    transfer_message_begin(&message, &query, true, out, sizeof(out));
    const struct zone_rr rr = {.owner = slice_of(query.zone.wire, query.zone.len),
                               .type = DNS_TYPE_NS,
                               .data = slice_of(query.zone.wire, query.zone.len)};
    fuzz_check(transfer_message_add(&message, &rr));
    size_t len = transfer_message_end(&message, DNS_RCODE_NOERROR);
    fuzz_check(len <= sizeof(out) && out[5] == 1 && out[7] == 1);
    out[2] &= 0x7f; /* as a query */
    fuzz_check(question_parse(out, len, &repeated) == QUESTION_OK);
    fuzz_check(dname_equal(&repeated.name, &query.zone) && repeated.type == question.type);
    return 0;
}
