/* Any bytes as a query: whatever cookie it has is taken out and nothing else, and every reply to it
 * has room for ours. Bytes that are a reply: the cookie goes into its OPT record, or nowhere. */
#include <stdlib.h>
#include <string.h>

#include "common/dns/dns.h"
#include "skydns/engine/cookie_envelope_internal.h"
#include "skydns/wire/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { QUERY_MAX = 4096 };

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static struct cookie_secrets secrets_of(void)
{
    struct cookie_secrets secrets = {.count = 2};
    memset(secrets.items[0], 1, COOKIE_SECRET_SIZE);
    memset(secrets.items[1], 2, COOKIE_SECRET_SIZE);
    return secrets;
}

static void check_query(const struct cookie_envelope *e, const uint8_t *data, size_t size)
{
    struct question before, after;
    enum question_verdict verdict = question_parse(data, size, &before);
    enum question_verdict now = question_parse((const uint8_t *)e->query.ptr, e->query.len, &after);
    check(now == verdict);
    check(e->cookie.len == 0 || cookie_has_sound_length(e->cookie.len));
    if (verdict == QUESTION_OK) {
        check(e->cookie.len == before.cookie.len &&
              memcmp(e->cookie.bytes, before.cookie.bytes, e->cookie.len) == 0);
        check(e->has_question && e->has_subnet == (before.subnet_len > 0));
        check(before.id == after.id && before.type == after.type && before.qclass == after.qclass &&
              before.name.len == after.name.len &&
              memcmp(before.name.wire, after.name.wire, before.name.len) == 0 &&
              before.has_edns == after.has_edns && before.udp_size == after.udp_size &&
              before.dnssec_ok == after.dnssec_ok && before.is_from_stub == after.is_from_stub &&
              before.subnet_len == after.subnet_len &&
              memcmp(before.subnet, after.subnet, before.subnet_len) == 0);
        check(before.cookie.len == 0 || cookie_may_be_in(data, size) ||
              data[size - EDNS_OPT_SIZE] == 0);
    }
    if (verdict == QUESTION_NONE) {
        check(!e->has_question && e->cookie.len > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t reply[QUERY_MAX + COOKIE_OPTION_SIZE];
    static struct cookie_envelope envelope;
    const struct cookie_secrets secrets = secrets_of();
    const struct ip client = {4, {192, 0, 2, 1}};
    if (size > QUERY_MAX) {
        return 0;
    }
    cookie_open(&envelope, data, size);
    check_query(&envelope, data, size);
    for (unsigned subnet = 0; subnet < 2; subnet++) {
        envelope.has_subnet = subnet == 1;
        memcpy(reply, data, size);
        envelope.cookie.len = envelope.cookie.len > 0 ? envelope.cookie.len : COOKIE_CLIENT_SIZE;
        size_t len = cookie_close(&envelope, &secrets, &client, 1760704496, reply, size);
        check(len == size || len == size + COOKIE_OPTION_SIZE);
    }
    return 0;
}
