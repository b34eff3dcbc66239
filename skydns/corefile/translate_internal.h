/* Plugins of CoreDNS in flags, one function for each that has counterparts; a table has the
 * others with the reason. What is printed never allows more than the file: nobody else may ask or
 * transfer, at no other address, nothing else is answered, no other name leaves for a nameserver,
 * and none less protected. Where no flag says a restriction, a flag says a stricter one.
 * Files: translate (the table, zones), translate_blocks (which of them are one server, and where),
 * translate_zones (domains: kubernetes, etcd), translate_forward (names that leave), translate_kept
 * (names that do not), translate_names (rewrite, template, dns64, nsid), translate_external (cache,
 * hosts), translate_acl, translate_clients
 * (autopath, tsig, transfer), translate_server (HTTP, logs, answers), translate_streams (TLS),
 * translate_dnssec. PURE. */
#ifndef SKYDNS_COREFILE_TRANSLATE_INTERNAL_H
#define SKYDNS_COREFILE_TRANSLATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/corefile/parser_internal.h"
#include "skydns/corefile/translation_internal.h"

/* Lines, with those of snippets; zones of all blocks: what is done with them grows with the square.
 */
enum { DIRECTIVES_MAX = 10000, ZONES_MAX = 1000 };

/* ERR_TOO_LARGE: beyond these. */
int corefile_translate(const struct corefile *corefile, struct translation *t,
                       struct err *err) MUST_CHECK;

/* A plugin in its block. */
struct plugin_use {
    struct translation *t;
    const struct corefile_block *block;
    const struct strings *zones; /* of the block: "." or lower case, without the last dot */
    const struct corefile_directive *directive;
};

/* The words of the first line after the plugin's name. */
size_t use_argument_count(const struct plugin_use *use);
const char *use_argument(const struct plugin_use *use, size_t i);

/* An option in braces that has a counterpart; others are reported. */
struct plugin_option {
    const char *name;
    void (*take)(const struct plugin_use *use, const struct corefile_line *line);
    const char *missing;  /* or why there is none */
    const char *needless; /* or why none is needed */
    const char *closed;   /* or why nobody may ask without one */
};
/* False: there were unknown ones, of which nobody knows what they restrict. */
bool use_options(const struct plugin_use *use, const struct plugin_option *options, size_t count);
extern const char unknown_options[]; /* the same, for a note */
/* The line of the option, or NULL. */
const struct corefile_line *use_option(const struct plugin_use *use, const char *name);
/* The zones after the plugin's words from index `first` on, or else those of the block. False: some
 * of them are none, with a note; they are left out. */
bool use_zones(const struct plugin_use *use, size_t first, struct strings *ret_zones);
/* Whether what is not found of the zone goes to the next plugin. */
bool use_falls_through(const struct plugin_use *use, const char *zone);

/* A zone of a Corefile in lower case without the last dot, "." for the root; a network as the
 * reverse name of its octets. False: no such name. */
bool zone_text(const char *zone, struct buf *out);
/* The same, but a network that ends within an octet (IPv6: a nibble) stays one: an odd zone,
 * "10.96.0.0/12", which is as many zones for CoreDNS. */
bool zone_or_network_text(const char *zone, struct buf *out);
bool zone_is_odd(const char *zone);
/* The zone, or of an odd one the smallest reverse name that has it all. */
void zone_enclosing(const char *zone, struct buf *out);
bool zone_is_reverse(const char *zone);
/* Whether the name is the zone or below it. */
bool zone_contains(const char *zone, const char *name);
/* "10.in-addr.arpa" -> "10.0.0.0/8"; false if it is none of a network. */
bool zone_network(const char *zone, struct buf *out);

/* "8.8.8.8", "dns://8.8.8.8:53" -> "8.8.8.8:53". False: something else. */
bool server_text(const char *server, struct buf *out);

/* The line's second word as a duration that a flag takes, as it is; otherwise a note. */
void use_duration(const struct plugin_use *use, const struct corefile_line *line, const char *flag,
                  int64_t min_ms, int64_t max_ms);

