/* Any bytes as a nameserver's reply: what is kept of them parses, stands under a name of the chain,
 * is kept unchanged when it is sent again, comes out of a cache as it would without one, and says
 * the same behind a search path's CNAME. The question is the one in the reply. */
#include <assert.h>

#include "common/base/cursor.h"
#include "common/base/seeded_hash.h"
#include "common/dns/dns.h"
#include "skydns/external/cache_image.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/skydns/behind_alias.h"
#include "tests/support/skydns/response_bytes.h"

enum { RRSIG = 46, DNAME = 39, NSEC = 47, NSEC3 = 50, TTL_MAX_S = 3600 };

struct rr {
    struct dname owner, target; /* target: of a CNAME */
    uint16_t type, rr_class;
    uint32_t ttl_s;
};

static struct rr read_rr(struct reader *r)
{
    struct rr rr = {0};
    assert(dname_read(r, &rr.owner));
    rr.type = reader_u16(r);
    rr.rr_class = reader_u16(r);
    rr.ttl_s = reader_u32(r);
    size_t len = reader_u16(r), end = r->pos + len;
    if (rr.type == DNS_TYPE_CNAME) {
        assert(dname_read(r, &rr.target) && r->pos == end);
    }
    reader_seek(r, end);
    assert(!r->failed);
    return rr;
}

/* Answers are of the name that the chain has reached, or lead on from it. */
static void check_answer(const struct cache_key *key, const struct rr *rr, struct dname *name,
                         struct dname *before)
{
    bool is_signature = rr->type == RRSIG;
    bool is_dname = rr->type == DNAME || is_signature;
    assert(rr->rr_class == key->qclass && rr->ttl_s > 0 && rr->ttl_s <= INT32_MAX);
    assert(!is_signature || key->dnssec_ok || key->type == RRSIG || key->type == DNS_TYPE_ANY);
    assert(dname_equal(&rr->owner, name) || (is_signature && dname_equal(&rr->owner, before)) ||
           (is_dname && dname_is_within(name, &rr->owner)));
    if (rr->type == DNS_TYPE_CNAME && key->type != DNS_TYPE_CNAME && key->type != DNS_TYPE_ANY) {
        *before = *name;
        *name = rr->target;
    } else {
        assert(is_dname || rr->type == key->type || key->type == DNS_TYPE_ANY);
    }
}

static void cache_image_check_records(const struct cache_key *key, const uint8_t *image,
                                      const struct cached_reply *cached)
{
    struct reader r = reader_of(image, cached->records_at + (size_t)cached->len);
    struct dname name = key->name, before = key->name;
    r.pos = cached->records_at;
    for (unsigned i = 0; i < cached->answers; i++) {
        struct rr rr = read_rr(&r);
        check_answer(key, &rr, &name, &before);
    }
    assert(r.pos == cached->records_at + (size_t)cached->answers_len);
    for (unsigned i = 0; i < cached->authorities; i++) {
        struct rr rr = read_rr(&r);
        assert(rr.type == DNS_TYPE_SOA || rr.type == NSEC || rr.type == NSEC3 || rr.type == RRSIG);
        assert(rr.type == DNS_TYPE_SOA || key->dnssec_ok);
        assert(rr.type != DNS_TYPE_SOA || (cached->is_negative && i == 0));
        assert(rr.type != DNS_TYPE_SOA || dname_is_within(&name, &rr.owner));
    }
    assert(r.pos == r.len);
    assert(cached->run_count <= cached->answers);
    assert(cached->run_at + (size_t)cached->run_size * cached->run_count <= cached->answers_len);
}

static void check_again(const struct cache_key *key, uint8_t *image,
                        const struct cached_reply *cached)
{
    struct cache_image again = {0};
    const struct cached_reply *second = &again.cached;
    struct writer w = writer_of(image, DNS_HEADER_SIZE);
    writer_u16(&w, 1);
    writer_u16(&w, (uint16_t)(DNS_FLAG_QR | cached->rcode));
    writer_u16(&w, 1);
    writer_u16(&w, cached->answers);
    writer_u16(&w, cached->authorities);
    writer_u16(&w, 0);
    struct writer question = writer_of(image, cached->records_at);
    question.pos = cached->records_at - (size_t)DNS_QUESTION_TAIL;
    writer_u16(&question, key->type);
    writer_u16(&question, key->qclass);
    size_t len = cached->records_at + (size_t)cached->len;
    struct parsed_response response;
    response_parse(image, len, &response);
    assert(cache_image_make(&again, key, &response, TTL_MAX_S) == CACHE_HIT);
    response_parse_fini(&response);
    assert(second->len == cached->len && second->answers == cached->answers &&
           second->authorities == cached->authorities &&
           second->is_negative == cached->is_negative && second->ttl_s >= cached->ttl_s &&
           second->run_count == cached->run_count);
    assert(memcmp(again.bytes + second->records_at, image + cached->records_at, cached->len) == 0);
    cache_image_fini(&again);
}

