#include "tests/support/skydns/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/owned.h"
#include "tests/support/skydns/records.h"

static _Noreturn void fixture_die(const char *what, const char *which)
{
    (void)fprintf(stderr, "fixture: %s: %s\n", what, which);
    abort();
}

static void fixture_put_key(struct fixture *fixture, const struct fixture_key *key)
{
    struct dname name;
    struct record record;
    struct err err;
    char *json = xstrdup(key->value);
    for (char *p = json; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    if (!record_key_to_name(slice_str(""), slice_str(key->key), &name)) {
        fixture_die("no key", key->key);
    }
    if (record_from_json(slice_str(json), &record, &err) != 0) {
        fixture_die(err.msg, key->value);
    }
    records_put(fixture->writer, &name, &record, 1);
    free(json);
}

void fixture_put(struct fixture *fixture, const struct fixture_key *keys, size_t count)
{
    struct store_garbage *garbage;
    for (size_t i = 0; i < count; i++) {
        fixture_put_key(fixture, &keys[i]);
    }
    fixture->store = store_writer_commit(fixture->writer, 1, &garbage);
    store_garbage_free(garbage);
}

void fixture_domain(struct fixture *fixture, const char *text)
{
    struct dname domain = dname_from(text);
    if (!engine_config_add_domain(&fixture->config, &domain, NULL)) {
        fixture_die("too many domains", text);
    }
}

struct fixture *fixture_new(const struct fixture_key *keys, size_t count)
{
    struct fixture *fixture = xcalloc(1, sizeof(*fixture));
    fixture->response.bytes = fixture->reply;
    fixture->config = (struct engine_config){
        .settings = {.ttl_s = 3600,
                     .min_ttl_s = 60,
                     .priority = 10,
                     .max_udp_size = 1232,
                     .ndots = 2,
                     .chaos = true},
    };
    fixture_domain(fixture, "cluster.local.");
    fixture->writer = store_writer_new();
    fixture_put(fixture, keys, count);
    fixture->engine = engine_new(&fixture->config);
    memcpy(&fixture->known, &fixture->config, sizeof(fixture->config));
    return fixture;
}

void fixture_free(struct fixture *fixture)
{
    engine_free(fixture->engine);
    store_writer_free(fixture->writer);
    free(fixture);
}

struct options {
    bool dnssec_ok, has_subnet, is_from_stub;
};

static void fixture_write_opt(struct writer *w, unsigned udp_size, const struct options *options)
{
    static const uint8_t subnet[] = {0, 8, 0, 7, 0, 1, 24, 0, 10, 1, 2};
    static const uint8_t from_stub[] = {0xfd, 0xf3, 0, 1, 1};
    size_t subnet_len = options->has_subnet ? sizeof(subnet) : 0;
    size_t stub_len = options->is_from_stub ? sizeof(from_stub) : 0;
    writer_u8(w, 0);
    writer_u16(w, 41);
    writer_u16(w, (uint16_t)udp_size);
    writer_u32(w, options->dnssec_ok ? 0x8000 : 0);
    writer_u16(w, (uint16_t)(subnet_len + stub_len));
    writer_bytes(w, subnet, subnet_len);
    writer_bytes(w, from_stub, stub_len);
}

enum engine_transport fixture_query(struct fixture *fixture, const char *question)
{
    char *text = xstrdup(question), *rest = NULL;
    struct dname name = dname_from(strtok_r(text, " ", &rest));
    uint16_t type = dns_text_type(strtok_r(NULL, " ", &rest)), qclass = 1, flags = 0x0100;
    unsigned udp_size = 0;
    struct options options = {0};
    enum engine_transport transport = ENGINE_UDP;
    for (const char *word; (word = strtok_r(NULL, " ", &rest));) {
        unsigned number;
        if (strcmp(word, "ch") == 0) {
            qclass = 3;
        } else if (sscanf(word, "class=%u", &number) == 1) {
            qclass = (uint16_t)number;
        } else if (strcmp(word, "nord") == 0) {
            flags &= 0xfeff;
        } else if (strcmp(word, "tcp") == 0) {
            transport = ENGINE_TCP;
        } else if (strcmp(word, "do") == 0) {
            options.dnssec_ok = true;
        } else if (strcmp(word, "subnet") == 0) {
            options.has_subnet = true;
        } else if (strcmp(word, "stub") == 0) {
            options.is_from_stub = true;
        } else if (strcmp(word, "ad") == 0) {
            flags |= 0x0020;
        } else if (strcmp(word, "cd") == 0) {
            flags |= 0x0010;
        } else if (sscanf(word, "edns=%u", &udp_size) != 1) {
            fixture_die("no option", word);
        }
    }
    struct writer w = writer_of(fixture->query, sizeof(fixture->query));
    writer_u16(&w, 0x1234);
    writer_u16(&w, flags);
    writer_u16(&w, 1);
    writer_u32(&w, 0);
    writer_u16(&w, udp_size ? 1 : 0);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, type);
    writer_u16(&w, qclass);
    if (udp_size) {
        fixture_write_opt(&w, udp_size, &options);
    }
    fixture->query_len = w.pos;
    free(text);
    return transport;
}

