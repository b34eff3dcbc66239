#include "skydns/settings/option_values.h"

#include <stdio.h>
#include <string.h>

#include "common/http/http_admission.h"
#include "skydns/settings/stub_zones.h"

bool option_next_item(const char **list, char item[OPTION_ITEM_MAX])
{
    *list += strspn(*list, ",");
    size_t len = strcspn(*list, ",");
    size_t taken = len < OPTION_ITEM_MAX ? len : OPTION_ITEM_MAX - 1;
    memcpy(item, *list, taken);
    item[taken] = '\0';
    *list += len;
    return len > 0;
}

/* Accepts the slash of RFC 2317. Refuses quotation marks that no shell took away, and $(DOMAIN)
 * that nobody replaced: these would make names that no client asks for. */
bool option_lower_name(const char *text, struct dname *ret_name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_./";
    if (text[strspn(text, allowed)] != '\0' || !dname_from_text(slice_str(text), ret_name)) {
        return false;
    }
    dname_lower(ret_name);
    return true;
}

/* Replaces the first `@` by a dot, as in zone files. Empty means hostmaster.<domain>. */
int option_hostmaster(struct options *o, const char *text, struct err *err)
{
    char name[DNAME_TEXT_MAX];
    size_t len = strlen(text);
    if (len == 0) {
        o->hostmaster = (struct dname){0};
        return 0;
    }
    bool ok = len < sizeof(name) && text[strcspn(text, "\"'` ")] == '\0';
    if (ok) {
        memcpy(name, text, len + 1);
        char *at = memchr(name, '@', len);
        if (at) {
            *at = '.';
        }
        ok = dname_from_text(slice_of(name, len), &o->hostmaster);
    }
    if (!ok) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected a mail address like hostmaster@cluster.local", text);
    }
    return 0;
}

int option_local(struct options *o, const char *text, struct err *err)
{
    o->engine.local = (struct dname){0};
    if (*text != '\0' && !option_lower_name(text, &o->engine.local)) {
        return err_set(err, ERR_USAGE, "`%s`: expected a name like a.skydns.local.", text);
    }
    return 0;
}

int option_path_prefix(struct options *o, const char *text, struct err *err)
{
    if (*text == '\0' || strpbrk(text, "/\"'` ")) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected one path component, without slashes, quotation marks and "
                       "blanks",
                       text);
    }
    o->path_prefix = text;
    return 0;
}

int option_snapshot(struct options *o, const char *text, struct err *err)
{
    size_t len = strlen(text);
    if (len > 0 && text[len - 1] == '/') {
        return err_set(err, ERR_USAGE, "`%s`: expected a file, not a folder", text);
    }
    o->snapshot = text;
    return 0;
}

int option_user(struct options *o, const char *text, struct err *err)
{
    return *text ? privileges_find_user(text, &o->user, err) : 0;
}

int option_dnstap(struct options *o, const char *text, struct err *err)
{
    return dnstap_target_parse(text, &o->dnstap, err);
}

int option_allow_recursion(struct options *o, const char *list, struct err *err)
{
    return recursion_init(&o->recursion, list, err);
}

/* Takes ":8080" with -top as every address of this machine. */
int option_http_address(struct options *o, const char *text, struct err *err)
{
    char any[ADDR_TEXT_MAX];
    int r = 0;
    if (o->top && *text == ':') {
        (void)snprintf(any, sizeof(any), "0.0.0.0%s", text); /* what is cut is no port */
        text = any;
    }
    o->has_http = *text != '\0';
    if (o->has_http) {
        r = option_address(&o->http_address, text, err);
    }
    return r;
}

int option_http_hosts(struct options *o, const char *text, struct err *err)
{
    o->http_hosts = text;
    return http_hosts_check(text, err);
}

int option_address(struct addr *ret, const char *text, struct err *err)
{
    struct err reason;
    if (addr_parse(text, ret, &reason) < 0) {
        return err_set(err, ERR_USAGE, "%s", reason.msg);
    }
    return 0;
}

/* ---- Stub zones ---- */

/* Stands in place of upstreams: none is asked about the zone. */
static const char no_server[] = "none";

