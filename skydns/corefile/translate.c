#include "skydns/corefile/translate_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"
#include "common/base/duration.h"
#include "common/dns/dname.h"

/* ---- Plugins ---- */

struct plugin {
    const char *name;
    enum note note; /* without `take`, for this reason */
    const char *why;
    void (*take)(const struct plugin_use *use);
    bool decides;        /* what is answered, and to whom */
    unsigned zones_from; /* it answers zones itself, the words from here on; 0: it does not */
};

#define NONE    MISSING("none")
#define TO_ETCD MISSING("none: put its records into etcd"), .decides = true
#define TO_STUB                                                                              \
    MISSING("none: put its records into etcd, or query a server that has the file (-stub)"), \
        .decides = true

/* Plugins of CoreDNS's default build, in the order of its plugin.cfg. */
static const struct plugin plugins[] = {
    {"root", MISSING("none: no zone files")},
    {"metadata", NONE},
    {"geoip", NONE},
    {"cancel", NEEDLESS("slow answers end by themselves")},
    {"proxyproto", NONE},
    {"tls", .take = NULL}, /* with the listeners */
    {"quic", MISSING("none: no DNS over QUIC")},
    {"grpc_server", NEEDLESS("connections have limits of their own, see skydns(8)")},
    {"https", NEEDLESS("connections have limits of their own, see skydns(8)")},
    {"https3", MISSING("none: no DNS over HTTP/3")},
    {"timeouts", NEEDLESS("connections have limits of their own, see skydns(8)")},
    {"multisocket", .take = translate_multisocket},
    {"reload", NEEDLESS("files and etcd are followed")},
    {"nsid", .take = translate_nsid},
    {"bufsize", .take = translate_bufsize},
    {"bind", .take = NULL}, /* with the listeners */
    {"debug", .take = translate_debug},
    {"trace", NONE},
    {"ready", .take = translate_ready},
    {"health", .take = translate_health},
    {"pprof", NONE},
    {"shed", NEEDLESS("the kernel drops what is too much")},
    {"prometheus", .take = translate_prometheus},
    {"errors", NEEDLESS("errors are always logged")},
    {"log", .take = translate_log},
    {"dnstap", .take = translate_dnstap},
    {"local", .take = translate_local, .decides = true},
    {"dns64", .take = translate_dns64, .decides = true},
    {"siit", NONE, .decides = true},
    {"acl", .take = translate_acl, .decides = true},
    {"any", .take = translate_any},
    {"chaos", .take = translate_chaos},
    {"loadbalance", .take = translate_loadbalance},
    {"tsig", .take = translate_tsig, .decides = true},
    {"cache", .take = translate_cache},
    {"rewrite", .take = translate_rewrite, .decides = true},
    {"header", NONE},
    {"dnssec", .take = translate_dnssec, .decides = true},
    {"autopath", .take = translate_autopath, .decides = true},
    {"minimal", NONE},
    {"template", .take = translate_template, .decides = true},
    {"transfer", .take = translate_transfer, .decides = true},
    {"dynupdate", MISSING("none: no updates (RFC 2136)"), .decides = true, .zones_from = 1},
    {"hosts", .take = translate_hosts, .decides = true},
    {"route53", TO_ETCD, .zones_from = 1},
    {"azure", TO_ETCD, .zones_from = 1},
    {"clouddns", TO_ETCD, .zones_from = 1},
    {"k8s_external", .take = translate_external, .decides = true},
    {"kubernetes", .take = translate_kubernetes, .decides = true},
    {"file", TO_STUB, .zones_from = 2},
    {"auto", TO_STUB, .zones_from = 1},
    {"secondary", MISSING("none: query a server that has the zone (-stub)"), .decides = true,
     .zones_from = 1},
    {"etcd", .take = translate_etcd, .decides = true},
    {"loop", NEEDLESS("upstreams that lead back here are always detected, and not used")},
    {"forward", .take = translate_forward, .decides = true},
    {"proxy", .take = translate_forward, .decides = true}, /* its name up to CoreDNS 1.4 */
    {"grpc", MISSING("none: upstreams are queried over UDP, TCP or TLS"), .decides = true},
    {"erratic", NONE, .decides = true},
    {"whoami", NONE, .decides = true},
    {"on", NONE},
    {"sign", MISSING("none: no zone files"), .decides = true},
    {"view", CLOSING("only -visibility gives clients different answers"), .decides = true},
    {"nomad", NONE, .decides = true, .zones_from = 1},
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

void use_note(const struct plugin_use *use, enum note kind, const char *why)
{
    note_line(use->t, kind, &use->directive->head, why);
}

bool use_option_line(const struct plugin_use *use, const struct plugin_option *options,
                     size_t count, const struct corefile_line *line)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(options[i].name, line->words[0]) != 0) {
            continue;
        }
        if (options[i].take) {
            options[i].take(use, line);
        } else {
            note_line(use->t, options[i].note, line, options[i].why);
        }
        return true;
    }
    return false;
}

