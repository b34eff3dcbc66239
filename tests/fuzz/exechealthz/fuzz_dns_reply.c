/* A reply to the question that it repeats itself, and to others: an accepted reply is large enough
 * for its answer count, and our own query is not accepted as a reply. */
#include <assert.h>

#include "common/base/cursor.h"
#include "exechealthz/dns_message.h"
#include "tests/fuzz/fuzz_target.h"

enum { RECORD_MIN = 1 + 2 + 2 + 4 + 2 }; /* the root's, without data */

static void dns_reply_check(const struct dns_question *question, uint16_t id, const uint8_t *data,
                            size_t size)
{
    struct dns_reply reply = {0};
    switch (dns_reply_read(question, id, data, size, &reply)) {
    case DNS_REPLY_READ:
        assert(size >= DNS_HEADER_SIZE + reply.answers * (size_t)RECORD_MIN);
        assert(reply.rcode <= DNS_MASK_RCODE);
        assert(!reply.has_number || reply.answers == 1);
        break;
    case DNS_REPLY_MALFORMED:
    case DNS_REPLY_UNRELATED:
        assert(reply.answers == 0); /* not written */
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dns_question question = {.type = DNS_TYPE_A, .qclass = DNS_CLASS_IN, .name = {.len = 1}};
    uint8_t query[DNS_QUERY_MAX];
    struct reader r = reader_of(data, size);
    uint16_t id = reader_u16(&r);
    dns_reply_check(&question, id, data, size);
    reader_seek(&r, DNS_HEADER_SIZE);
    if (r.failed || !dname_read(&r, &question.name)) {
        return 0;
    }
    question.type = reader_u16(&r);
    question.qclass = reader_u16(&r);
    dns_reply_check(&question, id, data, size);
    dns_reply_check(&question, (uint16_t)(id + 1), data, size);
    size_t len = dns_query_write(&question, id, query);
    assert(len <= sizeof(query));
    struct dns_reply reply;
    assert(dns_reply_read(&question, id, query, len, &reply) == DNS_REPLY_UNRELATED);
    return 0;
}
