/* RRsets of any types, owners, TTLs and data: put into canonical order, signed, and found again;
 * each signature is judged by a validator's rules, with keys of each kind, at any time. */
#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "skydns/dnssec/dnssec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/skydns/rrsig_check.h"
#include "tests/support/skydns/sample_keys.h"

enum { RECORDS_MAX = 64, SETS_MAX = 8, CACHED = 4096 };

/* Two zones, one with keys of both kinds; made once. */
static struct dnssec *skydns_signer(void)
{
    static struct dnssec *dnssec;
    struct signing_key *keys[] = {
        sample_key_new(SAMPLE_ECDSAP256_KSK),  sample_key_new(SAMPLE_ECDSAP256_ZSK),
        sample_key_new(SAMPLE_ED25519),        sample_key_new(SAMPLE_ECDSAP384),
        sample_key_new(SAMPLE_LDNS_RSASHA256), sample_key_new(SAMPLE_RSASHA512),
    };
    fuzz_check(dnssec_new(keys, sizeof(keys) / sizeof(keys[0]), CACHED, &dnssec, NULL) == 0);
    return dnssec;
}

struct fuzz_set {
    struct dname owner;
    uint16_t type;
    uint32_t ttl_s;
    size_t count;
    struct slice given[RECORDS_MAX], sorted[RECORDS_MAX];
};

/* Labels of the input in front of a zone's name, as many as fit. */
static void read_owner(struct reader *r, const struct dnssec_zone *zone, struct dname *ret_owner)
{
    *ret_owner = zone->name;
    for (unsigned labels = reader_u8(r) % 8; labels > 0; labels--) {
        size_t len = 1 + reader_u8(r) % DNAME_LABEL_MAX;
        const uint8_t *label = reader_take(r, len);
        (void)(label && dname_prepend(ret_owner, slice_of(label, len))); /* or not: it is long */
    }
    dname_lower(ret_owner);
}

static void read_set(struct reader *r, const struct dnssec_zone *zone, struct fuzz_set *ret_set)
{
    struct fuzz_set *set = ret_set;
    set->type = reader_u16(r);
    set->ttl_s = reader_u32(r);
    set->count = 1 + reader_u8(r) % RECORDS_MAX;
    read_owner(r, zone, &set->owner);
    for (size_t i = 0; i < set->count; i++) {
        size_t len = reader_u8(r), left = reader_left(r);
        len = len < left ? len : left;
        set->given[i] = slice_of(reader_take(r, len), len);
    }
    memcpy(set->sorted, set->given, sizeof(set->sorted));
}

static void signer_check_order(const struct slice *sorted, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        fuzz_check(slice_compare(sorted[i - 1], sorted[i]) < 0);
    }
}

static bool signer_signs(const struct dnssec_zone *zone, const struct signing_key *key,
                         uint16_t type)
{
    bool is_of_keys = type == 48 || type == 59 || type == 60;
    return !zone->has_both || (is_of_keys ? key->is_sep : !key->is_sep);
}

static void check_signatures(const struct dnssec_zone *zone, const struct fuzz_set *set,
                             const struct dnssec_signature *signatures, size_t count, int64_t now_s)
{
    const struct rrsig_records records = {
        slice_of(set->owner.wire, set->owner.len), set->type, set->ttl_s, set->count, set->given,
    };
    size_t at = 0;
    for (size_t k = 0; k < zone->key_count; k++) {
        const struct signing_key *key = zone->keys[k];
        if (signer_signs(zone, key, set->type)) {
            fuzz_check(at < count);
            fuzz_check(!rrsig_fault(slice_of(signatures[at].rdata, signatures[at].len),
                                    slice_of(key->rdata, key->rdata_len),
                                    slice_of(zone->name.wire, zone->name.len), &records, now_s));
            at++;
        }
    }
    fuzz_check(at == count);
}

/* Signed twice at the same time: the second are the kept ones, but for Ed25519 and RSA it could not
 * be told, and for ECDSA two signatures of the same data differ. */
static void check_set(struct dnssec *dnssec, const struct dnssec_zone *zone, struct fuzz_set *set,
                      int64_t now_s)
{
    static struct dnssec_signature first[DNSSEC_ZONE_KEYS_MAX], again[DNSSEC_ZONE_KEYS_MAX];
    size_t count = dnssec_sort(set->sorted, set->count), firsts, agains;
    signer_check_order(set->sorted, count);
    const struct dnssec_rrset rrset = {
        slice_of(set->owner.wire, set->owner.len), set->type, set->ttl_s, count, set->sorted,
    };
    fuzz_check(dnssec_sign(dnssec, zone, &rrset, now_s, true, first, &firsts) == DNSSEC_SIGNED);
    check_signatures(zone, set, first, firsts, now_s);
    fuzz_check(dnssec_sign(dnssec, zone, &rrset, now_s, false, again, &agains) == DNSSEC_SIGNED);
    fuzz_check(agains == firsts);
    for (size_t i = 0; i < firsts; i++) {
        fuzz_check(first[i].len == again[i].len &&
                   memcmp(first[i].rdata, again[i].rdata, first[i].len) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dnssec *dnssec;
    static struct fuzz_set set;
    dnssec = dnssec ? dnssec : skydns_signer();
    struct reader r = reader_of(data, size);
    int64_t now_s = (int64_t)(reader_u64(&r) >> 24); /* beyond 2106, too */
    for (unsigned sets = 0; sets < SETS_MAX && reader_left(&r) > 0; sets++) {
        size_t zone = reader_u8(&r) % dnssec_zone_count(dnssec);
        read_set(&r, dnssec_zone_at(dnssec, zone), &set);
        if (!r.failed) {
            check_set(dnssec, dnssec_zone_at(dnssec, zone), &set, now_s);
        }
    }
    return 0;
}
