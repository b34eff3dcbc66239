#include "skydns/settings/option_lists.h"

#include <arpa/inet.h>
#include <string.h>

#include "skydns/settings/option_values.h"

/* Kinds of items: each has a way to be read, written and compared. */
enum item_kind {
    ITEM_NAME,         /* struct dname, in lower case; the root is `all` */
    ITEM_NETWORK,      /* struct network */
    ITEM_IPV6_NETWORK, /* the same, also of IPv4-mapped addresses */
    ITEM_NAMESERVER,   /* struct nameserver */
    ITEM_NAMESPACE,    /* struct namespace_name */
    ITEM_FALLBACK,     /* struct stub_fallback */
    ITEM_TRANSFER,     /* struct transfer_who */
};

struct list_row {
    size_t items_at, count_at; /* where struct options has them */
    size_t item_bytes;
    size_t max;
    enum item_kind kind;
    bool is_set;           /* each item counts once */
    bool is_needed;        /* at least one */
    const char *items;     /* "zones" */
    const char *expected;  /* NULL: the item's parser says it */
    const char *words;     /* are no items, whoever reads the list looks for them: "all,none" */
    const char *separator; /* as shown; NULL: a comma */
};

#define ITEMS(member, count)                                                                   \
    .items_at = offsetof(struct options, member), .count_at = offsetof(struct options, count), \
    .item_bytes = sizeof(((struct options *)0)->member[0]),                                    \
    .max = ARRAY_LEN(((struct options *)0)->member)

static const struct list_row rows[] = {
    [OPTION_DOMAINS] = {ITEMS(domains, domain_count), .kind = ITEM_NAME, .is_needed = true,
                        .items = "domains", .expected = "a domain like cluster.local.",
                        .separator = " "},
    [OPTION_EXTERNAL_ZONES] = {ITEMS(external_zones, external_zone_count), .kind = ITEM_NAME,
                               .items = "zones", .expected = "a zone like lb.example.com"},
    [OPTION_NAMESERVERS] = {ITEMS(nameservers, nameserver_count), .kind = ITEM_NAMESERVER,
                            .items = "servers", .separator = " "},
    [OPTION_STUB_FALLBACKS] = {ITEMS(stub_fallbacks, stub_fallback_count), .kind = ITEM_FALLBACK,
                               .items = "zones", .expected = "ZONE or ZONE=nodata, like corp.test"},
    [OPTION_SEARCH] = {ITEMS(engine.search, engine.search_count), .kind = ITEM_NAME, .is_set = true,
                       .items = "domains", .expected = "a domain like corp.example"},
    [OPTION_NO_AAAA] = {ITEMS(engine.no_aaaa, engine.no_aaaa_count), .kind = ITEM_NAME,
                        .is_set = true, .words = "all", .items = "zones, or all",
                        .expected = "all, or a zone like example.com"},
    [OPTION_DNS64_EXCLUDED] = {ITEMS(engine.dns64.excluded, engine.dns64.excluded_count),
                               .kind = ITEM_IPV6_NETWORK, .items = "networks",
                               .expected = "an IPv6 network like 2001:db8::/32"},
    [OPTION_REVERSE_ZONES] = {ITEMS(engine.reverse_zones, engine.reverse_zone_count),
                              .kind = ITEM_NETWORK, .items = "networks"},
    [OPTION_PUBLIC_NAMESPACES] = {ITEMS(clients.public_names, clients.public_count),
                                  .kind = ITEM_NAMESPACE, .is_set = true, .items = "namespaces",
                                  .expected = "a namespace like kube-system"},
    [OPTION_ADMITTED] = {ITEMS(engine.admitted, engine.admitted_count), .kind = ITEM_NETWORK,
                         .words = "all,none", .items = "networks",
                         .expected = "a network like 10.0.0.0/8 or fd00::/8, all or none"},
    [OPTION_HTTP_ALLOWED] = {ITEMS(http_allowed, http_allowed_count), .kind = ITEM_NETWORK,
                             .items = "networks"},
    [OPTION_TRANSFERS] = {ITEMS(engine.transfers, engine.transfer_count), .kind = ITEM_TRANSFER,
                          .items = "networks, addresses and keys"},
};

union item {
    struct dname name;
    struct network network;
    struct nameserver server;
    struct namespace_name ns;
    struct stub_fallback fallback;
    struct transfer_who who;
};

static const void *list_item(const struct list_row *row, const struct options *o, size_t i)
{
    return (const char *)o + row->items_at + i * row->item_bytes;
}

static size_t list_count(const struct list_row *row, const struct options *o)
{
    return *(const size_t *)((const char *)o + row->count_at);
}

static void set_list_count(const struct list_row *row, struct options *o, size_t count)
{
    *(size_t *)((char *)o + row->count_at) = count;
}

/* ---- Reading ---- */

static bool read_fallback(const char *text, struct stub_fallback *ret)
{
    char zone[OPTION_ITEM_MAX];
    memcpy(zone, text, strlen(text) + 1);
    char *equals = strchr(zone, '=');
    *ret = (struct stub_fallback){.kind = ZONE_FALLBACK_NXDOMAIN};
    if (equals && strcmp(equals, "=nodata") == 0) {
        ret->kind = ZONE_FALLBACK_NODATA;
        *equals = '\0';
    }
    return option_lower_name(zone, &ret->zone) && dname_label_count(&ret->zone) > 0;
}

