/* The types that an NSEC record lists are those that the name answers, in random worlds: schemas,
 * modes of pods, address families, aliases, stub zones, domains below, visibility.
 *
 * SIGNED_WORLDS=10000 makes more worlds than `make check` has time for; SEED=1234 starts there. */
#include "common/base/cursor.h"
#include "skydns/clients/visibility.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/external/zone_table.h"
#include "tests/support/from_text.h"
#include "tests/support/loopback.h"
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/unit_test.h"

enum { WORLDS = 60, NAMES = 40, KEYS_MAX = 24, KEY_SIZE = 200, TYPES_MAX = 64 };
enum { TYPE_RRSIG = 46, TYPE_NSEC = 47, TYPE_DNSKEY = 48, TYPE_CDS = 59, TYPE_CDNSKEY = 60 };

static const char *draw_space(void)
{
    return RANDOM_PICK("svc/a", "svc/a", "svc/b", "pod/a", "dns", "sub", "other");
}

/* ---- Worlds ---- */

struct world {
    struct fixture *f;
    struct dnssec *dnssec;
    struct zone_table *zones;
    struct visibility *visibility;
};

static void signed_types_put_key(struct world *w)
{
    char key[KEY_SIZE], value[KEY_SIZE];
    const char *host = RANDOM_PICK("10.0.0.1", "10.0.0.2", "fd00::1", "x.a.svc.cluster.local",
                                   "y.b.svc.cluster.local", "z.sub.cluster.local",
                                   "www.example.com", "q.stub.cluster.local");
    (void)snprintf(key, sizeof(key), "local/cluster/%s%s%s%s", draw_space(),
                   RANDOM_PICK("/x", "/y", "/z", "/ns", "/1-2-3-4"),
                   RANDOM_PICK("", "", "/k", "/_tcp/_http/k"), RANDOM_PICK("", "", "/l"));
    (void)snprintf(value, sizeof(value), "{'host':'%s'%s%s%s}", host,
                   random_below(4) ? "" : ",'mail':true", random_below(4) ? "" : ",'text':'t'",
                   random_below(4) ? "" : ",'port':80");
    const struct fixture_key fixture_key = {key, value};
    fixture_put(w->f, &fixture_key, 1);
}

static struct world signed_types_make_world(void)
{
    static const struct slice public_names[] = {{"b", 1}};
    static const enum engine_pods pods[] = {ENGINE_PODS_VERIFIED, ENGINE_PODS_DISABLED,
                                            ENGINE_PODS_INSECURE};
    struct world w = {.f = fixture_new(NULL, 0)};
    struct engine_config *config = &w.f->config;
    struct err err;
    config->settings.schema = random_below(3) ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
    config->settings.pods = pods[random_below(ARRAY_LEN(pods))];
    if (random_below(2)) {
        fixture_domain(w.f, "sub.cluster.local.");
    }
    CLEANUP_FREE struct forward_zone *stubs = calloc(2, sizeof(*stubs));
    assert_non_null(stubs);
    stubs[0].name = dname_from("stub.cluster.local.");
    stubs[1].name = dname_from(".");
    w.zones = zone_table_new(stubs, 2, NULL);
    config->zones_of_others = random_below(3) ? w.zones : NULL;
    w.visibility = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, public_names, 1, NULL, 0);
    config->visibility = random_below(3) ? NULL : w.visibility;
    w.f->local = loopback_addr(53);
    if (random_below(3) == 0) {
        assert_int_equal(addr_parse("[::1]:53", &w.f->local, &err), 0);
    }
    struct signing_key *key = sample_key_new(SAMPLE_ECDSAP256_ZSK);
    assert_int_equal(dnssec_new(&key, 1, 10000, &w.dnssec, &err), 0);
    for (unsigned i = 0; i < KEYS_MAX; i++) {
        signed_types_put_key(&w);
    }
    w.f->may_sign = w.f->may_scan = true;
    return w;
}

static void free_world(struct world *w)
{
    fixture_free(w->f);
    dnssec_unref(w->dnssec);
    zone_table_unref(w->zones);
    visibility_unref(w->visibility);
}

static void signed_types_draw_name(char out[KEY_SIZE])
{
    (void)snprintf(out, KEY_SIZE, "%s%s%scluster.local.",
                   RANDOM_PICK("", "", "k.", "_http._tcp.", "l.k.", "*."),
                   RANDOM_PICK("", "x.", "y.", "z.", "ns.", "1-2-3-4.", "X."),
                   RANDOM_PICK("a.svc.", "a.svc.", "b.svc.", "svc.", "a.pod.", "dns.", "sub.",
                               "other.", "stub.", ""));
}

/* ---- Types ---- */