static void check_alias(const struct cache_key *key, const uint8_t *data, const uint8_t *records,
                        const struct cache_hit *hit)
{
    static const struct slice asked = {BEHIND_ALIAS_NAME, sizeof(BEHIND_ALIAS_NAME)};
    static uint8_t plain[DNS_MESSAGE_MAX], aliased[DNS_MESSAGE_MAX];
    const struct response_start own = response_start_of(slice_of(NULL, 0), key->name.len);
    const struct response_start start = response_start_of(asked, key->name.len);
    if (key->qclass != DNS_CLASS_IN || start.records_at + hit->shown_len > sizeof(aliased)) {
        return;
    }
    uint8_t header[DNS_HEADER_SIZE] = {[2] = 0x80, [5] = 1};
    struct writer w = writer_of(header, sizeof(header));
    w.pos = 6;
    writer_u16(&w, hit->shown_answers);
    writer_u16(&w, hit->shown_authorities);
    memcpy(plain, header, sizeof(header));
    w.pos = 6;
    writer_u16(&w, (uint16_t)(hit->shown_answers + 1));
    memcpy(aliased, header, sizeof(header));
    memcpy(plain + own.name_at, key->name.wire, key->name.len);
    memcpy(plain + own.name_at + key->name.len, data + own.name_at + key->name.len,
           DNS_QUESTION_TAIL);
    memcpy(plain + own.records_at, records, hit->shown_len);
    search_alias_write(aliased, asked, slice_of(key->name.wire, key->name.len), key->type,
                       key->qclass);
    memcpy(aliased + start.records_at, records, hit->shown_len);
    cached_records_move(aliased + start.records_at, hit->shown_len, key->name.len, &start);
    behind_alias_check(slice_of(plain, own.records_at + hit->shown_len),
                       slice_of(aliased, start.records_at + hit->shown_len));
}

static void check_cache(const struct cache_key *key, const uint8_t *data, size_t size, size_t room)
{
    static uint8_t first[CACHED_IMAGE_MAX], hit_records[CACHED_IMAGE_MAX];
    const struct cache_limits limits = {.ttl_max_s = TTL_MAX_S};
    const struct addr nobody = {0};
    struct cache_hit first_hit, hit;
    struct cache *cache = cache_new(300);
    struct parsed_response response;
    response_parse(data, size, &response);
    enum cache_verdict verdict =
        cached_first(key, &response, TTL_MAX_S, 7, first, room, &first_hit);
    enum cache_verdict put = cache_put_bytes(cache, key, data, size, &nobody, &limits, 0);
    assert(put == verdict || put == CACHE_TOO_LARGE);
    cache_read(cache, key, &limits, 0, CACHE_ANSWER, 7, hit_records, room, &hit);
    if (put == CACHE_HIT) {
        assert(hit.state == CACHE_FRESH && hit.len == first_hit.len &&
               hit.answers_len == first_hit.answers_len && hit.left_s == first_hit.left_s);
        assert(hit.shown_len <= room && hit.shown_len == first_hit.shown_len);
        assert(hit.shown_answers == first_hit.shown_answers);
        assert(memcmp(first, hit_records, hit.shown_len) == 0);
        check_alias(key, data, first, &hit);
    } else {
        assert(hit.state == CACHE_MISS);
    }
    response_parse_fini(&response);
    cache_unref(cache);
}

static bool cache_image_read_key(const uint8_t *data, size_t size, struct cache_key *ret)
{
    struct reader r = reader_of(data, size);
    *ret = (struct cache_key){.zone_serial = 1};
    reader_seek(&r, DNS_HEADER_SIZE);
    if (r.failed || !dname_read(&r, &ret->name)) {
        return false;
    }
    dname_lower(&ret->name);
    ret->type = reader_u16(&r);
    ret->qclass = reader_u16(&r);
    return !r.failed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cache_image image = {0};
    struct cache_key key;
    struct parsed_response response;
    seeded_hash_init();
    if (size > DNS_MESSAGE_MAX || !cache_image_read_key(data, size, &key)) {
        return 0;
    }
    response_parse(data, size, &response);
    for (unsigned i = 0; i < 2; i++) {
        key.dnssec_ok = i == 1;
        if (cache_image_make(&image, &key, &response, TTL_MAX_S) == CACHE_HIT) {
            cache_image_check_records(&key, image.bytes, &image.cached);
            check_again(&key, image.bytes, &image.cached);
        }
        check_cache(&key, data, size, CACHED_IMAGE_MAX);
        check_cache(&key, data, size, DNS_UDP_SIZE);
    }
    cache_image_fini(&image);
    response_parse_fini(&response);
    return 0;
}
