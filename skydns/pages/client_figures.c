#include "skydns/pages/client_figures.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"
#include "skydns/pages/busy_clients_internal.h"
#include "skydns/pages/namespace_figures_internal.h"
#include "skydns/tap/client_counts.h"
#include "skydns/tap/query_tap.h"
#include "skydns/udp/worker.h"

/* Candidates of a pod's search list in the cluster's domain: all fail before an external name. */
enum { CANDIDATES = 3 };

struct client_figures {
    struct client_figures_config config;
    ev_timer timer;
    bool has_counted;       /* ever */
    int64_t read_ms;        /* when all was read last */
    bool is_counting;       /* now */
    int64_t watched_end_ms; /* counts until then even without known namespaces */
    int64_t part_ms;        /* of the present part */
    unsigned parts_before;  /* whole parts in the window beside it */
    uint64_t unplaced;      /* queries without an address: client_counts.h */
    struct namespace_figures *namespaces;
    struct busy_clients *busy;
};

/* ---- Reading ---- */

static void fill_figures(const struct client_delta *delta, uint32_t ret[BUSY_FIGURES])
{
    ret[BUSY_QUERIES] = (uint32_t)client_delta_queries(delta);
    ret[BUSY_NXDOMAIN] = delta->counts[CLIENT_NXDOMAIN] + delta->counts[CLIENT_EXTERNAL_NXDOMAIN];
    ret[BUSY_EXTERNAL] = delta->counts[CLIENT_EXTERNAL];
    ret[BUSY_MISSES] = delta->counts[CLIENT_MISSES];
    ret[BUSY_DETOURS] = delta->counts[CLIENT_DETOURS];
}

static void add_delta(struct client_figures *f, const struct client_delta *delta)
{
    const unsigned part = busy_clients_part(f->busy);
    uint32_t figures[BUSY_FIGURES];
    unsigned group = 0;
    fill_figures(delta, figures);
    if (figures[BUSY_QUERIES] == 0) {
        return;
    }
    if (delta->ip.family_bytes > 0) {
        const struct client_space *space = client_index_find(f->config.index, &delta->ip);
        group = namespace_figures_group(f->namespaces, client_space_label(space));
        busy_clients_add(f->busy, &delta->ip, group, figures);
    } else {
        f->unplaced += figures[BUSY_QUERIES];
    }
    namespace_figures_add(f->namespaces, group, part, delta->counts, figures);
}

/* Begins a new part every BUSY_PART_MS; after a long sleep, all of them. */
static void turn_parts(struct client_figures *f, int64_t now_ms)
{
    for (unsigned i = 0; i < BUSY_PARTS && now_ms - f->part_ms >= BUSY_PART_MS; i++) {
        f->part_ms += BUSY_PART_MS;
        f->parts_before += f->parts_before < BUSY_PARTS - 1;
        busy_clients_turn(f->busy);
        namespace_figures_turn(f->namespaces, busy_clients_part(f->busy));
    }
    if (now_ms - f->part_ms >= BUSY_PART_MS) {
        f->part_ms = now_ms;
    }
}

/* Turns the threads' counting on or off. */
static void choose_counting(struct client_figures *f, int64_t now_ms)
{
    const bool knows_any =
        f->config.labels_max > 0 && client_index_counts(f->config.index).addresses > 0;
    const bool is_counting = knows_any || now_ms < f->watched_end_ms;
    if (is_counting && !f->is_counting) {
        f->part_ms = now_ms;
        f->parts_before = 0;
        for (unsigned i = 0; i < BUSY_PARTS; i++) { /* what was before has a gap after it */
            busy_clients_turn(f->busy);
            namespace_figures_turn(f->namespaces, busy_clients_part(f->busy));
        }
    }
    f->has_counted = f->has_counted || is_counting;
    if (is_counting != f->is_counting) {
        f->is_counting = is_counting;
        query_tap_set_clients(f->config.tap, is_counting);
    }
}

static void read_counts(struct client_figures *f, bool with_slots)
{
    struct client_delta delta;
    for (size_t i = 0; i < f->config.count; i++) {
        struct client_counts_at at = {0};
        while (client_counts_next(f->config.counts[i], with_slots, &at, &delta)) {
            add_delta(f, &delta);
        }
    }
    namespace_figures_settle(f->namespaces, client_index_counts(f->config.index).spaces);
}

void client_figures_read(struct client_figures *f)
{
    const int64_t now_ms = clock_monotonic_ms();
    choose_counting(f, now_ms);
    if (f->has_counted) {
        turn_parts(f, now_ms);
        read_counts(f, true);
        f->read_ms = now_ms;
    }
}

static bool are_rings_busy(const struct client_figures *f)
{
    bool is_busy = false;
    for (size_t i = 0; i < f->config.count && !is_busy; i++) {
        is_busy = client_counts_waiting(f->config.counts[i]) >= CLIENT_RING_VOTES / 8;
    }
    return is_busy;
}

