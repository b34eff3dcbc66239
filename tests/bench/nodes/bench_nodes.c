/* The etcd side of many nodes' skydns in one process, for tests/bench/node_readers.py: each has an
 * etcd client, a record store kept by store_sync and the documents of kube2sky, as skydns has with
 * the flags of node-local.yaml. Nothing answers queries.
 *
 *     bench_nodes URL follow COUNT [SNAPSHOT]
 *             prints `ready` when all have caught up with etcd, those of a snapshot from its
 *             revision on. Then it reads revisions from stdin, prints `seen` when all serve the
 *             last one, and at the end of stdin `REVISION MICROSECONDS`: when the last of them
 *             published it, for each from the first one read
 *     bench_nodes URL put COUNT PER_S         one key each
 *     bench_nodes URL roll PODS PER_S BATCH   replaces the addresses of so many pods, BATCH in each
 *                                             transaction; both print `REVISION MICROSECONDS` of
 *                                             each transaction: when it was sent
 *
 * Times are of CLOCK_MONOTONIC. */
#include <errno.h>
#include <ev.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_txn.h"
#include "skydns/publish/publisher.h"
#include "skydns/snapshot/snapshot.h"
#include "skydns/snapshot/snapshot_file.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "tests/bench/bench_etcd.h"

#define POLL_S 0.02

enum {
    CALL_TIMEOUT_MS = 5000,
    /* skydns' own */ REVISIONS_MAX = 100000,
    TEXT_MAX = 160,
    PODS_OF_SERVICE = 100
};

/* A number from 1 to the limit. */
static size_t bench_nodes_number(const char *text, unsigned long limit)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (*end || value < 1 || value > limit) {
        bench_fail(text, "not a number that makes sense");
    }
    return value;
}

/* ---- Nodes ---- */

struct node {
    struct publisher *publisher;
    struct etcd *etcd;
    struct store_sync *sync;
    struct writer_documents *documents;
    struct nodes *all;
    int64_t revision; /* published */
};

struct nodes {
    struct ev_loop *loop;
    size_t count;
    struct node *items;   /* by the addresses of their publishers */
    const char *snapshot; /* the file that each starts from; NULL: none */
    ev_timer poll;        /* until all have caught up */
    int64_t wanted;       /* revision; 0: none */
    size_t behind;        /* nodes that have not published it */
    int64_t first;        /* revision that is timed; 0: none yet */
    int64_t *published_us;
    ev_io input;
};

static struct nodes nodes;

static int bench_nodes_order(const void *a, const void *b)
{
    const struct node *one = a, *other = b;
    return ((uintptr_t)one->publisher > (uintptr_t)other->publisher) -
           ((uintptr_t)one->publisher < (uintptr_t)other->publisher);
}

static void bench_nodes_say(const char *what)
{
    printf("%s\n", what);
    (void)fflush(stdout);
}

static void bench_nodes_note(struct node *node, int64_t revision)
{
    const int64_t now_us = clock_monotonic_us(), last = nodes.first + REVISIONS_MAX;
    for (int64_t i = node->revision + 1; i <= revision && nodes.first; i++) {
        if (i >= nodes.first && i < last) {
            nodes.published_us[i - nodes.first] = now_us;
        }
    }
    if (node->revision < nodes.wanted && revision >= nodes.wanted && --nodes.behind == 0) {
        bench_nodes_say("seen");
    }
    node->revision = revision;
}

void __real_publisher_publish(struct publisher *publisher, const struct store *store,
                              struct store_garbage *garbage);

/* In the place of publisher_publish, by the linker (--wrap). */
void __wrap_publisher_publish(struct publisher *publisher, const struct store *store,
                              struct store_garbage *garbage);
void __wrap_publisher_publish(struct publisher *publisher, const struct store *store,
                              struct store_garbage *garbage)
{
    const struct node key = {.publisher = publisher};
    struct node *node =
        bsearch(&key, nodes.items, nodes.count, sizeof(*nodes.items), bench_nodes_order);
    __real_publisher_publish(publisher, store, garbage);
    bench_nodes_note(node, store_revision(store));
}

static void bench_nodes_on_poll(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)events;
    for (size_t i = 0; i < nodes.count; i++) {
        const struct store_sync *sync = nodes.items[i].sync;
        if (!store_sync_is_ready(sync) || !store_sync_is_caught_up(sync)) {
            return;
        }
    }
    ev_timer_stop(loop, timer);
    bench_nodes_say("ready");
}

static void bench_nodes_on_document(void *data, const struct dname *domain, struct slice value,
                                    int64_t revision)
{
    (void)data;
    (void)domain;
    (void)value;
    (void)revision;
}

