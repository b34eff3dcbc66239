/* Measures that answering a hidden name, and one that does not exist, costs about the same, so that
 * time reveals no more than the answer does. */
#include "skydns/clients/visibility.h"
#include "skydns/engine/direct_internal.h"
#include "skydns/wire/query_parse.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/thread_cpu.h"
#include "tests/support/unit_test.h"

enum { SERVICES = 2000, NAMESPACES = 40, ROUNDS = 20, ASKED = 500 };

struct bed {
    struct fixture *f;
    struct direct *direct;
    struct client_space space;
    struct visibility *visibility;
};

static void visibility_cost_put(struct bed *b, const char *key, const char *value)
{
    fixture_put(b->f, &(struct fixture_key){key, value}, 1);
}

static void visibility_cost_set_up(struct bed *b, enum engine_schema schema)
{
    const struct slice public_names[] = {slice_str("default")};
    *b = (struct bed){.f = fixture_new(NULL, 0)};
    for (unsigned i = 0; i < SERVICES; i++) {
        char key[100], value[100];
        (void)snprintf(key, sizeof(key), "local/cluster/svc/team-%03u/web-%04u/c0", i % NAMESPACES,
                       i);
        (void)snprintf(value, sizeof(value), "{'host':'10.1.%u.%u','ttl':30}", i / 250, i % 250);
        visibility_cost_put(b, key, value);
        (void)snprintf(key, sizeof(key), "arpa/in-addr/10/1/%u/%u", i / 250, i % 250);
        (void)snprintf(value, sizeof(value),
                       "{'host':'web-%04u.team-%03u.svc.cluster.local.','ttl':30}", i,
                       i % NAMESPACES);
        visibility_cost_put(b, key, value);
    }
    b->space = (struct client_space){.label_len = 8, .label = "team-000"};
    b->visibility = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, public_names, 1, NULL, 0);
    b->f->config.visibility = b->visibility;
    b->f->config.settings.schema = schema;
    b->f->config.has_nameservers = true;
    b->f->config.settings.reverse_zone_count = 1;
    b->f->config.settings.reverse_zones[0] =
        (struct network){{.family_bytes = 4, .bytes = {10}}, 8};
    b->direct = direct_new(&b->f->config);
}

static void visibility_cost_tear_down(struct bed *b)
{
    direct_free(b->direct);
    visibility_unref(b->visibility);
    fixture_free(b->f);
}

/* Returns the time of ASKED answers to one question. */
static double ask_us(struct bed *b, const char *question)
{
    static const struct addr nobody;
    static uint8_t reply[ENGINE_REPLY_MAX];
    struct query parsed;
    struct engine_deferral deferral;
    struct engine_query query = {.client = &nobody,
                                 .local = &nobody,
                                 .transport = fixture_query(b->f, question),
                                 .now_s = FIXTURE_NOW_S,
                                 .view = {.visibility = b->visibility, .space = &b->space}};
    query.wire = b->f->query;
    query.len = b->f->query_len;
    query_parse(query.wire, query.len, &parsed);
    query.parsed = &parsed;
    double start = thread_cpu_us();
    for (unsigned i = 0; i < ASKED; i++) {
        struct response response = {.bytes = reply};
        (void)direct_answer(b->direct, b->f->store, &query, NULL, &response, &deferral);
    }
    return thread_cpu_us() - start;
}

struct costs {
    double hidden_us, absent_us;
};

/* The least of rounds in turn, so that what else the machine does meets both. */
static struct costs least_costs(struct bed *b, const char *hidden, const char *absent)
{
    struct costs least = {.hidden_us = 1e9, .absent_us = 1e9};
    for (unsigned round = 0; round < ROUNDS; round++) {
        double h = ask_us(b, hidden), a = ask_us(b, absent);
        least.hidden_us = h < least.hidden_us ? h : least.hidden_us;
        least.absent_us = a < least.absent_us ? a : least.absent_us;
    }
    return least;
}

/* A tenth apart: a reverse name that is there has one node more on its way. Measured again if not:
 * a busy machine makes costs differ, and never makes them the same. */
static void visibility_cost_compare(struct bed *b, const char *hidden, const char *absent)
{
    enum { TRIES = 8 };
    for (unsigned i = 0; i < TRIES; i++) {
        struct costs c = least_costs(b, hidden, absent);
        if (c.hidden_us < 1.25 * c.absent_us && c.absent_us < 1.25 * c.hidden_us) {
            print_message("%-42s %.3f us, %-42s %.3f us\n", hidden, c.hidden_us / ASKED, absent,
                          c.absent_us / ASKED);
            return;
        }
    }
    fail_msg("%s and %s do not cost the same", hidden, absent);
}

UNIT_TEST(test_costs)
{
    for (int schema = 0; schema < 2; schema++) {
        struct bed b;
        visibility_cost_set_up(&b, (enum engine_schema)schema);
        visibility_cost_compare(&b, "web-0007.team-007.svc.cluster.local. A",
                                "web-0007.team-907.svc.cluster.local. A");
        visibility_cost_compare(&b, "web-0007.team-007.svc.cluster.local. SRV",
                                "web-0007.team-907.svc.cluster.local. SRV");
        visibility_cost_compare(&b, "web-0007.team-007.svc.cluster.local. TXT",
                                "web-0007.team-907.svc.cluster.local. TXT");
        visibility_cost_compare(&b, "team-007.svc.cluster.local. A",
                                "team-907.svc.cluster.local. A");
        visibility_cost_compare(&b, "7.0.1.10.in-addr.arpa. PTR", "7.9.1.10.in-addr.arpa. PTR");
        visibility_cost_compare(&b, "0.1.10.in-addr.arpa. PTR", "9.1.10.in-addr.arpa. PTR");
        b.f->config.settings.reverse_zone_count = 0;
        visibility_cost_compare(&b, "7.0.1.10.in-addr.arpa. PTR", "7.9.1.10.in-addr.arpa. PTR");
        visibility_cost_tear_down(&b);
    }
}