static void client_figures_on_timer(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct client_figures *f = timer->data;
    const bool is_busy = are_rings_busy(f);
    if (is_busy && f->has_counted && clock_monotonic_ms() - f->read_ms < CLIENT_FIGURES_EVERY_MS) {
        read_counts(f, false);
    } else {
        client_figures_read(f);
    }
    timer->repeat = (is_busy ? CLIENT_FIGURES_SOON_MS : CLIENT_FIGURES_EVERY_MS) / 1000.0;
    ev_timer_again(loop, timer);
}

struct client_figures *client_figures_new(const struct client_figures_config *config)
{
    struct client_figures *f = xcalloc(1, sizeof(*f));
    f->config = *config;
    f->namespaces = namespace_figures_new(config->labels_max);
    f->busy = busy_clients_new();
    timer_init_every(&f->timer, client_figures_on_timer, f, CLIENT_FIGURES_EVERY_MS / 1000.0);
    ev_timer_again(config->loop, &f->timer);
    choose_counting(f, clock_monotonic_ms());
    return f;
}

void client_figures_free(struct client_figures *figures)
{
    if (figures) {
        ev_timer_stop(figures->config.loop, &figures->timer);
        namespace_figures_free(figures->namespaces);
        busy_clients_free(figures->busy);
        free(figures);
    }
}

/* ---- The metric ---- */

static void write_namespace(struct metrics_page *page, const struct namespace_sums *sums)
{
    static const char *const names[CLIENT_RESULTS] = {
        [CLIENT_LIMITED] = "limited",   [CLIENT_FAILED] = "failed", [CLIENT_EXTERNAL] = "external",
        [CLIENT_NXDOMAIN] = "nxdomain", [CLIENT_NODATA] = "nodata", [CLIENT_ANSWERED] = "answered",
    };
    char label[64] = "";
    memcpy(label, sums->label, sums->label_len);
    for (unsigned i = 0; i < CLIENT_RESULTS; i++) {
        metrics_sample(page, METRIC_LABELS({"namespace", label}, {"result", names[i]}),
                       sums->results[i]);
    }
}

void client_figures_write_metrics(struct client_figures *figures, struct metrics_page *page)
{
    client_figures_read(figures);
    if (!figures->has_counted || figures->config.labels_max == 0) {
        return;
    }
    metrics_family(page, METRIC_COUNTER, "namespace_queries_total",
                   "Queries by the namespace of the client's pod and by result; the namespace is "
                   "empty if it is not known, or not one of the -namespace-metrics busiest.");
    for (unsigned group = 0; group < BUSY_GROUPS_MAX; group++) {
        const struct namespace_sums *sums = namespace_figures_find(figures->namespaces, group);
        if (sums && (group == 0 || sums->is_labelled)) {
            write_namespace(page, sums);
        }
    }
}

/* ---- The page ---- */

/* Returns the mean CPU time of a worker's query, in us; 0: it has had none. */
static double client_figures_cpu_us(const struct client_figures *f)
{
    struct query_sums sums = {0};
    int64_t cpu_ns = 0;
    for (size_t i = 0; i < f->config.worker_count; i++) {
        worker_sums_add(f->config.workers[i], &sums);
        cpu_ns += worker_cpu_ns(f->config.workers[i]);
    }
    return sums.queries > 0 ? (double)cpu_ns / 1000 / (double)sums.queries : 0;
}

static void write_share(struct buf *out, const char *name, uint64_t part, uint64_t whole)
{
    buf_printf(out, ",\"%s\":%.4f", name, whole > 0 ? (double)part / (double)whole : 0.);
}

static void write_client(const struct client_figures *f, const struct busy_client *client,
                         double seconds, struct buf *out)
{
    char address[INET6_ADDRSTRLEN];
    const struct namespace_sums *sums =
        client->group > 0 ? namespace_figures_find(f->namespaces, client->group) : NULL;
    struct client_description now;
    const uint64_t queries = client->figures[BUSY_QUERIES];
    json_text_open_row(out, NULL, '{');
    json_text_string_field(out, "address", ip_format(&client->ip, address));
    if (sums) {
        json_text_slice_field(out, "namespace", namespace_label(sums));
    }
    if (sums && client_index_describe(f->config.index, &client->ip, &now) && now.pod.len > 0 &&
        slice_equal(now.ns, namespace_label(sums))) { /* not another one's by now */
        json_text_slice_field(out, "pod", now.pod);
    }
    json_text_number_field(out, "queries", queries);
    json_text_number_field(out, "lacks", client->lacks);
    json_text_number_field(out, "misses", client->figures[BUSY_MISSES]);
    buf_printf(out, ",\"per_s\":%.3f", (double)queries / seconds);
    write_share(out, "nxdomain_share", client->figures[BUSY_NXDOMAIN], queries);
    write_share(out, "external_share", client->figures[BUSY_EXTERNAL], queries);
    write_share(out, "miss_share", client->figures[BUSY_MISSES], queries);
    buf_append_char(out, '}');
}

