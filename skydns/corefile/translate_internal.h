/* Translates plugins of CoreDNS into flags, one function for each that has counterparts; a table
 * has the others with the reason. The printed flags never allow more than the file: no other client
 * may query or transfer, at no other address; nothing else is answered; no other name leaves for an
 * upstream, and none less protected. Where no flag says a restriction, a flag says a stricter one.
 * Files: translate (the table, zones), translate_blocks (which of them are one server, and where),
 * translate_zones (domains: kubernetes, etcd), translate_external (k8s_external),
 * translate_forward (names that leave),
 * translate_cache (names that do not), translate_upstreams (cache, hosts), translate_acl,
 * translate_clients (autopath, tsig, transfer), translate_server (HTTP, logs, answers),
 * translate_streams (TLS), translate_dnssec. PURE. */
#ifndef SKYDNS_COREFILE_TRANSLATE_INTERNAL_H
#define SKYDNS_COREFILE_TRANSLATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "skydns/corefile/parser_internal.h"
#include "skydns/corefile/translation_internal.h"

/* Limits lines, with those of snippets; and zones of all blocks: work on them grows with the
 * square. */
enum { DIRECTIVES_MAX = 10000, ZONES_MAX = 1000 };

/* Translates. ERR_TOO_LARGE: beyond these limits. */
int corefile_translate(const struct corefile *corefile, struct translation *t,
                       struct err *err) MUST_CHECK;

/* Plugin in its block. */
struct plugin_use {
    struct translation *t;
    const struct corefile_block *block;
    const struct strings *zones; /* of the block: "." or lower case, without the last dot */
    const struct corefile_directive *directive;
};

/* Return the words of the first line after the plugin's name. */
size_t use_argument_count(const struct plugin_use *use);
const char *use_argument(const struct plugin_use *use, size_t i);

/* Adds a note about its first line. */
void use_note(const struct plugin_use *use, enum note kind, const char *why);

/* Note of a row. */
#define MISSING(why_)  .note = NOTE_MISSING, .why = (why_)
#define NEEDLESS(why_) .note = NOTE_NEEDLESS, .why = (why_)
#define CLOSING(why_)  .note = NOTE_CLOSING, .why = (why_)

/* Option in braces: one with a counterpart has `take`, another one a note. */
struct plugin_option {
    const char *name;
    enum note note;
    const char *why;
    void (*take)(const struct plugin_use *use, const struct corefile_line *line);
};
/* Applies the options. Returns false if there were unknown ones, which may restrict anything. */
bool use_options(const struct plugin_use *use, const struct plugin_option *options, size_t count);
extern const char unknown_options[]; /* the same, for a note */
/* Applies the option of the line, if it is one of these. */
bool use_option_line(const struct plugin_use *use, const struct plugin_option *options,
                     size_t count, const struct corefile_line *line);
/* Returns whether one of the line's words, from the second on, is the zone. */
bool line_has_zone(const struct corefile_line *line, const char *zone);
/* Returns the line of the option, or NULL. */
const struct corefile_line *use_option(const struct plugin_use *use, const char *name);
/* Returns the zones after the plugin's words from index `first` on, or else those of the block.
 * Words that are no zones are left out, with a note; *ret_are_zones tells. */
struct strings use_zones(const struct plugin_use *use, size_t first, bool *ret_are_zones);
/* The same; if words are no zones, no name is forwarded: there is no telling which. */
struct strings use_zones_kept(const struct plugin_use *use, size_t first);
/* Returns whether names not found in the zone go to the next plugin. */
bool use_falls_through(const struct plugin_use *use, const char *zone);

/* Writes a zone of a Corefile in lower case without the last dot, "." for the root; a network as
 * the reverse name of its octets. Returns false for another text. */
bool zone_text(const char *zone, struct buf *out);
/* Writes it in the same way, but a network that ends within an octet (IPv6: a nibble) stays one: an
 * odd zone, "10.96.0.0/12", which is as many zones for CoreDNS. */
bool zone_or_network_text(const char *zone, struct buf *out);
bool zone_is_odd(const char *zone);
/* Writes the zone, or for an odd one the smallest reverse name that has it all. */
void zone_enclosing(const char *zone, struct buf *out);
bool zone_is_reverse(const char *zone);
/* Returns whether the name is the zone or below it. */
bool zone_contains(const char *zone, const char *name);
/* Writes "10.in-addr.arpa" as "10.0.0.0/8"; false if it is none of a network. */
bool zone_network(const char *zone, struct buf *out);

