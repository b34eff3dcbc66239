/* For tests of clients_internal.h: pods in a store, and kube2sky's keys about clients by fake
 * mirrors. */
#ifndef TESTS_UNIT_SKYDNS_SYNC_CLIENTS_BED_H
#define TESTS_UNIT_SKYDNS_SYNC_CLIENTS_BED_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/visibility.h"
#include "skydns/publish/publisher.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/client_marks_internal.h"
#include "skydns/sync/client_pods_internal.h"
#include "skydns/sync/clients_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/log_capture.h"
#include "tests/support/skydns/records.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/sync/fake_mirrors.h"

/* ---- The mirrors ---- */

static bool can_save = true;

bool etcd_mirror_save(const struct etcd_mirror *mirror, struct buf *out)
{
    assert_true(mirror->is_running);
    buf_append_str(out, "mirror ");
    buf_append_str(out, strrchr(mirror->prefix, '-') ? "a" : "v");
    return can_save;
}

bool etcd_mirror_is_saved(struct slice saved)
{
    return slice_has_prefix(saved, slice_str("mirror "));
}

/* Called by the support code linked with every test, not by this one. */
struct etcd_mirror_counts etcd_mirror_counts(const struct etcd_mirror *mirror)
{
    assert_null(mirror);
    return (struct etcd_mirror_counts){.revision = 0};
}

/* The running one. */
static inline struct etcd_mirror *mirror_of(const char *prefix)
{
    for (unsigned i = started; i-- > 0;) {
        if (mirrors[i].is_running && strcmp(mirrors[i].prefix, prefix) == 0) {
            return &mirrors[i];
        }
    }
    fail_msg("no mirror of %s", prefix);
    return NULL;
}

static inline void begin(const char *prefix, bool keeps_old)
{
    struct etcd_mirror *mirror = mirror_of(prefix);
    mirror->config.full_begin(mirror->config.data,
                              &(struct etcd_mirror_read){.keeps_old = keeps_old, .reason = ""});
}

static inline void mark_bytes(const char *prefix, const char *label, struct slice value)
{
    char key[400];
    (void)snprintf(key, sizeof(key), "%s%s", prefix, label); /* fits */
    struct etcd_mirror *mirror = mirror_of(prefix);
    const struct etcd_kv kv = {.key = slice_str(key), .value = value, .mod_revision = 7};
    mirror->config.put(mirror->config.data, &kv);
}

static inline void mark(const char *prefix, const char *label, const char *value)
{
    mark_bytes(prefix, label, slice_str(value));
}

static inline void unmark(const char *prefix, const char *label)
{
    char key[400];
    (void)snprintf(key, sizeof(key), "%s%s", prefix, label); /* fits */
    struct etcd_mirror *mirror = mirror_of(prefix);
    mirror->config.del(mirror->config.data, slice_str(key), 7);
}

static inline void end(const char *prefix, bool full)
{
    struct etcd_mirror *mirror = mirror_of(prefix);
    mirror->config.commit(mirror->config.data, 7, full);
}

static inline void read_none(const char *prefix)
{
    begin(prefix, false);
    end(prefix, true);
}

#define NODES   "/kube2sky/a.test/node-address/"
#define NODES_B "/kube2sky/b.test/node-address/"
#define VIS     "/kube2sky/a.test/visible/"
#define VIS_B   "/kube2sky/b.test/visible/"
#define REC     "/kube2sky/a.test/client/"
#define REC_B   "/kube2sky/b.test/client/"

/* ---- The fixture ---- */

struct fixture {
    struct ev_loop *loop;
    struct publisher *publisher;
    struct store_writer *writer;
    const struct store *store;
    struct broken_table *broken;
    struct clients *clients;
    int64_t revision;
    unsigned told, known, changed;
    char listed[256]; /* as told last: "a=x,y b=* " */
};

static void (*listed_to)(void *data, const struct visible_namespace *listed, size_t count);

static inline void on_visible(void *data, const struct visible_namespace *listed, size_t count)
{
    struct fixture *f = data;
    int n = 0;
    if (listed_to) {
        listed_to(data, listed, count);
        return;
    }
    f->told++;
    f->listed[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        n += snprintf(f->listed + n, sizeof(f->listed) - (size_t)n, "%.*s=%.*s ",
                      (int)listed[i].ns.len, listed[i].ns.ptr, (int)listed[i].text.len,
                      listed[i].text.len ? listed[i].text.ptr : "");
        assert_true(n < (int)sizeof(f->listed));
    }
}