static const char *deferral_text(struct fixture *fixture)
{
    const struct engine_deferral *d = &fixture->deferral;
    if (d->kind != ENGINE_DEFER_LOOKUP) {
        return d->kind == ENGINE_DEFER_FORWARD ? "forward"
               : d->kind == ENGINE_DEFER_SIGN  ? "sign"
                                               : "walk";
    }
    size_t used = (size_t)snprintf(fixture->text, sizeof(fixture->text), "lookup");
    for (size_t i = 0; i < d->question_count; i++) {
        char name[DNAME_TEXT_MAX];
        used += (size_t)snprintf(fixture->text + used, sizeof(fixture->text) - used, " %s/%s",
                                 dname_to_text(&d->questions[i].name, name),
                                 d->questions[i].type == 1 ? "A" : "AAAA");
    }
    return fixture->text;
}

/* The engine copies the configuration, so apply changes before each question. */
static void fixture_configure(struct fixture *fixture)
{
    if (memcmp(&fixture->known, &fixture->config, sizeof(fixture->config)) != 0) {
        fixture->config.serial++;
        memcpy(&fixture->known, &fixture->config, sizeof(fixture->config));
        engine_configure(fixture->engine, &fixture->config);
    }
}

/* Checks the descriptions of a response against its bytes. */
static void fixture_check_response(const struct response *response)
{
    static const uint8_t opt[] = {0, 0, DNS_TYPE_OPT};
    struct reader r = reader_of(response->bytes, response->len);
    struct dname name = {.len = 0};
    reader_seek(&r, DNS_HEADER_SIZE);
    if (response->bytes[5] > 0 && !dname_read(&r, &name)) {
        fixture_die("no question", "response");
    }
    if (name.len != response->name_len) {
        fixture_die("not the length of the question's name", "name_len");
    }
    if (response->opt_at > 0 && memcmp(response->bytes + response->opt_at, opt, sizeof(opt)) != 0) {
        fixture_die("not the place of OPT", "opt_at");
    }
}

const char *fixture_answer(struct fixture *fixture, enum engine_transport transport)
{
    fixture_configure(fixture);
    struct engine_query query = {
        .wire = fixture->query,
        .len = fixture->query_len,
        .client = fixture->client.len ? &fixture->client : &fixture->local,
        .local = &fixture->local,
        .transport = transport,
        .now_s = FIXTURE_NOW_S,
        .now_ms = fixture->now_ms,
        .random = fixture->random,
        .takes_stale = fixture->takes_stale,
        .ahead = fixture->ahead,
        .search_list_at = fixture->search_list_at,
        .search_list_serial = fixture->config.serial - fixture->path_age,
        .search_list_seen = fixture->search_list_seen,
        .may_scan = fixture->may_scan,
        .may_sign = fixture->may_sign,
        .is_brief = fixture->is_brief,
        .is_late = fixture->is_late,
        .is_late_data = fixture,
    };
    union owned_query_room room;
    fixture->reply_len = 0;
    if (fixture->is_repeated && !own_query(fixture->engine, &query, &room)) {
        fixture_die("never deferred", "query");
    }
    fixture->verdict = engine_answer(fixture->engine, fixture->store, &query,
                                     fixture->has_externals ? &fixture->externals : NULL,
                                     &fixture->response, &fixture->deferral);
    fixture->is_signed = query.tsig != NULL;
    switch (fixture->verdict) {
    case ENGINE_DROP:
        return "drop";
    case ENGINE_DEFER:
        return deferral_text(fixture);
    case ENGINE_REPLY:
        break;
    }
    fixture->reply_len = fixture->response.len;
    fixture_check_response(&fixture->response);
    if (transport == ENGINE_UDP && fixture->reply_len > fixture->config.settings.max_udp_size) {
        fixture_die("reply too long", "UDP");
    }
    return dns_text(fixture->reply, fixture->reply_len, fixture->text, sizeof(fixture->text));
}

const char *fixture_ask(struct fixture *fixture, const char *question)
{
    return fixture_answer(fixture, fixture_query(fixture, question));
}