/* Returns whether it is a host name: kube2sky takes no other zone. */
bool zone_is_host_name(const char *zone);
/* Returns whether one of the zones contains the name; or the name one of them, too. */
bool has_zone_of(const struct strings *zones, const char *name);
bool zones_overlap(const struct strings *zones, const char *name);

/* Return whether the zone is one of the domains found so far, or the external zone; and whether
 * the name is in one of these. */
bool translation_has_zone(const struct translation *t, const char *zone);
bool translation_is_in_zone(const struct translation *t, const char *name);
/* Returns whether the zone is a network's, and one of the reverse zones found so far. */
bool translation_has_reverse_zone(const struct translation *t, const char *zone);
/* Returns whether the zone has a stub zone so far. */
bool translation_has_stub(const struct translation *t, const char *zone);

/* Writes "8.8.8.8" and "dns://8.8.8.8:53" as "8.8.8.8:53". Returns false for another text. */
bool server_text(const char *server, struct buf *out);

/* Reads a number of at most nine digits, of which more than `max` are `max`. Returns false for
 * another text. */
bool word_number(const char *text, int64_t max, int64_t *ret_number);
/* Takes the line's second word as a duration that a flag takes, as it is; otherwise adds a note. */
void use_duration(const struct plugin_use *use, const struct corefile_line *line, const char *flag,
                  int64_t min_ms, int64_t max_ms);

void translate_kubernetes(const struct plugin_use *use);
/* translate_external.c: k8s_external, and those of kubernetes' block once its domains are known. */
void translate_external(const struct plugin_use *use);
void translate_external_zones(const struct plugin_use *kubernetes);
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
/* Translates a rule of `rewrite`, from this word of the line on, into aliases. */
void translate_rewrite_rule(const struct plugin_use *use, const struct corefile_line *line,
                            size_t at);
/* Drops, at the end, aliases of names in the domains, and notes what -no-aaaa cannot do there. */
void translate_settle_names(struct translation *t);

/* Returns whether a plugin decides what is answered, and to whom: not how it is logged, measured or
 * cached. */
bool plugin_decides(const char *name);

/* Implemented in translate_blocks.c. */
bool corefile_line_equal(const struct corefile_line *a, const struct corefile_line *b);
bool corefile_lines_equal(const struct corefile_directive *a, const struct corefile_directive *b);
struct block_zones { /* of each block those that are translated, which may be none */
    struct strings *zones;
    size_t count;
};
/* Finds the blocks that are one server: those answered on the same addresses, which become -addr.
 * Call block_zones_fini in any case. ERR_TOO_LARGE: more than ZONES_MAX. */
int translate_blocks(const struct corefile *corefile, struct translation *t,
                     struct block_zones *ret_zones, struct err *err) MUST_CHECK;
void block_zones_fini(struct block_zones *zones);

/* Keep a zone from upstreams (translate_cache.c): it is answered here, or not at all, whatever else
 * is said of it. The second keeps those of a plugin, from this word on. "local" and "rewrite" have
 * their own. */
void translate_keep_zone(struct translation *t, const char *zone);
void translate_keep(const struct plugin_use *use, size_t first);
void translate_local(const struct plugin_use *use);
/* Translates `rewrite`. Names that get an alias are kept from upstreams, too, whatever the type. */
void translate_rewrite(const struct plugin_use *use);
/* Notes zones that no upstream sees unless another line gives them some. */
void translate_unforwarded(struct translation *t, const struct strings *zones);
/* Writes, at the end, zones that upstreams are not to see as stub zones without any. */
void translate_settle_kept(struct translation *t);

/* Note who may transfer this zone, and decide at the end who may transfer all
 * (translate_clients.c). */
void translate_zone_transfers(const struct plugin_use *use, const char *zone, bool can_transfer);
void translate_settle_transfers(struct translation *t);

/* Decides, at the end, which clients may query (translate_acl.c). */
void translate_settle_clients(struct translation *t);

/* Decide, at the end, what of `any` is not ours, and HTTP for no more people than DNS
 * (translate_server.c). */
void translate_settle_any(struct translation *t);
void translate_settle_http(struct translation *t);

/* Checks, at the end, whether both plugins can be one skydns (translate_zones.c). */
void translate_settle_etcd(struct translation *t);

/* Checks, at the end, which keys are of names that are answered here (translate_dnssec.c). */
void translate_settle_keys(struct translation *t);

/* Writes "tls://10.0.0.1:853" as -addr takes it, once all plugins tls were seen
 * (translate_streams.c). Returns false, with a note, if it cannot be. */
bool translate_listener(struct translation *t, const char *listener, struct buf *out);
/* Writes, at the end, the files of TLS. */
void translate_settle_tls(struct translation *t);

#endif
