#include "skydns/pages/top_view.h"

/* ---- Queries ---- */

static const struct live_row counter_rows[] = {{"{@}", .right = "{.|rate12} {.|13}"}};

static const struct live_row latency_rows[] = {{"{@}", .right = "{.|half8} {.|most8} {.|nearly8}"}};

static const struct live_row loss_rows[] = {
    {"rate-limited", .right = "{clients/limited|rate12} {clients/limited|13}",
     .style = "{?clients/limited|rate}warn{/}", .when = "clients"},
    {"refused", .right = "{clients/refused|rate12} {clients/refused|13}",
     .style = "{?clients/refused|rate}warn{/}", .when = "clients"},
    {"no query", .right = "{dropped|rate12} {dropped|13}", .style = "{?dropped|rate}warn{/}"},
};

/* ---- Where answers come from ---- */

static const struct live_row etcd_rows[] = {
    {"{endpoint}", .right = "{?connected}connected{:}away for {away_s|age}{/}",
     .style = "{?connected}good{:}bad{/}"},
    {"{reason}", .when = "reason"},
    {"revision", .right = "{revision|0}"},
    {"revisions behind", .right = "{lag|0}", .style = "{?lag}warn{/}"},
    {"heard from", .right = "{age_ms|age_ms} ago"},
    {"records", .right = "{^records|0}"},
    {"unusable keys", .right = "{^unusable|0}", .style = "{?^unusable}warn{/}"},
};

static const struct live_row cache_rows[] = {
    {"cached responses", .right = "{entries|0} of {limit|0}"},
    {"hits", .right = "{hits|rate12} {hits|13}"},
    {"negative", .right = "{negative_hits|rate12} {negative_hits|13}"},
    {"stale", .right = "{stale_hits|rate12} {stale_hits|13}"},
    {"failure", .right = "{failure_hits|rate12} {failure_hits|13}"},
    {"misses", .right = "{misses|rate12} {misses|13}"},
    {"prefetches", .right = "{prefetches|rate12} {prefetches|13}"},
    {"evictions", .right = "{evictions|rate12} {evictions|13}"},
};

static const struct live_row nameserver_rows[] = {
    {"{zone}  {address}", .right = "{??queries}{queries|0}, {failures|0} failed  {/}{state|.12}",
     .style = "{?state=up}{:}{?state=unknown}{:}bad{/}{/}"},
};

/* ---- Lists ---- */

static const struct live_row name_rows[] = {{"{name}", .right = "{type|.10} {count|9}"}};

static const struct live_row missing_rows[] = {
    {"{name}", .right = "{queries|9}"},
    {"  {?near}{near}{:}{why}{/}", .right = "{?namespace}by {namespace|.20}{/}"},
};

static const struct live_row client_rows[] = {
    {"{address}{?namespace}  {namespace|.24}{/}", .right = "{queries|9} {misses|9}"},
};

static const struct live_row change_rows[] = {
    {"{time_ms|clock} {?name}{name}{:}{key}{/}", .right = "{kind|.6} {took_us|micros7}"},
};

/* ---- All ---- */

/* Limits lists to a quarter of a high screen, and counters to sixteen rows. */
#define FEW        \
    {              \
        4, 4, 0, 0 \
    }
#define RATES(more)    \
    {                  \
        5, 0, 16, more \
    }

static const char rate_columns[] = "1/s         total";

static const struct live_table tables[] = {
    {"Queries", rate_columns, RATES(0), "queries/", LIVE_ROWS(counter_rows)},
    {"etcd", "", RATES(2), "etcd", LIVE_ROWS(etcd_rows)},
    {"Responses", rate_columns, RATES(0), "rcodes/", LIVE_ROWS(counter_rows)},
    {"Answered within", "50%      90%      99%", RATES(0), "latency/", LIVE_ROWS(latency_rows)},
    {"Upstreams", "", FEW, "nameservers", LIVE_ROWS(nameserver_rows), .more = "nameservers_more"},
    {"Latest changes", "in use after", FEW, "changes", LIVE_ROWS(change_rows)},
    {"Cache", rate_columns, RATES(3), "cache", LIVE_ROWS(cache_rows)},
    {"Most queried", "sampled", FEW, "top", LIVE_ROWS(name_rows)},
    {"Missing names", "queries an hour", FEW, "missing/names", LIVE_ROWS(missing_rows)},
    {"Busiest clients", "5 min    misses", FEW, "busy/clients", LIVE_ROWS(client_rows)},
    {"Types", rate_columns, RATES(0), "types/", LIVE_ROWS(counter_rows)},
    {"Not answered", rate_columns, RATES(0), NULL, LIVE_ROWS(loss_rows)},
};

static const struct live_source sources[] = {{"missing", "/missing"}, {"busy", "/clients"}};

const struct live_screen top_view = {
    .program = "skydns",
    .domain = "{*domains}{?+}{:}{.}{/}{/}",
    .total = "queries",
    .unit = " queries/s",
    .rate_width = 22, /* "1234.5 queries/s" */
    .peak_width = 16,
    .sources = sources,
    .source_count = ARRAY_LEN(sources),
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