static bool read_namespace(const char *text, struct namespace_name *ret)
{
    const size_t len = strlen(text);
    if (!dname_is_host_label(slice_of(text, len))) {
        return false;
    }
    *ret = (struct namespace_name){.len = (uint8_t)len};
    ascii_lower_copy(ret->text, text, len);
    return true;
}

/* Reads an item. Sets the error where the row does not say what is right. */
static bool read_item(enum item_kind kind, const char *text, union item *ret, struct err *err)
{
    switch (kind) {
    case ITEM_NAME:
        return option_lower_name(text, &ret->name) && dname_label_count(&ret->name) > 0;
    case ITEM_NETWORK:
        return network_parse(slice_str(text), &ret->network, err) == 0;
    case ITEM_IPV6_NETWORK:
        return option_ipv6_network(text, &ret->network);
    case ITEM_NAMESERVER:
        return nameserver_parse(text, &ret->server, err) == 0;
    case ITEM_NAMESPACE:
        return read_namespace(text, &ret->ns);
    case ITEM_FALLBACK:
        return read_fallback(text, &ret->fallback);
    case ITEM_TRANSFER:
        break;
    }
    return option_transfer_who(text, &ret->who, err) == 0;
}

static bool is_listed(const struct list_row *row, const struct options *o, const union item *item)
{
    bool is_there = false;
    for (size_t i = 0; i < list_count(row, o) && !is_there; i++) {
        const void *other = list_item(row, o, i);
        is_there = row->kind == ITEM_NAME ? dname_equal(other, &item->name)
                                          : memcmp(other, item, row->item_bytes) == 0;
    }
    return is_there;
}

int option_list_add(enum option_list list, struct options *o, const char *text, struct err *err)
{
    const struct list_row *row = &rows[list];
    const size_t count = list_count(row, o);
    union item item;
    if (!read_item(row->kind, text, &item, err)) {
        return row->expected ? err_set(err, ERR_USAGE, "`%s`: expected %s", text, row->expected)
                             : ERR_USAGE;
    }
    if (row->is_set && is_listed(row, o, &item)) {
        return 0;
    }
    if (count == row->max) {
        return err_set(err, ERR_USAGE, "`%s`: expected at most %zu %s", text, row->max, row->items);
    }
    memcpy((char *)o + row->items_at + count * row->item_bytes, &item, row->item_bytes);
    set_list_count(row, o, count + 1);
    return 0;
}

bool option_list_has(const char *text, const char *item)
{
    char other[OPTION_ITEM_MAX];
    while (option_next_item(&text, other)) {
        if (strcmp(other, item) == 0) {
            return true;
        }
    }
    return false;
}

int option_list_read(enum option_list list, struct options *o, const char *text, struct err *err)
{
    const struct list_row *row = &rows[list];
    char item[OPTION_ITEM_MAX];
    const char *rest = text;
    int r = 0;
    set_list_count(row, o, 0);
    while (r == 0 && option_next_item(&rest, item)) {
        if (!row->words || !option_list_has(row->words, item)) {
            r = option_list_add(list, o, item, err);
        }
    }
    if (r == 0 && row->is_needed && list_count(row, o) == 0) {
        r = err_set(err, ERR_USAGE, "`%s`: expected %s", text, row->expected);
    }
    return r;
}

/* ---- Showing ---- */

static void show_name(const struct dname *name, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    buf_append_str(out, name->len == 1 ? "all" : dname_to_text(name, text));
}

static void show_network(const struct network *network, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    buf_printf(out, "%s/%u", ip_format(&network->ip, text), network->prefix_bits);
}

void option_list_show_ipv6(const struct network *network, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    buf_printf(out, "%s/%u", inet_ntop(AF_INET6, network->ip.bytes, text, sizeof(text)),
               network->prefix_bits);
}

static void show_who(const struct transfer_who *who, struct buf *out)
{
    char text[ADDR_TEXT_MAX], key[DNAME_TEXT_MAX];
    if (who->notify.len > 0) {
        buf_append_str(out, addr_format(&who->notify, text));
    } else if (who->has_network) {
        show_network(&who->network, out);
    }
    if (who->has_key) {
        buf_printf(out, "%skey:%s", who->has_network ? "+" : "", dname_to_text(&who->key, key));
    }
}

static void show_item(enum item_kind kind, const void *item, struct buf *out)
{
    const struct namespace_name *ns = item;
    const struct stub_fallback *fallback = item;
    char text[NAMESERVER_TEXT_MAX];
    switch (kind) {
    case ITEM_NAME:
        show_name(item, out);
        break;
    case ITEM_NETWORK:
        show_network(item, out);
        break;
    case ITEM_IPV6_NETWORK:
        option_list_show_ipv6(item, out);
        break;
    case ITEM_NAMESERVER:
        buf_append_str(out, nameserver_format(item, text));
        break;
    case ITEM_NAMESPACE:
        buf_append(out, ns->text, ns->len);
        break;
    case ITEM_FALLBACK:
        show_name(&fallback->zone, out);
        buf_append_str(out, fallback->kind == ZONE_FALLBACK_NODATA ? "=nodata" : "");
        break;
    case ITEM_TRANSFER:
        show_who(item, out);
        break;
    }
}

void option_list_show(enum option_list list, const struct options *o, struct buf *out)
{
    const struct list_row *row = &rows[list];
    for (size_t i = 0; i < list_count(row, o); i++) {
        buf_append_str(out, i == 0 ? "" : row->separator ? row->separator : ",");
        show_item(row->kind, list_item(row, o, i), out);
    }
}