static void bench_nodes_on_stubs(void *data, const struct forward_zone *zones, size_t count)
{
    (void)data;
    (void)zones;
    (void)count;
}

static void bench_nodes_on_visible(void *data, const struct visible_namespace *listed, size_t count)
{
    (void)data;
    (void)listed;
    (void)count;
}

static void bench_nodes_start(struct node *node, const char *url)
{
    struct dname domain;
    struct snapshot_content content = {0};
    struct err err;
    if (!dname_from_text(slice_str("cluster.local."), &domain)) {
        bench_fail("cluster.local.", "no name");
    }
    if (nodes.snapshot && (snapshot_file_read(nodes.snapshot, &content, &err) != 0 ||
                           !store_sync_can_start(&content, &err))) {
        bench_fail(nodes.snapshot, "cannot be used");
    }
    node->etcd = bench_etcd_at(nodes.loop, url, CALL_TIMEOUT_MS);
    node->documents = writer_documents_new(&(struct writer_documents_config){
        .loop = nodes.loop,
        .etcd = node->etcd,
        .name = "config",
        .saved = buf_slice(&content.sections[SNAPSHOT_WRITERS]),
        .changed = bench_nodes_on_document,
    });
    writer_documents_set_domains(node->documents, &domain, 1);
    node->sync = store_sync_start(&(struct store_sync_config){
        .loop = nodes.loop,
        .etcd = node->etcd,
        .publisher = node->publisher,
        .path_prefix = "skydns",
        .skips_wildcards = true,
        .default_ttl_s = 30,
        .domains = &domain,
        .domain_count = 1,
        .requires_store_key = true,
        .start = nodes.snapshot ? &content : NULL,
        .wants_stubs = true,
        .on_stubs = bench_nodes_on_stubs,
        .wants_gone = true,
        .wants_clients = CLIENTS_FOR_METRICS,
        .on_visible = bench_nodes_on_visible,
        .data = node,
    });
    snapshot_content_fini(&content);
}

static void bench_nodes_want(int64_t revision)
{
    nodes.wanted = revision;
    nodes.behind = 0;
    for (size_t i = 0; i < nodes.count; i++) {
        nodes.behind += nodes.items[i].revision < revision;
    }
    if (nodes.behind == 0) {
        bench_nodes_say("seen");
    }
}

