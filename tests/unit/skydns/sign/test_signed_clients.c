/* Signed replies that depend on who asks: no search path where answers are signed; a name that is
 * hidden from a client is denied to it like one that does not exist, with a proof that holds. */
#include "skydns/clients/visibility.h"
#include "skydns/dnssec/dnssec.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/skydns/signed_check.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/engine/search_list_bed.h"

static const struct fixture_key keys[] = {
    {"local/cluster/svc/team/web/a", "{'host':'10.1.0.1'}"},
    {"local/cluster/svc/team/alias", "{'host':'web.vault.svc.cluster.local'}"},
    {"local/cluster/svc/vault/web/a", "{'host':'10.2.0.1'}"},
    {"local/cluster/svc/vault/web/_tcp/_http/a", "{'host':'web.vault.svc.cluster.local'}"},
    {"local/cluster/svc/lone/web/a", "{'host':'10.3.0.1'}"},
};

struct bed {
    struct search_list_bed p;
    struct dnssec *dnssec;
    struct signed_check check;
};

static struct bed signed_clients_setup(void)
{
    struct bed b = {.p = path_bed_new(keys, sizeof(keys) / sizeof(keys[0]))};
    struct err err;
    b.check.keys[b.check.key_count++] = sample_key_new(SAMPLE_ED25519);
    b.check.now_s = FIXTURE_NOW_S;
    b.check.unsigned_zones[b.check.unsigned_count++] = "stub.cluster.local.";
    assert_int_equal(dnssec_new(b.check.keys, b.check.key_count, 1000, &b.dnssec, &err), 0);
    b.p.f->config.dnssec = b.dnssec;
    b.p.f->may_sign = true;
    return b;
}

static void signed_clients_teardown(struct bed *b)
{
    search_list_bed_free(&b->p);
    dnssec_unref(b->dnssec);
}

static const char *signed_clients_ask(struct bed *b, const char *question)
{
    struct fixture *f = b->p.f;
    const char *text = fixture_ask(f, question);
    assert_int_equal(f->verdict, ENGINE_REPLY);
    const char *error = signed_check(&b->check, f->reply, f->reply_len);
    assert_that(!error, "%s: %s\n%s", question, error, text);
    return text;
}

UNIT_TEST(no_search_path)
{
    struct bed b = signed_clients_setup();
    (void)fixture_ask(b.p.f, "web.lone" TEAM "A edns=1232");
    assert_non_null(strstr(b.p.f->text, "CNAME web.lone.svc.cluster.local."));
    const char *text = signed_clients_ask(&b, "web.lone" TEAM "A edns=1232 do");
    assert_int_equal(strncmp(text, "NXDOMAIN", 8), 0);
    assert_null(strstr(text, "CNAME"));
    b.p.f->config.dnssec = NULL;
    (void)fixture_ask(b.p.f, "web.lone" TEAM "A edns=1232 do");
    assert_non_null(strstr(b.p.f->text, "CNAME web.lone.svc.cluster.local."));
    signed_clients_teardown(&b);
}

UNIT_TEST(hidden_names)
{
    static const struct slice public_names[] = {{"default", 7}};
    static const char *const questions[] = {
        "web.vault.svc.cluster.local. A edns=1232 do",
        "vault.svc.cluster.local. A edns=1232 do",
        "_http._tcp.web.vault.svc.cluster.local. SRV edns=1232 do",
        "nope.vault.svc.cluster.local. AAAA edns=1232 do",
        "a.b.web.vault.svc.cluster.local. TXT edns=1232 do",
    };
    struct bed b = signed_clients_setup();
    struct visibility *visibility =
        visibility_new(VISIBILITY_UNKNOWN_PUBLIC, public_names, 1, NULL, 0);
    b.p.f->config.settings.autopath = false;
    b.p.f->config.visibility = visibility;
    for (unsigned schema = 0; schema < 2; schema++) {
        b.p.f->config.settings.schema = schema ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
        for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
            const char *text = signed_clients_ask(&b, questions[i]);
            assert_int_equal(strncmp(text, "NXDOMAIN", 8), 0);
            assert_non_null(strstr(text, "! vauls\\255")); /* before vault itself */
        }
        (void)signed_clients_ask(&b, "alias.team.svc.cluster.local. A edns=1232 do");
        (void)signed_clients_ask(&b, "web.team.svc.cluster.local. TXT edns=1232 do");
    }
    signed_clients_teardown(&b);
    visibility_unref(visibility);
}
