#include "skydns/corefile/translate_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"
#include "common/base/duration.h"
#include "common/base/network.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"

/* ---- Plugins ---- */

struct plugin {
    const char *name;
    void (*take)(const struct plugin_use *use);
    const char *missing;  /* else why there is no counterpart */
    const char *needless; /* or why none is needed */
};

#define NONE .missing = "none"

/* Those of CoreDNS's default build, in the order of its plugin.cfg. */
static const struct plugin plugins[] = {
    {"root", .missing = "none: no zone files"},
    {"metadata", NONE},
    {"geoip", NONE},
    {"cancel", .needless = "slow answers end by themselves"},
    {"proxyproto", NONE},
    {"tls", .take = translate_tls},
    {"quic", .missing = "none: no DNS over QUIC"},
    {"grpc_server", .needless = "connections have limits of their own, see skydns(8)"},
    {"https", .needless = "connections have limits of their own, see skydns(8)"},
    {"https3", .missing = "none: no DNS over HTTP/3"},
    {"timeouts", .needless = "connections have limits of their own, see skydns(8)"},
    {"multisocket", .take = translate_multisocket},
    {"reload", .needless = "files and etcd are followed"},
    {"nsid", NONE},
    {"bufsize", .take = translate_bufsize},
    {"bind", .take = NULL}, /* with the block's addresses */
    {"debug", .take = translate_debug},
    {"trace", NONE},
    {"ready", .take = translate_ready},
    {"health", .take = translate_health},
    {"pprof", NONE},
    {"shed", .needless = "the kernel drops what is too much"},
    {"prometheus", .take = translate_prometheus},
    {"errors", .needless = "errors are always logged"},
    {"log", .take = translate_log},
    {"dnstap", .take = translate_dnstap},
    {"local", .missing = "none: names below localhost are like others"},
    {"dns64", NONE},
    {"acl", .take = translate_acl},
    {"any", .take = translate_any},
    {"chaos", .take = translate_chaos},
    {"loadbalance", .take = translate_loadbalance},
    {"tsig", .take = translate_tsig},
    {"cache", .take = translate_cache},
    {"rewrite", NONE},
    {"header", NONE},
    {"dnssec", .take = translate_dnssec},
    {"autopath", .take = translate_autopath},
    {"minimal", NONE},
    {"template", NONE},
    {"transfer", .take = translate_transfer},
    {"hosts", .take = translate_hosts},
    {"route53", .missing = "none: put its records into etcd"},
    {"azure", .missing = "none: put its records into etcd"},
    {"clouddns", .missing = "none: put its records into etcd"},
    {"k8s_external", .missing = "none: no names for external addresses"},
    {"kubernetes", .take = translate_kubernetes},
    {"file",
     .missing = "none: put its records into etcd, or ask a server that has the file (-stub)"},
    {"auto",
     .missing = "none: put its records into etcd, or ask a server that has the file (-stub)"},
    {"secondary", .missing = "none: ask a server that has the zone (-stub)"},
    {"etcd", .take = translate_etcd},
    {"loop", .needless = "nameservers that lead back here are always looked for, and not used"},
    {"forward", .take = translate_forward},
    {"grpc", .missing = "none: nameservers are asked over UDP, TCP or TLS"},
    {"erratic", NONE},
    {"whoami", NONE},
    {"on", NONE},
    {"sign", .missing = "none: no zone files"},
    {"view", .missing = "none: only -visibility gives clients different answers"},
    {"nomad", NONE},
};

/* ---- Words ---- */

size_t use_argument_count(const struct plugin_use *use)
{
    return use->directive->head.count - 1;
}

const char *use_argument(const struct plugin_use *use, size_t i)
{
    return use->directive->head.words[1 + i];
}

static void take_option(const struct plugin_use *use, const struct corefile_line *line,
                        const struct plugin_option *option)
{
    if (option->take) {
        option->take(use, line);
    } else if (option->needless) {
        translation_needless(use->t, line, option->needless);
    } else {
        translation_missing(use->t, line, option->missing);
    }
}

void use_options(const struct plugin_use *use, const struct plugin_option *options, size_t count)
{
    for (size_t i = 0; i < use->directive->line_count; i++) {
        const struct corefile_line *line = &use->directive->lines[i];
        const struct plugin_option *option = NULL;
        for (size_t j = 0; j < count && !option; j++) {
            option = strcmp(options[j].name, line->words[0]) == 0 ? &options[j] : NULL;
        }
        if (option) {
            take_option(use, line, option);
        } else {
            translation_missing(use->t, line, "unknown");
        }
    }
}

