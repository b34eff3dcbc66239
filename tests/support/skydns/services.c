#include "tests/support/skydns/services.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "tests/support/skydns/records.h"

/* The longest is 96 bytes. */
enum { TEXT_MAX = 160 };

#define PREFIX "/skydns/"

struct pair {
    char key[TEXT_MAX];
    char value[TEXT_MAX];
};

static void services_die(const char *what)
{
    (void)fprintf(stderr, "services: %s\n", what);
    abort();
}

uint32_t services_address(unsigned number, unsigned state)
{
    /* Both states have text of the same length, as a range's addresses do on average: if all
     * Services moved to longer ones, malloc would keep a tenth in blocks of sizes no longer
     * used. */
    return htonl(UINT32_C(10) << 24 | (state ? 192u : 128u) << 16 | number);
}

struct dname services_name(unsigned number)
{
    char text[TEXT_MAX];
    struct dname name;
    int len = snprintf(text, sizeof(text), "svc-%05u.default.svc.cluster.local", number);
    if (!dname_from_text(slice_of(text, (size_t)len), &name)) {
        services_die("bad service name");
    }
    return name;
}

/* Makes the pairs that kube2sky writes for a Service in this state. */
static void services_make_pairs(unsigned number, unsigned state,
                                struct pair pairs[KEYS_PER_SERVICE])
{
    uint32_t address = ntohl(services_address(number, state));
    unsigned a = address >> 24, b = address >> 16 & 255, c = address >> 8 & 255, d = address & 255;
    char label[9];
    static const char rest[] = "\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}";
    int len = snprintf(pairs[0].value, TEXT_MAX, "{\"host\":\"%u.%u.%u.%u\",%s", a, b, c, d, rest);
    (void)record_label(slice_of(pairs[0].value, (size_t)len), label);
    (void)snprintf(pairs[0].key, TEXT_MAX, PREFIX "local/cluster/svc/default/svc-%05u/%s", number,
                   label);
    (void)snprintf(pairs[1].key, TEXT_MAX,
                   PREFIX "local/cluster/svc/default/svc-%05u/_tcp/_http/%s", number, label);
    (void)snprintf(pairs[1].value, TEXT_MAX,
                   "{\"host\":\"svc-%05u.default.svc.cluster.local.\",\"port\":80,%s", number,
                   rest);
    (void)snprintf(pairs[2].key, TEXT_MAX, PREFIX "arpa/in-addr/%u/%u/%u/%u", a, b, c, d);
    (void)snprintf(pairs[2].value, TEXT_MAX, "{\"host\":\"svc-%05u.default.svc.cluster.local.\",%s",
                   number, rest);
}

static struct dname services_parse_key(const struct pair *pair)
{
    struct dname name;
    if (!record_key_to_name(slice_str(PREFIX), slice_str(pair->key), &name)) {
        services_die("a key is none");
    }
    return name;
}

static struct record parse_value(const struct pair *pair)
{
    struct record record;
    struct err err;
    if (record_from_json(slice_str(pair->value), &record, &err) < 0) {
        services_die(err.msg);
    }
    return record;
}

static void services_put_all(struct services *s, unsigned number, unsigned state)
{
    struct pair pairs[KEYS_PER_SERVICE];
    services_make_pairs(number, state, pairs);
    for (size_t i = 0; i < KEYS_PER_SERVICE; i++) {
        struct dname name = services_parse_key(&pairs[i]);
        struct record record = parse_value(&pairs[i]);
        (void)records_put(s->writer, &name, &record, s->revision);
    }
}

static void del_all(struct services *s, unsigned number, unsigned state)
{
    struct pair pairs[KEYS_PER_SERVICE];
    services_make_pairs(number, state, pairs);
    for (size_t i = 0; i < KEYS_PER_SERVICE; i++) {
        struct dname name = services_parse_key(&pairs[i]);
        store_writer_del(s->writer, &name);
    }
}

const struct store *services_fill(struct services *services, struct store_garbage **ret_garbage)
{
    services->revision++;
    for (unsigned i = 0; i < services->count; i++) {
        services_put_all(services, i, services->states[i]);
    }
    return store_writer_commit(services->writer, services->revision, ret_garbage);
}

const struct store *services_change(struct services *services, unsigned number,
                                    struct store_garbage **ret_garbage)
{
    unsigned old = services->states[number], new = (old + 1) % SERVICE_STATES;
    services->revision++;
    del_all(services, number, old);
    services_put_all(services, number, new);
    services->states[number] = (uint8_t) new;
    return store_writer_commit(services->writer, services->revision, ret_garbage);
}

void services_parse_only(const struct services *services, unsigned number)
{
    struct pair pairs[KEYS_PER_SERVICE];
    for (unsigned state = 0; state < SERVICE_STATES; state++) {
        services_make_pairs(number, state, pairs);
        for (size_t i = 0; i < KEYS_PER_SERVICE; i++) {
            (void)services_parse_key(&pairs[i]);
            if (state != services->states[number]) {
                struct record record = parse_value(&pairs[i]);
                record_fini(&record);
            }
        }
    }
}

void services_init(struct services *services, unsigned count)
{
    *services = (struct services){
        .count = count,
        .states = xcalloc(count, 1),
        .writer = store_writer_new(),
    };
}

void services_fini(struct services *services)
{
    store_writer_free(services->writer);
    free(services->states);
}
