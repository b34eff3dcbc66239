/* A nameserver's reply to an external question: the first byte selects the question, the rest is
 * the reply. */
#include <assert.h>

#include "common/dns/dns.h"
#include "skydns/upstream/external.h"
#include "tests/fuzz/fuzz_target.h"

/* Checks that packed records can be read back to their end, and that only answers have addresses.
 */
static void external_check(const struct external_answer *answer)
{
    struct external_reader reader = external_answer_read(answer, slice_of("", 1));
    struct external_rr rr;
    size_t cnames = 0, addresses = 0;
    while (external_answer_next(&reader, &rr)) {
        assert(rr.ttl_s <= EXTERNAL_TTL_MAX_S && rr.owner.len > 0);
        cnames += rr.type == DNS_TYPE_CNAME;
        addresses += rr.type == answer->question.type;
        assert(rr.type != DNS_TYPE_CNAME || addresses == 0);
    }
    assert(reader.packed.pos == answer->records.len && cnames <= EXTERNAL_CNAMES_MAX);
    switch (answer->outcome) {
    case EXTERNAL_ANSWERED:
        assert(addresses > 0);
        break;
    case EXTERNAL_DENIED:
        assert(addresses == 0);
        break;
    case EXTERNAL_TRUNCATED:
        break;
    case EXTERNAL_FAILED:
        assert(cnames + addresses == 0);
        break;
    case EXTERNAL_NOT_ASKED:
        assert(false);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct external_answer answer = {.question.type = DNS_TYPE_A};
    struct parsed_response response;
    struct buf packed;
    if (size == 0 || size > 1 + DNS_MESSAGE_MAX) {
        return 0;
    }
    answer.question.type = data[0] & 1 ? DNS_TYPE_AAAA : DNS_TYPE_A;
    if (dname_from_text(slice_str(data[0] & 2 ? "www.example.com." : "a.b."),
                        &answer.question.name)) {
        buf_init(&packed, data[0] & 4 ? 64 : EXTERNAL_PACKED_MAX);
        response_parse(data + 1, size - 1, &response);
        answer.outcome = external_read(&answer.question, &response, EXTERNAL_TTL_MAX_S, &packed);
        response_parse_fini(&response);
        answer.records = buf_slice(&packed);
        assert(!packed.failed || answer.outcome == EXTERNAL_TRUNCATED ||
               answer.outcome == EXTERNAL_FAILED);
        external_check(&answer);
        buf_fini(&packed);
    }
    return 0;
}