const char unknown_options[] = "what its unknown options restrict is not known";

bool use_options(const struct plugin_use *use, const struct plugin_option *options, size_t count)
{
    bool are_known = true;
    for (size_t i = 0; i < use->directive->line_count; i++) {
        const struct corefile_line *line = &use->directive->lines[i];
        if (!use_option_line(use, options, count, line)) {
            note_line(use->t, NOTE_MISSING, line, "unknown");
            are_known = false;
        }
    }
    return are_known;
}

const struct corefile_line *use_option(const struct plugin_use *use, const char *name)
{
    for (size_t i = 0; i < use->directive->line_count; i++) {
        if (strcmp(use->directive->lines[i].words[0], name) == 0) {
            return &use->directive->lines[i];
        }
    }
    return NULL;
}

struct strings use_zones(const struct plugin_use *use, size_t first, bool *ret_are_zones)
{
    const struct corefile_line *head = &use->directive->head;
    CLEANUP_BUF struct buf text = buf_of(COREFILE_BYTES_MAX);
    struct strings zones = strings_new();
    *ret_are_zones = true;
    for (size_t i = first; i < head->count; i++) {
        if (zone_or_network_text(head->words[i], &text)) {
            strings_add(&zones, buf_cstr(&text));
        } else {
            use_note(use, NOTE_MISSING, "a zone is no name, nor a network");
            *ret_are_zones = false;
        }
    }
    const char *zone = NULL;
    while (head->count <= first && (zone = strings_next(use->zones, zone))) {
        strings_add(&zones, zone);
    }
    return zones;
}

struct strings use_zones_kept(const struct plugin_use *use, size_t first)
{
    bool are_zones;
    struct strings zones = use_zones(use, first, &are_zones);
    if (!are_zones) {
        translate_keep_zone(use->t, ".");
    }
    return zones;
}

bool line_has_zone(const struct corefile_line *line, const char *zone)
{
    CLEANUP_BUF struct buf text = buf_of(COREFILE_BYTES_MAX);
    for (size_t i = 1; i < line->count; i++) {
        if (zone_or_network_text(line->words[i], &text) && strcmp(buf_cstr(&text), zone) == 0) {
            return true;
        }
    }
    return false;
}

bool use_falls_through(const struct plugin_use *use, const char *zone)
{
    const struct corefile_line *line = use_option(use, "fallthrough");
    return line && (line->count == 1 || line_has_zone(line, zone));
}

bool word_number(const char *text, int64_t max, int64_t *ret_number)
{
    size_t digits = strspn(text, "0123456789");
    int64_t number =
        digits > 0 && digits < 10 && text[digits] == '\0' ? strtoll(text, NULL, 10) : -1;
    *ret_number = number < max ? number : max;
    return number >= 0;
}

void use_duration(const struct plugin_use *use, const struct corefile_line *line, const char *flag,
                  int64_t min_ms, int64_t max_ms)
{
    int64_t ms = -1;
    if (line->count != 2 || !duration_parse_ms(line->words[1], &ms)) {
        note_line(use->t, NOTE_MISSING, line, "expected a duration");
    } else if (ms < min_ms || ms > max_ms) {
        note_line(use->t, NOTE_MISSING, line, "beyond what the flag takes");
    } else {
        translation_flag(&use->t->skydns, "-%s=%s", flag, line->words[1]);
    }
}

/* ---- Zones and servers ---- */

/* Appends 10.1.0.0/16 as "1.10.in-addr.arpa", with as many octets as are whole; of IPv6,
 * nibbles. */
static void append_reverse_name(const struct network *network, struct buf *out)
{
    const uint8_t *bytes = network->ip.bytes;
    bool is_v4 = network->ip.family_bytes == 4;
    for (unsigned i = network->prefix_bits / (is_v4 ? 8 : 4); i > 0; i--) {
        if (is_v4) {
            buf_printf(out, "%u.", bytes[i - 1]);
        } else {
            buf_printf(out, "%x.", (bytes[(i - 1) / 2] >> (i % 2 ? 4 : 0)) & 15U);
        }
    }
    buf_append_str(out, is_v4 ? "in-addr.arpa" : "ip6.arpa");
}

static bool is_of_whole_labels(const struct network *network)
{
    return network->prefix_bits % (network->ip.family_bytes == 4 ? 8 : 4) == 0;
}

/* Writes a network's zone, if it has whole octets or nibbles. */
static bool network_zone(const char *text, struct buf *out)
{
    struct network network;
    if (network_parse(slice_str(text), &network, NULL) < 0 || !is_of_whole_labels(&network) ||
        network.prefix_bits == 0) {
        return false;
    }
    append_reverse_name(&network, out);
    return true;
}

bool zone_is_odd(const char *zone)
{
    return strchr(zone, '/') != NULL;
}