void translate_kubernetes(const struct plugin_use *use);
void translate_tsig(const struct plugin_use *use);
void translate_etcd(const struct plugin_use *use);
void translate_forward(const struct plugin_use *use);
void translate_cache(const struct plugin_use *use);
void translate_hosts(const struct plugin_use *use);
void translate_acl(const struct plugin_use *use);
void translate_autopath(const struct plugin_use *use);
void translate_transfer(const struct plugin_use *use);
void translate_health(const struct plugin_use *use);
void translate_ready(const struct plugin_use *use);
void translate_prometheus(const struct plugin_use *use);
void translate_bufsize(const struct plugin_use *use);
void translate_loadbalance(const struct plugin_use *use);
void translate_multisocket(const struct plugin_use *use);
void translate_log(const struct plugin_use *use);
void translate_dnstap(const struct plugin_use *use);
void translate_debug(const struct plugin_use *use);
void translate_any(const struct plugin_use *use);
void translate_chaos(const struct plugin_use *use);
void translate_tls(const struct plugin_use *use);
void translate_dnssec(const struct plugin_use *use);

/* translate_names.c */
void translate_nsid(const struct plugin_use *use);
void translate_dns64(const struct plugin_use *use);
void translate_template(const struct plugin_use *use);
/* A rule of `rewrite` from this word of the line on, as aliases. */
void translate_rewrite_rule(const struct plugin_use *use, const struct corefile_line *line,
                            size_t at);
/* At the end: what of these is about domains. */
void translate_settle_names(struct translation *t);

/* Whether a plugin decides what is answered, and to whom: not how it is logged, measured or kept.
 */
bool plugin_decides(const char *name);

/* translate_blocks.c */
bool corefile_line_equal(const struct corefile_line *a, const struct corefile_line *b);
bool corefile_lines_equal(const struct corefile_directive *a, const struct corefile_directive *b);
struct block_zones { /* of each block those that are translated, which may be none */
    struct strings *zones;
    size_t count;
};
/* Finds the blocks that are one server: those answered on the same addresses, which become -addr.
 * block_zones_fini in any case. ERR_TOO_LARGE: more than ZONES_MAX. */
int translate_blocks(const struct corefile *corefile, struct translation *t,
                     struct block_zones *ret_zones, struct err *err) MUST_CHECK;
void block_zones_fini(struct block_zones *zones);

/* translate_cache.c: the zone is answered here, or not at all, whatever else is said of it;
 * likewise those of a plugin, from this word on. "local" and "rewrite" have their own. */
void translate_keep_zone(struct translation *t, const char *zone);
void translate_keep(const struct plugin_use *use, size_t first);
void translate_local(const struct plugin_use *use);
/* Neither do names that have an alias instead reach nameservers, whatever their type. */
void translate_rewrite(const struct plugin_use *use);
/* Zones that no nameserver sees unless another line gives them some. */
void translate_unforwarded(struct translation *t, const struct strings *zones);
/* At the end: what nameservers are not to see, as stub zones without any. */
void translate_settle_kept(struct translation *t);

/* translate_clients.c: who may transfer this zone; at the end, who may transfer all. */
void translate_zone_transfers(const struct plugin_use *use, const char *zone, bool can_transfer);
void translate_settle_transfers(struct translation *t);

/* translate_acl.c: at the end, who may ask. */
void translate_settle_clients(struct translation *t);

/* translate_server.c: at the end, what of `any` is not ours; HTTP for no more people than DNS. */
void translate_settle_any(struct translation *t);
void translate_settle_http(struct translation *t);

/* translate_zones.c: at the end, whether both plugins can be one skydns. */
void translate_settle_etcd(struct translation *t);

/* translate_dnssec.c: at the end, which keys are of names that are answered here. */
void translate_settle_keys(struct translation *t);

/* translate_streams.c: "tls://10.0.0.1:853" as -addr takes it, once all plugins tls were seen.
 * False: it cannot be, with a note. */
bool translate_listener(struct translation *t, const char *listener, struct buf *out);
/* At the end, the files of TLS. */
void translate_settle_tls(struct translation *t);

#endif
