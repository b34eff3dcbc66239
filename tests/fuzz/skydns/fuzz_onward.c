/* Any two responses: the first from a stub zone's nameserver, whose zone is the one above its
 * question, the second about what its CNAMEs lead to. Nothing of another zone is left of the first;
 * both joined parse, and have the records of both. */
#include <assert.h>

#include "common/base/cursor.h"
#include "common/base/seeded_hash.h"
#include "common/dns/dns.h"
#include "skydns/publish/engine_config.h"
#include "skydns/upstream/onward_internal.h"
#include "skydns/wire/response_check.h"
#include "tests/fuzz/fuzz_target.h"

static const struct engine_config config;

static void check_believed(const struct parsed_response *response, const struct dname *zone)
{
    const struct response_span believed = response_section_span(response, RESPONSE_AUTHORITY);
    for (size_t i = 0; i < response->count; i++) {
        const struct dname owner = response_rr_owner(response, &response->rrs[i]);
        const uint16_t type = response->rrs[i].type;
        assert(dname_is_within(&owner, zone) || owner.len == 1 ||
               (i >= believed.from && i < believed.to &&
                (type == DNS_TYPE_SOA || type == DNS_TYPE_RRSIG || type == DNS_TYPE_NSEC ||
                 type == DNS_TYPE_NSEC3)));
    }
}

static void check_joined(struct slice chain, const struct parsed_response *target)
{
    static uint8_t joined[DNS_MESSAGE_MAX];
    struct parsed_response first, both;
    const size_t len = onward_join(chain, target, joined);
    response_parse((const uint8_t *)chain.ptr, chain.len, &first);
    response_parse(joined, len, &both);
    assert(first.is_whole && (len == 0 || response_is_sound(&both)));
    for (unsigned i = 0; i < RESPONSE_ADDITIONAL && len > 0; i++) {
        assert(both.head.counts[i] == first.head.counts[i] + target->head.counts[i]);
    }
    response_parse_fini(&both);
    response_parse_fini(&first);
}

static void follow_on(struct parsed_response *response, const struct parsed_response *target)
{
    static uint8_t chain[ONWARD_CHAIN_MAX];
    const struct upstream_question question = {
        .name = dname_lower_of(slice_of(response->head.name.wire, response->head.name.len)),
        .type = response->head.type,
        .qclass = response->head.qclass,
    };
    struct dname zone = question.name;
    dname_strip(&zone, dname_label_count(&zone) > 0);
    struct onward onward;
    onward_drop_ours(&config, response);
    onward_drop_outside(&zone, response);
    check_believed(response, &zone);
    assert(onward_find(&config, &zone, &question, response, &onward) == ONWARD_ENDS);
    const size_t len = onward_chain_write(&question, response, chain);
    if (len > 0 && response_is_sound(target) && target->head.qclass == question.qclass) {
        check_joined(slice_of(chain, len), target);
    }
}

/* The first one's length, 16 bits; both. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_of(data, size);
    const size_t len = reader_u16(&r);
    const uint8_t *first = reader_take(&r, len);
    struct parsed_response response, target;
    if (!first) {
        return 0;
    }
    seeded_hash_init();
    response_parse(first, len, &response);
    response_parse(data + r.pos, size - r.pos, &target);
    if (response_is_sound(&response) && response.head.questions == 1) {
        follow_on(&response, &target);
    }
    response_parse_fini(&target);
    response_parse_fini(&response);
    return 0;
}