int option_zone(struct dname *ret, const char *text, struct err *err)
{
    struct dname name;
    if (!option_lower_name(text, &name)) {
        return err_set(err, ERR_USAGE, "`%s`: expected a zone like acme.local", text);
    }
    if (name.len == 1) {
        return err_set(err, ERR_USAGE,
                       "`%s`: the root is not a stub zone; expected -nameservers for it", text);
    }
    *ret = name;
    return 0;
}

int option_add_server(struct forward_zone *zone, const char *text, struct err *err)
{
    if (strcmp(text, no_server) == 0) {
        return 0;
    }
    if (zone->server_count == ZONE_SERVERS_MAX) {
        return err_set(err, ERR_USAGE, "more than %d servers", ZONE_SERVERS_MAX);
    }
    int r = nameserver_parse(text, &zone->servers[zone->server_count], err);
    zone->server_count += r == 0;
    return r;
}

/* Adds the upstreams to those that the zone has from the flag's earlier uses. */
static int set_stub(struct options *o, struct forward_zone *zone, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    int r = 0;
    const struct forward_zone *same = stub_zones_find(o->stubs, &zone->name);
    *zone = same ? *same : *zone;
    size_t before = zone->server_count;
    while (r == 0 && option_next_item(&rest, item)) {
        r = option_add_server(zone, item, err);
    }
    if (r == 0 && zone->server_count == before && strcmp(list, no_server) != 0) {
        return err_set(err, ERR_USAGE, "`%s`: expected servers like 10.0.0.1:53, or none", list);
    }
    if (r == 0 && !stub_zones_set(o->stubs, zone)) {
        return err_set(err, ERR_USAGE, "more than %d zones", ZONE_TABLE_MAX);
    }
    return r;
}

int option_stub(struct options *o, const char *text, struct err *err)
{
    char name[OPTION_ITEM_MAX];
    struct forward_zone zone = {.origin = ZONE_FROM_FLAG};
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : 0;
    if (!equals || len == 0 || len >= sizeof(name)) {
        return err_set(err, ERR_USAGE, "`%s`: expected ZONE=IP[:port], like acme.local=10.0.0.1",
                       text);
    }
    memcpy(name, text, len);
    name[len] = '\0';
    int r = option_zone(&zone.name, name, err);
    if (r < 0) {
        return r;
    }
    if (!o->stubs) {
        o->stubs = stub_zones_copy(NULL);
    }
    r = set_stub(o, &zone, equals + 1, err);
    return r < 0 ? err_wrap(err, r, "`%s`", text) : 0;
}

int option_check_stubs(const struct options *o, struct err *err)
{
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < option_own_zone_count(o); i++) {
        const struct dname *zone = option_own_zone(o, i);
        if (stub_zones_find(o->stubs, zone)) {
            return err_set(err, ERR_USAGE,
                           "`%s`: expected a zone of others; this is one of the domains answered "
                           "here",
                           dname_to_text(zone, text));
        }
    }
    return 0;
}

/* ---- The query log ---- */

static const char *const query_log_modes[] = {[QUERY_LOG_OFF] = "off",
                                              [QUERY_LOG_ALL] = "all",
                                              [QUERY_LOG_ERRORS] = "errors",
                                              [QUERY_LOG_DENIALS] = "denials"};

/* Parses "1/N"; 0: it is not. */
static uint32_t parse_share(const char *text)
{
    uint32_t n = 0;
    if (strncmp(text, "1/", 2) != 0) {
        return 0;
    }
    for (text += 2; *text >= '0' && *text <= '9' && n <= QUERY_LOG_EVERY_MAX; text++) {
        n = n * 10 + (uint32_t)(*text - '0');
    }
    return *text == '\0' && n <= QUERY_LOG_EVERY_MAX ? n : 0;
}

int option_query_log(struct options *o, const char *text, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(query_log_modes); i++) {
        if (strcmp(*text ? text : "off", query_log_modes[i]) == 0) {
            o->query_log = (struct query_log_rule){.mode = (enum query_log_mode)i};
            return 0;
        }
    }
    uint32_t every = parse_share(text);
    if (every == 0) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected off, all, errors, denials, or 1/N with N from 1 to %d", text,
                       QUERY_LOG_EVERY_MAX);
    }
    o->query_log = (struct query_log_rule){.mode = QUERY_LOG_SOME, .every = every};
    return 0;
}

const char *option_query_log_mode(enum query_log_mode mode)
{
    return query_log_modes[mode];
}
