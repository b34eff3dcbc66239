/* A nameserver's reply, fitted to clients of every kind: the result is a complete message within
 * the limit. The client's question is the one in the reply. */
#include <assert.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/answer/question.h"
#include "skydns/answer/relay_internal.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/upstream_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_question(const uint8_t *data, size_t size, struct question *ret)
{
    struct reader r = reader_of(data, size);
    *ret = (struct question){.id = 0x1234};
    reader_seek(&r, DNS_HEADER_SIZE);
    if (r.failed || !dname_read(&r, &ret->name)) {
        return false;
    }
    ret->type = reader_u16(&r);
    ret->qclass = reader_u16(&r);
    return !r.failed;
}

static void check(struct question *question, const uint8_t *data, size_t size, size_t limit)
{
    static uint8_t reply[DNS_MESSAGE_MAX], again[DNS_MESSAGE_MAX];
    struct relay_parts parts, reread;
    if (!relay_read(question, data, size, &parts)) {
        return;
    }
    size_t len = relay_write(question, data, &parts, 1232, limit, reply);
    assert(len <= limit);
    if (len > 0) {
        assert(relay_read(question, reply, len, &reread));
        assert(relay_write(question, reply, &reread, 1232, limit, again) == len);
        assert(memcmp(reply, again, len) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct question question;
    struct upstream_question asked;
    static const size_t limits[] = {DNS_UDP_SIZE, 1232, DNS_MESSAGE_MAX};
    if (size > DNS_MESSAGE_MAX || !read_question(data, size, &question)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        question.has_edns = false;
        check(&question, data, size, limits[i]);
        question.has_edns = true;
        check(&question, data, size, limits[i]);
    }
    struct external_question external = {question.name, question.type};
    struct buf packed;
    buf_init(&packed, EXTERNAL_PACKED_MAX);
    (void)external_read(&external, data, size, EXTERNAL_TTL_MAX_S, &packed); /* fuzz_external */
    buf_fini(&packed);
    if (upstream_question_read(data, size, &asked)) {
        uint8_t query[UPSTREAM_QUERY_MAX];
        assert(upstream_query_write(&asked, 1, query) <= sizeof(query));
    }
    return 0;
}