void use_duration(const struct plugin_use *use, const struct corefile_line *line, const char *flag,
                  int64_t min_ms, int64_t max_ms)
{
    int64_t ms = -1;
    if (line->count != 2 || !duration_parse_ms(line->words[1], &ms)) {
        translation_missing(use->t, line, "expected a duration");
    } else if (ms < min_ms || ms > max_ms) {
        translation_missing(use->t, line, "beyond what the flag takes");
    } else {
        translation_flag(&use->t->skydns, "-%s=%s", flag, line->words[1]);
    }
}

/* ---- Zones and servers ---- */

/* "10.1.0.0/16" -> "1.10.in-addr.arpa"; only of whole octets. */
static bool network_zone(const char *text, struct buf *out)
{
    struct network network;
    if (network_parse(slice_str(text), &network, NULL) < 0 || network.ip.family_bytes != 4 ||
        network.prefix_bits % 8 != 0 || network.prefix_bits == 0) {
        return false;
    }
    for (unsigned i = network.prefix_bits / 8; i > 0; i--) {
        buf_printf(out, "%u.", network.ip.bytes[i - 1]);
    }
    buf_append_str(out, "in-addr.arpa");
    return true;
}

/* Letters, digits, hyphens and underscores, as in _msdcs.ad.test: nothing that separates the words
 * of a flag. */
static bool is_zone_label(struct slice label)
{
    for (size_t i = 0; i < label.len; i++) {
        if (!isalnum((unsigned char)label.ptr[i]) && label.ptr[i] != '-' && label.ptr[i] != '_') {
            return false;
        }
    }
    return true;
}

static bool is_zone(const char *zone)
{
    struct dname name;
    struct dname_labels labels;
    if (!dname_from_text(slice_str(zone), &name)) {
        return false;
    }
    dname_labels(&name, &labels);
    for (unsigned i = 0; i < labels.count; i++) {
        if (!is_zone_label(dname_label(&name, labels.offsets[i]))) {
            return false;
        }
    }
    return true;
}

bool zone_text(const char *zone, struct buf *out)
{
    buf_clear(out);
    if (strchr(zone, '/')) {
        return network_zone(zone, out);
    }
    if (!*zone || !is_zone(zone)) {
        return false;
    }
    size_t n = strlen(zone);
    n -= n > 1 && zone[n - 1] == '.';
    for (size_t i = 0; i < n; i++) {
        buf_append_char(out, (char)ascii_lower((uint8_t)zone[i]));
    }
    return true;
}

static bool ends_with(const char *zone, const char *end)
{
    size_t n = strlen(zone), m = strlen(end);
    return n >= m && strcmp(zone + n - m, end) == 0 && (n == m || zone[n - m - 1] == '.');
}

bool zone_is_reverse(const char *zone)
{
    return ends_with(zone, "in-addr.arpa") || ends_with(zone, "ip6.arpa");
}

/* Octets, least significant first, before in-addr.arpa. */
static bool octets_network(const char *zone, struct buf *out)
{
    struct ip ip = {.family_bytes = 4};
    unsigned octets[4], count = 0;
    while (isdigit((unsigned char)*zone) && count < 4) {
        char *end;
        unsigned long octet = strtoul(zone, &end, 10);
        if (octet > 255 || *end != '.') {
            return false;
        }
        octets[count++] = (unsigned)octet;
        zone = end + 1;
    }
    for (unsigned i = 0; i < count; i++) {
        ip.bytes[i] = (uint8_t)octets[count - 1 - i];
    }
    char text[INET6_ADDRSTRLEN];
    buf_printf(out, "%s/%u", ip_format(&ip, text), 8 * count);
    return strcmp(zone, "in-addr.arpa") == 0;
}

