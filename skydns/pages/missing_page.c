#include "skydns/pages/missing_page.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/json_text.h"
#include "common/base/xalloc.h"
#include "common/dns/dns_names.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/pages/missing_list_internal.h"
#include "skydns/pages/missing_names.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/tap/query_tap.h"

/* List under way for one response. */
struct missing_reply {
    const struct missing_page *page;
    struct missing_list *list;
};

/* Writes the object of a Service's name, or of its pod's: "default/web". */
static void write_owner(const struct missing_reply *reply, const struct dname *name,
                        struct buf *out)
{
    enum { SERVICE_LABELS = 3 };
    const struct engine_zone *zone =
        engine_config_zone(publisher_newest_config(reply->page->sources->publisher), name);
    struct dname_labels labels;
    dname_labels(name, &labels);
    const unsigned own = zone ? labels.count - zone->labels : 0;
    if (own >= SERVICE_LABELS &&
        slice_equal(dname_label(name, labels.offsets[own - 1]), slice_str("svc"))) {
        struct buf service;
        buf_init(&service, 2 * DNAME_LABEL_MAX + sizeof("/"));
        buf_append_slice(&service, dname_label(name, labels.offsets[own - 2]));
        buf_append_char(&service, '/');
        buf_append_slice(&service, dname_label(name, labels.offsets[own - SERVICE_LABELS]));
        json_text_slice_field(out, "service", buf_slice(&service));
        buf_fini(&service);
    }
}

static void write_gone(const struct missing_reply *reply, const struct missing_hint *hint,
                       struct buf *out)
{
    json_text_open(out, "deleted", '{');
    dname_json_field(out, "name", &hint->gone);
    json_text_number_field(out, "time_ms", (uint64_t)hint->gone_ms);
    write_owner(reply, &hint->gone, out);
    if (hint->had.family_bytes > 0) {
        char text[INET6_ADDRSTRLEN];
        json_text_string_field(out, "address", ip_format(&hint->had, text));
    }
    buf_append_char(out, '}');
}

static void write_row(const struct missing_reply *reply, const struct missing_row *row,
                      struct buf *out)
{
    char type[DNS_TYPE_TEXT_MAX];
    const struct missing_hint *hint = &row->hint;
    dname_json_field(out, "name", &row->entry.name);
    json_text_string_field(out, "type", dns_type_text(row->entry.type, type));
    if (row->entry.space_len > 0) {
        json_text_slice_field(out, "namespace", missing_entry_space(&row->entry));
    }
    json_text_number_field(out, "queries", (uint64_t)row->entry.count * QUERY_TAP_MISSING_OF);
    if (missing_row_is_alias(row)) {
        dname_json_field(out, "target", &hint->near);
        return;
    }
    json_text_string_field(out, "why", missing_why_text(hint->why));
    if (hint->near.len > 0) {
        dname_json_field(out, "near", &hint->near);
    }
    if (hint->gone.len > 0) {
        write_gone(reply, hint, out);
    }
}

static void write_rows(const struct missing_reply *reply, const char *field, bool wants_aliases,
                       struct buf *out)
{
    json_text_open(out, field, '[');
    for (size_t i = 0; i < reply->list->count; i++) {
        const struct missing_row *row = &reply->list->rows[i];
        if (row->is_shown && missing_row_is_alias(row) == wants_aliases) {
            json_text_open(out, NULL, '{');
            write_row(reply, row, out);
            buf_append_char(out, '}');
        }
    }
    buf_append_char(out, ']');
}

static void write_upstreams(const struct missing_reply *reply, struct buf *out)
{
    const struct upstream_figures *figures =
        resolver_counts(reply->page->sources->resolver)->upstreams;
    json_text_open(out, "upstreams", '[');
    for (size_t i = 0; i < upstream_figures_count(figures); i++) {
        const struct upstream_figure *figure = &figures->items[i];
        const struct missing_upstream hour = missing_names_upstream(reply->page->names, i);
        if (hour.timeouts > 0) {
            char address[NAMESERVER_TEXT_MAX];
            json_text_open(out, NULL, '{');
            dname_json_field(out, "zone", &figure->zone);
            json_text_string_field(out, "address", nameserver_format(&figure->server, address));
            json_text_string_field(out, "transport", nameserver_transport(&figure->server));
            json_text_number_field(out, "queries", hour.queries);
            json_text_number_field(out, "failures", hour.failures);
            json_text_number_field(out, "timeouts", hour.timeouts);
            buf_append_char(out, '}');
        }
    }
    buf_append_char(out, ']');
}

static bool write_more(void *data, struct buf *piece)
{
    struct missing_reply *reply = data;
    const struct metrics_sources *sources = reply->page->sources;
    if (!missing_list_look(reply->list)) {
        return true;
    }
    buf_append_char(piece, '{');
    json_text_number_field(piece, "span_s", (uint64_t)missing_names_span_s(reply->page->names));
    json_text_number_field(piece, "sampled", QUERY_TAP_MISSING_OF);
    write_rows(reply, "names", false, piece);
    write_rows(reply, "aliases", true, piece);
    if (sources->resolver) {
        write_upstreams(reply, piece);
    }
    json_text_number_field(piece, "expansions",
                           missing_names_expansions(reply->page->names) * QUERY_TAP_MISSING_OF);
    json_text_number_field(piece, "dropped", name_samples_dropped(sources->tap->missing));
    buf_append_str(piece, "}\n");
    return false;
}

static void end_missing_reply(void *data)
{
    struct missing_reply *reply = data;
    missing_list_free(reply->list);
    free(reply);
}

static void on_missing(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct missing_page *page = data;
    if (!http_request_reads(request, reply)) {
        return;
    }
    missing_names_take(page->names);
    struct missing_list *list = missing_list_new(page->sources, missing_names_sketch(page->names));
    if (!list || !page->sources->tap) {
        missing_list_free(list);
        reply->status = 503;
        buf_append_str(&reply->body, "too many requests at once; expected a later one\n");
        return;
    }
    struct missing_reply *made = xcalloc(1, sizeof(*made));
    *made = (struct missing_reply){.page = page, .list = list};
    reply->content_type = "application/json";
    reply->stream = (struct http_stream){write_more, end_missing_reply, made};
}

struct http_route missing_page_route(struct missing_page *page)
{
    return (struct http_route){"/missing", on_missing, page};
}