/* One line at a time: the other side waits for `seen`. */
static void bench_nodes_on_input(struct ev_loop *loop, ev_io *io, int events)
{
    char text[TEXT_MAX];
    const ssize_t len = read(io->fd, text, sizeof(text) - 1);
    (void)events;
    if (len <= 0) {
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    text[len] = '\0';
    const int64_t revision = strtoll(text, NULL, 10);
    if (!nodes.first) {
        nodes.first = revision + 1;
    }
    bench_nodes_want(revision);
}

static void bench_nodes_follow(struct ev_loop *loop, const char *url, size_t count,
                               const char *snapshot)
{
    size_t keys = SIZE_MAX;
    nodes = (struct nodes){.loop = loop, .count = count, .snapshot = snapshot};
    nodes.items = xcalloc(count, sizeof(*nodes.items));
    nodes.published_us = xcalloc(REVISIONS_MAX, sizeof(*nodes.published_us));
    for (size_t i = 0; i < count; i++) {
        nodes.items[i].publisher = publisher_new();
    }
    qsort(nodes.items, count, sizeof(*nodes.items), bench_nodes_order);
    for (size_t i = 0; i < count; i++) {
        bench_nodes_start(&nodes.items[i], url);
    }
    ev_timer_init(&nodes.poll, bench_nodes_on_poll, 0.0, POLL_S);
    ev_timer_start(loop, &nodes.poll);
    ev_io_init(&nodes.input, bench_nodes_on_input, STDIN_FILENO, EV_READ);
    ev_io_start(loop, &nodes.input);
    ev_run(loop, 0);
    for (size_t i = 0; i < count; i++) {
        const size_t held = store_sync_counts(nodes.items[i].sync).keys;
        keys = held < keys ? held : keys;
    }
    printf("keys %zu\n", keys);
    for (int64_t i = 0; i < REVISIONS_MAX; i++) {
        if (nodes.published_us[i]) {
            printf("%" PRId64 " %" PRId64 "\n", nodes.first + i, nodes.published_us[i]);
        }
    }
    (void)fflush(stdout);
    _exit(0); /* what each of them holds ends with the process */
}

/* ---- The writer ---- */

struct writing {
    int64_t sent_us;
    struct node_writer *writer;
};

struct node_writer {
    ev_timer timer;
    struct etcd *etcd;
    size_t done, count; /* transactions sent, and to be sent */
    size_t acknowledged;
    size_t batch; /* pods of each; 0: one key that is not a pod's */
    struct writing *sent;
};

static void bench_nodes_on_written(void *data, const struct etcd_txn_reply *reply,
                                   const struct err *err)
{
    const struct writing *writing = data;
    struct node_writer *writer = writing->writer;
    if (err) {
        bench_fail("put", err->msg);
    }
    printf("%" PRId64 " %" PRId64 "\n", reply->revision, writing->sent_us);
    if (++writer->acknowledged == writer->count) {
        ev_break(EV_DEFAULT_ EVBREAK_ALL);
    }
}

static struct slice bench_nodes_pod(char ret[TEXT_MAX], size_t pod, const char *generation)
{
    const int len = snprintf(ret, TEXT_MAX, "/skydns/local/cluster/svc/default/roll-%zu/p%zu-%s",
                             pod / PODS_OF_SERVICE, pod, generation);
    return slice_of(ret, (size_t)len);
}

static void bench_nodes_on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct node_writer *writer = timer->data;
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    char texts[ETCD_TXN_OPS_MAX][TEXT_MAX], value[TEXT_MAX];
    const size_t number = writer->done++;
    size_t count = 0;
    (void)events;
    const int len =
        snprintf(value, sizeof(value),
                 "{\"host\":\"10.%zu.%zu.%zu\",\"priority\":10,\"weight\":10,\"ttl\":30}",
                 100 + number / 40000 % 100, number / 200 % 200, 1 + number % 200);
    for (size_t i = 0; i < writer->batch; i++) {
        const size_t pod = number * writer->batch + i;
        ops[count] = (struct etcd_op){.kind = ETCD_OP_PUT,
                                      .key = bench_nodes_pod(texts[count], pod, "new"),
                                      .value = slice_of(value, (size_t)len)};
        count++;
        ops[count] = (struct etcd_op){.kind = ETCD_OP_DELETE,
                                      .key = bench_nodes_pod(texts[count], pod, "old")};
        count++;
    }
    if (count == 0) {
        const int key_len = snprintf(texts[0], TEXT_MAX,
                                     "/skydns/local/cluster/svc/default/put/p%zu", number % 100);
        ops[count++] = (struct etcd_op){.kind = ETCD_OP_PUT,
                                        .key = slice_of(texts[0], (size_t)key_len),
                                        .value = slice_of(value, (size_t)len)};
    }
    struct writing *writing = &writer->sent[number];
    *writing = (struct writing){.sent_us = clock_monotonic_us(), .writer = writer};
    (void)etcd_txn(writer->etcd, &(struct etcd_txn){.ops = ops, .op_count = count},
                   bench_nodes_on_written, writing);
    if (writer->done == writer->count) {
        ev_timer_stop(loop, timer);
    }
}

static void bench_nodes_write(struct ev_loop *loop, const char *url, size_t count, double per_s,
                              size_t batch)
{
    struct node_writer writer = {
        .etcd = bench_etcd_at(loop, url, CALL_TIMEOUT_MS), .count = count, .batch = batch};
    writer.sent = xcalloc(count, sizeof(*writer.sent));
    ev_timer_init(&writer.timer, bench_nodes_on_tick, 0.0, 1.0 / per_s);
    writer.timer.data = &writer;
    ev_timer_start(loop, &writer.timer);
    ev_run(loop, 0);
    etcd_free(writer.etcd);
    free(writer.sent);
}

int main(int argc, char **argv)
{
    struct ev_loop *loop = ev_default_loop(0);
    const char *mode = argc > 3 ? argv[2] : "";
    if (strcmp(mode, "follow") == 0 && argc <= 5) {
        bench_nodes_follow(loop, argv[1], bench_nodes_number(argv[3], 100000), argv[4]);
    } else if (strcmp(mode, "put") == 0 && argc == 5) {
        bench_nodes_write(loop, argv[1], bench_nodes_number(argv[3], REVISIONS_MAX),
                          (double)bench_nodes_number(argv[4], 1000000), 0);
    } else if (strcmp(mode, "roll") == 0 && argc == 6) {
        const size_t batch = bench_nodes_number(argv[5], ETCD_TXN_OPS_MAX / 2);
        const size_t pods = bench_nodes_number(argv[3], REVISIONS_MAX);
        bench_nodes_write(loop, argv[1], (pods + batch - 1) / batch,
                          (double)bench_nodes_number(argv[4], 1000000) / (double)batch, batch);
    } else {
        bench_fail(
            "usage",
            "bench_nodes URL follow COUNT [SNAPSHOT] | put COUNT PER_S | roll PODS PER_S BATCH");
    }
    return 0;
}