/* The same with nibbles. */
static bool nibbles_network(const char *zone, struct buf *out)
{
    struct ip ip = {.family_bytes = 16};
    uint8_t nibbles[32];
    unsigned count = 0;
    for (; isxdigit((unsigned char)zone[0]) && zone[1] == '.' && count < 32; zone += 2) {
        nibbles[count++] = (uint8_t)(zone[0] <= '9' ? zone[0] - '0' : zone[0] - 'a' + 10);
    }
    for (unsigned i = 0; i < count; i++) {
        ip.bytes[i / 2] |= (uint8_t)(nibbles[count - 1 - i] << (i % 2 ? 0 : 4));
    }
    char text[INET6_ADDRSTRLEN];
    buf_printf(out, "%s/%u", ip_format(&ip, text), 4 * count);
    return strcmp(zone, "ip6.arpa") == 0;
}

bool zone_network(const char *zone, struct buf *out)
{
    buf_clear(out);
    return ends_with(zone, "in-addr.arpa") ? octets_network(zone, out) : nibbles_network(zone, out);
}

bool server_text(const char *server, struct buf *out)
{
    struct addr addr;
    struct ip ip;
    char text[ADDR_TEXT_MAX];
    buf_clear(out);
    server += strncasecmp(server, "dns://", 6) == 0 ? 6 : 0;
    if (ip_parse(slice_str(server), &ip)) {
        addr = addr_of_ip(&ip, 53);
    } else if (addr_parse(server, &addr, NULL) < 0) {
        return false;
    }
    buf_append_str(out, addr_format(&addr, text));
    return true;
}

/* ---- Blocks ---- */

static const struct plugin *find_plugin(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(plugins); i++) {
        if (strcmp(plugins[i].name, name) == 0) {
            return &plugins[i];
        }
    }
    return NULL;
}

static void take_plugin(const struct plugin_use *use)
{
    const struct corefile_line *head = &use->directive->head;
    const struct plugin *plugin = find_plugin(head->words[0]);
    if (use->directive->lacks_variable) {
        translation_missing(use->t, head, "a variable here is not set, and read as empty");
    }
    if (!plugin) {
        translation_missing(use->t, head, "no plugin of CoreDNS's default build");
    } else if (plugin->take) {
        plugin->take(use);
    } else if (plugin->needless) {
        translation_needless(use->t, head, plugin->needless);
    } else if (plugin->missing) {
        translation_missing(use->t, head, plugin->missing);
    }
}

static void take_directives(const struct corefile_block *block, struct translation *t,
                            const struct strings *zones)
{
    for (size_t i = 0; i < block->directive_count; i++) {
        const struct corefile_directive *directive = &block->directives[i];
        const struct plugin_use use = {.t = t, .zones = zones, .directive = directive};
        take_plugin(&use);
    }
}

static const struct corefile_directive *find_bind(const struct corefile_block *block)
{
    for (size_t i = 0; i < block->directive_count; i++) {
        if (strcmp(block->directives[i].head.words[0], "bind") == 0) {
            return &block->directives[i];
        }
    }
    return NULL;
}

static void take_block(const struct corefile_block *block, struct translation *t)
{
    struct strings zones;
    strings_init(&zones);
    translate_listen(t, block, find_bind(block), &zones);
    take_directives(block, t, &zones);
    strings_fini(&zones);
}

/* ---- Everything ---- */

static int count_lines(const struct corefile *corefile, struct err *err)
{
    size_t count = 0;
    for (size_t i = 0; i < corefile->block_count; i++) {
        const struct corefile_block *block = &corefile->blocks[i];
        for (size_t k = 0; k < block->directive_count; k++) {
            count += 1 + block->directives[k].line_count;
            if (count > DIRECTIVES_MAX) {
                return err_set(err, ERR_TOO_LARGE,
                               "%u: expected at most %d lines, with those of snippets",
                               block->directives[k].head.number, DIRECTIVES_MAX);
            }
        }
    }
    return 0;
}

static void tell_unread(const struct corefile *corefile, struct translation *t)
{
    for (size_t i = 0; i < corefile->unread.count; i++) {
        const char *words[] = {"import", corefile->unread.items[i].text};
        const struct corefile_line line = {words, 2, corefile->unread.items[i].line};
        translation_missing(t, &line, "files are not read: put their contents in its place");
    }
}

int translate(const struct corefile *corefile, struct translation *t, struct err *err)
{
    int r = count_lines(corefile, err);
    tell_unread(corefile, t);
    for (size_t i = 0; i < corefile->block_count && r == 0; i++) {
        take_block(&corefile->blocks[i], t);
    }
    translate_settle_listeners(t);
    translate_settle_keys(t);
    translation_drop_own_stubs(t);
    translation_drop_transfers(t);
    return r;
}
