#include "exechealthz/pages.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "exechealthz/metrics_table.h"

static const char healthcheck_folder[] = "/healthcheck/";

/* Holds a route's data: the pages, and the index of its probe. */
struct entry {
    const struct pages *pages;
    size_t index;
    char path[sizeof(healthcheck_folder) + DNS_LABEL_TEXT_MAX];
};

struct pages {
    struct pages_config config;
    int64_t start_s;
    struct http_route *routes;
    struct entry *entries; /* one per route */
    size_t count;
};

static void log_request(const struct pages *pages, const struct http_request *request, int status)
{
    if (!pages->config.is_quiet) {
        log_info("request", LOG_STR("path", request->path), LOG_INT("status", status));
    }
}

static void handle_command(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct entry *entry = data;
    const struct probe *probe = entry->pages->config.probes[entry->index];
    reply->status = probe_report(probe, clock_monotonic_ms(), &reply->body) ? 200 : 503;
    log_request(entry->pages, request, reply->status);
}

static void handle_all_dns(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct entry *entry = data;
    const struct pages_config *config = &entry->pages->config;
    int64_t now_ms = clock_monotonic_ms();
    bool is_ok = true;
    for (size_t i = 0; i < config->dns_count; i++) {
        is_ok = dns_probe_report(config->dns_probes[i], now_ms, &reply->body) && is_ok;
    }
    if (is_ok) {
        buf_append_str(&reply->body, "ok");
    }
    reply->status = is_ok ? 200 : 503;
    log_request(entry->pages, request, reply->status);
}

static void handle_healthcheck(void *data, const struct http_request *request,
                               struct http_reply *reply)
{
    const struct entry *entry = data;
    const struct dns_probe *probe = entry->pages->config.dns_probes[entry->index];
    reply->status = dns_probe_healthcheck(probe, &reply->body) ? 200 : 503;
    reply->content_type = "application/json";
    log_request(entry->pages, request, reply->status);
}

static void handle_metrics(void *data, const struct http_request *request UNUSED,
                           struct http_reply *reply)
{
    const struct entry *entry = data;
    const struct pages_config *config = &entry->pages->config;
    const struct metrics_sources sources = {
        .start_s = entry->pages->start_s,
        .probes = config->probes,
        .probe_count = config->probe_count,
        .dns_probes = config->dns_probes,
        .dns_count = config->dns_count,
        .dnsmasq = config->dnsmasq,
        .actions = config->actions,
    };
    reply->content_type = metrics_content_type;
    exechealthz_metrics_table_write(&sources, &reply->body);
}

/* ---- The old program's pages ---- */

static void handle_index(void *data UNUSED, const struct http_request *request UNUSED,
                         struct http_reply *reply)
{
    static const struct {
        const char *path, *text;
    } links[] = {
        {"/healthz",
         "healthz probe. Returns \"ok\" if the command given through -cmd exits with 0."},
        {"/quit", "Cause this container to exit."},
    };
    reply->content_type = "text/html; charset=utf-8";
    buf_append_str(&reply->body, "<b> Kubernetes healthz sidecar container </b><br/><br/>");
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        buf_printf(&reply->body, "<a href=\"%s\">%s: %s</a><br/>", links[i].path, links[i].path,
                   links[i].text);
    }
}

static void handle_quit(void *data, const struct http_request *request,
                        struct http_reply *reply UNUSED)
{
    const struct entry *entry = data;
    log_info("stopping", LOG_STR("path", request->path));
    health_actions_stop(entry->pages->config.actions);
}

/* ---- Routes ---- */

static struct entry *pages_add(struct pages *pages, const char *path, http_handler handler)
{
    struct entry *entry = &pages->entries[pages->count];
    entry->pages = pages;
    pages->routes[pages->count++] = (struct http_route){path, handler, entry};
    return entry;
}

static void add_healthcheck(struct pages *pages, size_t index)
{
    struct entry *entry = pages_add(pages, pages->entries[pages->count].path, handle_healthcheck);
    entry->index = index;
    (void)snprintf(entry->path, sizeof(entry->path), "%s%s", healthcheck_folder,
                   dns_probe_target(pages->config.dns_probes[index])->label); /* fits */
}

struct pages *pages_new(const struct pages_config *config)
{
    enum { OTHERS = 4 }; /* all DNS, /metrics, /quit, everything else */
    struct pages *pages = xcalloc(1, sizeof(*pages));
    size_t max = config->probe_count + config->dns_count + OTHERS;
    pages->config = *config;
    pages->start_s = clock_wall_s();
    pages->routes = xcalloc(max, sizeof(*pages->routes));
    pages->entries = xcalloc(max, sizeof(*pages->entries));
    for (size_t i = 0; i < config->probe_count; i++) {
        pages_add(pages, probe_path(config->probes[i]), handle_command)->index = i;
    }
    if (config->dns_url) {
        (void)pages_add(pages, config->dns_url, handle_all_dns);
    }
    for (size_t i = 0; i < config->dns_count; i++) {
        add_healthcheck(pages, i);
    }
    (void)pages_add(pages, "/metrics", handle_metrics);
    if (config->has_legacy_pages) {
        (void)pages_add(pages, "/quit", handle_quit);
        (void)pages_add(pages, "*", handle_index);
    }
    return pages;
}

void pages_free(struct pages *pages)
{
    if (pages) {
        free(pages->routes);
        free(pages->entries);
        free(pages);
    }
}

const struct http_route *pages_routes(const struct pages *pages, size_t *ret_count)
{
    *ret_count = pages->count;
    return pages->routes;
}