bool zone_or_network_text(const char *zone, struct buf *out)
{
    struct network network;
    char text[INET6_ADDRSTRLEN];
    if (zone_text(zone, out)) {
        return true;
    }
    buf_clear(out);
    if (!zone_is_odd(zone) || network_parse(slice_str(zone), &network, NULL) < 0 ||
        network.prefix_bits == 0) {
        return false;
    }
    buf_printf(out, "%s/%u", ip_format(&network.ip, text), network.prefix_bits);
    return true;
}

void zone_enclosing(const char *zone, struct buf *out)
{
    struct network network;
    buf_clear(out);
    if (!zone_is_odd(zone)) {
        buf_append_str(out, zone);
    } else if (network_parse(slice_str(zone), &network, NULL) == 0) {
        append_reverse_name(&network, out);
    }
}

/* Accepts letters, digits, hyphens and underscores, as in _msdcs.ad.test: nothing that separates
 * the words of a flag. */
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
    buf_append_lower(out, slice_of(zone, n));
    return true;
}

static bool ends_with(const char *zone, const char *end)
{
    size_t n = strlen(zone), m = strlen(end);
    return n >= m && strcmp(zone + n - m, end) == 0 && (n == m || zone[n - m - 1] == '.');
}

bool zone_contains(const char *zone, const char *name)
{
    return strcmp(zone, ".") == 0 || ends_with(name, zone);
}

bool zone_is_reverse(const char *zone)
{
    return zone_is_odd(zone) || ends_with(zone, "in-addr.arpa") || ends_with(zone, "ip6.arpa");
}

/* Reads octets, least significant first, before in-addr.arpa. */
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

/* Reads nibbles in the same way. */
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
    if (zone_is_odd(zone)) {
        buf_append_str(out, zone);
        return true;
    }
    return ends_with(zone, "in-addr.arpa") ? octets_network(zone, out) : nibbles_network(zone, out);
}

bool server_text(const char *server, struct buf *out)
{
    struct addr addr;
    char text[ADDR_TEXT_MAX], scope[IF_NAMESIZE];
    buf_clear(out);
    server += strncasecmp(server, "dns://", 6) == 0 ? 6 : 0;
    if (!addr_parse_remote(server, 53, &addr, scope)) {
        return false;
    }
    buf_append_str(out, addr_format_remote(&addr, scope, text));
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

bool plugin_decides(const char *name)
{
    const struct plugin *plugin = find_plugin(name);
    return !plugin || plugin->decides;
}

static void take_plugin(const struct plugin_use *use)
{
    const struct plugin *plugin = find_plugin(use->directive->head.words[0]);
    if (!plugin) {
        use_note(use, NOTE_CLOSING,
                 "no plugin of CoreDNS's default build: what it forbids is not known");
    } else if (plugin->take) {
        plugin->take(use);
    } else if (plugin->why) {
        use_note(use, plugin->note, plugin->why);
    }
    if (plugin && plugin->zones_from) {
        translate_keep(use, plugin->zones_from);
    }
}

static const char unset_variable[] =
    "a variable here is not set, and read as empty: set it as where CoreDNS runs";

static void translate_take_block(const struct corefile_block *block, struct translation *t,
                                 const struct strings *zones)
{
    if (block->lacks_variable) {
        note_line(t, NOTE_CLOSING, &block->keys, unset_variable);
    }
    for (size_t i = 0; i < block->directive_count; i++) {
        const struct corefile_directive *directive = &block->directives[i];
        const struct plugin_use use = {t, block, zones, directive};
        if (directive->lacks_variable) {
            note_line(t, NOTE_CLOSING, &directive->head, unset_variable);
        }
        if (!strings_is_empty(zones)) {
            take_plugin(&use);
        }
    }
    translate_unforwarded(t, zones);
}

/* ---- Everything ---- */

static int translate_count_lines(const struct corefile *corefile, struct err *err)
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

static void close_unread(const struct corefile *corefile, struct translation *t)
{
    for (size_t i = 0; i < corefile->unread.count; i++) {
        const char *words[] = {"import", corefile->unread.items[i].text};
        const struct corefile_line line = {words, 2, corefile->unread.items[i].line};
        note_line(t, NOTE_CLOSING, &line,
                  "files are not read, and what they forbid is not known: put their contents in "
                  "its place");
    }
}

static void settle_everything(struct translation *t)
{
    translate_settle_tls(t);
    translate_settle_etcd(t);
    translate_settle_keys(t);
    translate_settle_kept(t);
    translate_settle_names(t);
    translate_settle_transfers(t);
    translate_settle_clients(t);
    translate_settle_http(t);
    translate_settle_any(t);
}

int corefile_translate(const struct corefile *corefile, struct translation *t, struct err *err)
{
    struct block_zones zones = {.zones = NULL};
    int r = translate_count_lines(corefile, err);
    if (r == 0) {
        close_unread(corefile, t);
        r = translate_blocks(corefile, t, &zones, err);
    }
    for (size_t i = 0; i < zones.count && r == 0; i++) {
        translate_take_block(&corefile->blocks[i], t, &zones.zones[i]);
    }
    block_zones_fini(&zones);
    settle_everything(t);
    return r;
}