/* Whether a question without DO has an answer of the type, here or elsewhere. */
static bool answers_type(struct world *w, const char *name, const char *type)
{
    char question[KEY_SIZE + 20];
    (void)snprintf(question, sizeof(question), "%s %s tcp", name, type);
    w->f->config.dnssec = NULL;
    (void)fixture_ask(w->f, question);
    if (w->f->verdict == ENGINE_DEFER) {
        return true;
    }
    bool leads_away = (w->f->reply[2] & DNS_FLAG_AA >> 8) == 0; /* no nameserver to ask */
    return leads_away || ((w->f->reply[3] & DNS_MASK_RCODE) == DNS_RCODE_NOERROR &&
                          (w->f->reply[6] || w->f->reply[7]));
}

static void signed_types_append_text(char *text, const char *what)
{
    const size_t len = strlen(text);
    (void)snprintf(text + len, KEY_SIZE - len, "%s", what);
}

/* Expects types like "A TXT RRSIG", in the order of their numbers. */
static void want_types(struct world *w, const char *name, char text[KEY_SIZE])
{
    static const char *const types[] = {"A",  "NS",  "CNAME", "SOA", "PTR",
                                        "MX", "TXT", "AAAA",  "SRV"};
    text[0] = '\0';
    bool is_alias =
        w->f->config.settings.schema == ENGINE_SCHEMA_KUBERNETES && answers_type(w, name, "CNAME");
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        bool is_cname = strcmp(types[i], "CNAME") == 0;
        if (is_alias ? is_cname : !is_cname && answers_type(w, name, types[i])) {
            signed_types_append_text(text, types[i]);
            signed_types_append_text(text, " ");
        }
    }
    signed_types_append_text(text, "RRSIG NSEC");
    if (strcmp(name, "cluster.local.") == 0) {
        signed_types_append_text(text, " DNSKEY CDS CDNSKEY");
    }
}

static void append_type(char *text, unsigned type)
{
    static const struct {
        unsigned number;
        const char *name;
    } names[] = {{1, "A"},
                 {2, "NS"},
                 {5, "CNAME"},
                 {6, "SOA"},
                 {12, "PTR"},
                 {15, "MX"},
                 {16, "TXT"},
                 {28, "AAAA"},
                 {33, "SRV"},
                 {TYPE_RRSIG, "RRSIG"},
                 {TYPE_NSEC, "NSEC"},
                 {TYPE_DNSKEY, "DNSKEY"},
                 {TYPE_CDS, "CDS"},
                 {TYPE_CDNSKEY, "CDNSKEY"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].number == type) {
            signed_types_append_text(text, text[0] ? " " : "");
            signed_types_append_text(text, names[i].name);
            return;
        }
    }
    signed_types_append_text(text, " unknown");
}

/* The types of the NSEC record that a question of that type gets. False: it gets none. */
static bool listed_types(struct world *w, const char *name, char text[KEY_SIZE])
{
    char question[KEY_SIZE + 40];
    struct dname ignored;
    (void)snprintf(question, sizeof(question), "%s NSEC tcp edns=4096 do", name);
    w->f->config.dnssec = w->dnssec;
    (void)fixture_ask(w->f, question);
    struct reader r = reader_of(w->f->reply, w->f->reply_len);
    if (w->f->verdict != ENGINE_REPLY || (w->f->reply[3] & DNS_MASK_RCODE) != DNS_RCODE_NOERROR ||
        w->f->reply[7] == 0) {
        return false;
    }
    reader_seek(&r, DNS_HEADER_SIZE);
    assert_true(dname_read(&r, &ignored));
    (void)reader_take(&r, 4);
    assert_true(dname_read(&r, &ignored));
    if (reader_u16(&r) != TYPE_NSEC) {
        return false; /* CNAMEs lead on */
    }
    (void)reader_take(&r, 6);
    const size_t len = reader_u16(&r), end = r.pos + len;
    assert_true(dname_read(&r, &ignored));
    text[0] = '\0';
    while (r.pos < end && !r.failed) {
        unsigned window = reader_u8(&r), bytes = reader_u8(&r);
        for (unsigned i = 0; i < 8 * bytes; i++) {
            if (r.data[r.pos + i / 8] & 0x80 >> i % 8) {
                append_type(text, window * 256 + i);
            }
        }
        (void)reader_take(&r, bytes);
    }
    assert_false(r.failed);
    return true;
}

static unsigned long signed_types_number_of(const char *variable, unsigned long otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

UNIT_TEST(test_bitmap_is_what_answers)
{
    const unsigned long first = signed_types_number_of("SEED", 1),
                        count = signed_types_number_of("SIGNED_WORLDS", WORLDS);
    unsigned long compared = 0;
    for (unsigned long seed = first; seed < first + count; seed++) {
        random_state = seed;
        CLEANUP(free_world) struct world w = signed_types_make_world();
        for (unsigned i = 0; i < NAMES; i++) {
            char name[KEY_SIZE], listed[KEY_SIZE], wanted[KEY_SIZE];
            signed_types_draw_name(name);
            if (listed_types(&w, name, listed)) {
                compared++;
                want_types(&w, name, wanted);
                assert_that(strcmp(listed, wanted) == 0, "seed %lu: %s: listed `%s`, answered `%s`",
                            seed, name, listed, wanted);
            }
        }
    }
    assert_true(compared > count * 5);
}