static void write_clients(const struct client_figures *f, double seconds, struct buf *out)
{
    struct busy_client clients[CLIENT_FIGURES_SHOWN];
    const size_t count = busy_clients_list(f->busy, clients, CLIENT_FIGURES_SHOWN);
    json_text_open(out, "clients", '[');
    for (size_t i = 0; i < count; i++) {
        write_client(f, &clients[i], seconds, out);
    }
    buf_append_char(out, ']');
}

/* Writes what a namespace would save. With ndots:1, or a trailing dot, a name with dots is asked at
 * once: none of its candidates is. With -autopath one query is enough for all of them. */
static void write_bill(const struct client_figures *f, unsigned group, size_t clients,
                       double cpu_us, bool has_autopath, struct buf *out)
{
    const struct namespace_sums *of = namespace_figures_find(f->namespaces, group); /* is there */
    uint64_t sums[BUSY_FIGURES];
    busy_window_sum(&of->window, sums);
    const uint64_t misses = sums[BUSY_MISSES];
    const uint64_t of_detours = CANDIDATES * sums[BUSY_DETOURS];
    const uint64_t dots_save = of_detours < misses ? of_detours : misses;
    const uint64_t autopath_saves = has_autopath ? 0 : misses;
    json_text_open_row(out, NULL, '{');
    json_text_slice_field(out, "namespace", namespace_label(of));
    json_text_number_field(out, "clients", clients);
    json_text_number_field(out, "queries", sums[BUSY_QUERIES]);
    json_text_number_field(out, "nxdomain", sums[BUSY_NXDOMAIN]);
    json_text_number_field(out, "external", sums[BUSY_EXTERNAL]);
    json_text_number_field(out, "misses", misses);
    json_text_number_field(out, "ndots1_saves", dots_save);
    buf_printf(out, ",\"ndots1_saves_cpu_ms\":%.3f", (double)dots_save * cpu_us / 1000);
    json_text_number_field(out, "autopath_saves", autopath_saves);
    buf_printf(out, ",\"autopath_saves_cpu_ms\":%.3f}", (double)autopath_saves * cpu_us / 1000);
}

struct group_queries {
    unsigned group;
    uint64_t queries;
};

static int compare_groups(const void *a, const void *b)
{
    const struct group_queries *x = a, *y = b;
    return x->queries < y->queries   ? 1
           : x->queries > y->queries ? -1
                                     : (int)x->group - (int)y->group;
}

static size_t sort_groups(const struct client_figures *f, struct group_queries ret[BUSY_GROUPS_MAX])
{
    uint64_t sums[BUSY_FIGURES];
    size_t count = 0;
    for (unsigned group = 0; group < BUSY_GROUPS_MAX; group++) {
        const struct namespace_sums *of = namespace_figures_find(f->namespaces, group);
        if (of) {
            busy_window_sum(&of->window, sums);
            if (sums[BUSY_QUERIES] > 0) {
                ret[count++] = (struct group_queries){group, sums[BUSY_QUERIES]};
            }
        }
    }
    qsort(ret, count, sizeof(ret[0]), compare_groups);
    return count;
}

static void write_bills(const struct client_figures *f, double cpu_us, bool has_autopath,
                        struct buf *out)
{
    struct group_queries *groups = xcalloc(BUSY_GROUPS_MAX, sizeof(*groups));
    uint16_t clients[BUSY_GROUPS_MAX];
    const size_t count = sort_groups(f, groups);
    const size_t shown =
        count < CLIENT_FIGURES_NAMESPACES_SHOWN ? count : CLIENT_FIGURES_NAMESPACES_SHOWN;
    busy_clients_count(f->busy, clients);
    json_text_open(out, "namespaces", '[');
    for (size_t i = 0; i < shown; i++) {
        write_bill(f, groups[i].group, clients[groups[i].group], cpu_us, has_autopath, out);
    }
    buf_append_char(out, ']');
    json_text_number_field(out, "namespaces_more", count - shown);
    free(groups);
}

void client_figures_write_page(struct client_figures *f, bool has_autopath, struct buf *out)
{
    const int64_t now_ms = clock_monotonic_ms();
    f->watched_end_ms = now_ms + CLIENT_FIGURES_WATCHED_MS;
    client_figures_read(f);
    const int64_t window_ms = (int64_t)f->parts_before * BUSY_PART_MS + now_ms - f->part_ms;
    const double seconds = window_ms > 1000 ? (double)window_ms / 1000 : 1;
    const double cpu_us = client_figures_cpu_us(f);
    buf_printf(out, "{\"window_s\":%.0f,\"cpu_us_per_query\":%.3f", seconds, cpu_us);
    json_text_number_field(out, "unplaced", f->unplaced);
    json_text_flag_field(out, "autopath", has_autopath);
    write_clients(f, seconds, out);
    write_bills(f, cpu_us, has_autopath, out);
    buf_append_str(out, "}\n");
}