static inline void on_known(void *data)
{
    struct fixture *f = data;
    f->known++;
}

static inline void on_changed(void *data)
{
    struct fixture *f = data;
    f->changed++;
}

/* Whether a domain's client records are read as soon as they are followed: there are none. */
static bool has_no_records = true;

static inline void read_no_records(unsigned from)
{
    for (unsigned i = from; has_no_records && i < started; i++) {
        if (strstr(mirrors[i].prefix, "/client/") && mirrors[i].is_running) {
            read_none(mirrors[i].prefix);
        }
    }
}

static inline void set(struct fixture *f, bool is_on, unsigned domain_count)
{
    const struct dname domains[] = {dname_from("a.test."), dname_from("b.test.")};
    unsigned before = started;
    clients_set(f->clients, is_on, domains, domain_count);
    read_no_records(before);
}

static inline bool is_known(const struct fixture *f, const char *domain)
{
    const struct dname name = dname_from(domain);
    return clients_is_known(f->clients, &name);
}

/* saved: with the records of a snapshot, if any; saved_records: clients_save_records. */
static inline void open_clients(struct fixture *f, struct slice saved, struct slice saved_records)
{
    f->broken = broken_new();
    f->clients = clients_new(&(struct clients_config){.loop = f->loop,
                                                      .publisher = f->publisher,
                                                      .broken = f->broken,
                                                      .stale_max_ms = 5000,
                                                      .saved = saved,
                                                      .saved_records = saved_records,
                                                      .is_from_snapshot = saved.len > 0,
                                                      .on_visible = on_visible,
                                                      .on_visible_data = f,
                                                      .known = on_known,
                                                      .changed = on_changed,
                                                      .data = f});
}

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    record_json_use_xalloc();
    started = 0;
    f->loop = ev_loop_new(0);
    f->publisher = publisher_new();
    f->writer = store_writer_new();
    has_no_records = true;
    open_clients(f, slice_of(NULL, 0), slice_of(NULL, 0));
    *state = f;
    return 0;
}

static inline void close_clients(struct fixture *f)
{
    clients_free(f->clients);
    assert_int_equal(broken_count(f->broken), 0); /* what it marked goes with it */
    broken_free(f->broken);
    for (unsigned i = 0; i < started; i++) {
        assert_false(mirrors[i].is_running);
    }
}

static inline int teardown(void **state)
{
    CLEANUP_FREE struct fixture *f = *state;
    close_clients(f);
    publisher_free(f->publisher);
    store_writer_free(f->writer);
    ev_loop_destroy(f->loop);
    return 0;
}

/* ---- Pods ---- */

/* A name, not published; host "": none any more. As store_sync does it. */
static inline void put(struct fixture *f, const char *text, const char *host)
{
    char json[128];
    struct dname name = dname_from(text);
    struct record record;
    struct err err;
    (void)snprintf(json, sizeof(json), "{\"host\":\"%s\"}", host); /* fits */
    clients_note(f->clients, &name);
    f->revision++;
    if (*host) {
        assert_int_equal(record_from_json(slice_str(json), &record, &err), 0);
        (void)records_put(f->writer, &name, &record, f->revision); /* also hosts that are names */
    } else {
        store_writer_del(f->writer, &name);
    }
}

static inline void publish(struct fixture *f)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(f->writer, f->revision, &garbage);
    clients_follow(f->clients, store);
    if (store != f->store) {
        publisher_publish(f->publisher, store, garbage); /* frees the one before */
    }
    f->store = store;
}

static inline void pod(struct fixture *f, const char *text, const char *host)
{
    put(f, text, host);
    publish(f);
}

/* "": nobody's. In static storage. */
static inline const char *who(const struct fixture *f, const char *address)
{
    static char text[64];
    struct ip ip = ip_from(address);
    struct slice label = client_space_label(client_index_find(clients_index(f->clients), &ip));
    (void)snprintf(text, sizeof(text), "%.*s", (int)label.len, label.ptr); /* fits */
    return text;
}

/* On, with one domain, and no address that nodes share. */
static inline void start(struct fixture *f)
{
    set(f, true, 1);
    read_none(NODES);
    read_none(VIS);
}

#endif
