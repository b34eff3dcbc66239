/* A translation in the making: what the plugins of all server blocks said, and its text in the end.
 * Bounded by the Corefile, which every string in here is a part of. PURE. */
#ifndef SKYDNS_COREFILE_TRANSLATION_INTERNAL_H
#define SKYDNS_COREFILE_TRANSLATION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "skydns/corefile/parser_internal.h"

/* Each NUL-terminated, one after the other. */
struct strings {
    struct buf bytes;
};

void strings_init(struct strings *strings);
void strings_fini(struct strings *strings);
void strings_add(struct strings *strings, const char *text);
void strings_add_once(struct strings *strings, const char *text);
bool strings_has(const struct strings *strings, const char *text);
bool strings_is_empty(const struct strings *strings);
size_t strings_count(const struct strings *strings);
/* The one after this, the first after NULL; NULL: no more. */
const char *strings_next(const struct strings *strings, const char *text);

/* The limit of a list. Each word of the Corefile is in a few notes at most, of which a snippet's
 * may repeat (imports_internal.h limits how often). */
enum { STRINGS_BYTES_MAX = 64 * 1024 * 1024 };

/* What the flags take at most: with more, a program would not start. */
enum {
    LISTEN_MAX = 16,
    DOMAINS_MAX = 16,
    REVERSE_ZONES_MAX = 32,
    NAMESERVERS_MAX = 16, /* general ones, or of one zone */
    STUBS_MAX = 64,
    ALLOWED_MAX = 256,
    KEYS_MAX = 64,
    TRANSFERS_MAX = 64,
    SIGNATURES_MAX = 1000000,
};

/* The HTTP addresses of CoreDNS's plugins; skydns has one, the first of these. */
enum http_plugin { HTTP_PROMETHEUS, HTTP_HEALTH, HTTP_READY };
enum { HTTP_PLUGINS = 3 };

enum pods_mode { PODS_DISABLED, PODS_INSECURE, PODS_VERIFIED };

struct translation {
    const char *file; /* for notes */

    struct strings skydns;   /* flags of their own, "-any=hinfo" */
    struct strings kube2sky; /* the same */
    struct strings needless; /* notes: what is so without a flag */
    struct strings missing;  /* notes: what has no counterpart */
    struct strings hosts;    /* lines of a hosts file */

    struct strings listen;         /* "0.0.0.0:53", "tls://0.0.0.0:853" */
    struct strings domains;        /* "cluster.local" */
    struct strings reverse_zones;  /* "10.96.0.0/12" */
    struct strings nameservers;    /* "8.8.8.8:53", "tls://9.9.9.9:853#dns.quad9.net" */
    struct strings stubs;          /* "acme.local=10.0.0.1:53,10.0.0.2:53" */
    struct buf http[HTTP_PLUGINS]; /* "0.0.0.0:9153"; empty: not used */

    struct strings keys;      /* "/keys/Kcluster.local.+013+12345" */
    struct strings transfers; /* "10.0.0.2", who may transfer */

    const char *nameservers_ca; /* their CAs' file; the Corefile's; NULL: the system's */

    const char *query_log; /* of -query-log; constant; NULL: nothing is logged */

    bool has_dnstap;
    bool has_kubernetes;
    bool has_etcd;
    bool has_forward; /* of the root */
    bool has_cache;
    bool has_acl; /* one became -allow */
    bool has_loadbalance;
    const struct corefile_line *tls;  /* the plugin with its files; the Corefile's; NULL: none */
    bool wants_client_ca;             /* the third of them */
    const struct corefile_line *tsig; /* file of the first plugin tsig that has one */
    bool has_tls_listener;
    enum pods_mode pods;
    int64_t rcache; /* -1: the default, as of the others */
    int64_t rcache_ttl_s;
    int64_t rcache_stale_s;
    int64_t scache;
    bool sequential; /* nameservers are asked in order */
    size_t note_count;
};

void translation_init(struct translation *t, const char *file);
void translation_fini(struct translation *t);

/* Appends the text's first bytes, those that are not printable as ?. */
enum { WORD_SHOWN_MAX = 64, FILE_SHOWN_MAX = 4096 };
void translation_plain(const char *text, size_t max, struct buf *out);

/* Notes about a line: "Corefile:17: cache: keepttl: <why>". Bytes that are not printable become ?,
 * so that a note stays the comment that it is. */
void translation_missing(struct translation *t, const struct corefile_line *line, const char *why);
void translation_needless(struct translation *t, const struct corefile_line *line, const char *why);
/* The same of something that several lines may have said. */
void translation_missing_item(struct translation *t, const char *item, const char *why);

/* Adds to a list of at most `max`; beyond it, a note about the line. */
void translation_add(struct translation *t, struct strings *list, size_t max, const char *text,
                     const struct corefile_line *line);

/* Stub zones that are domains of our own go, with a note: the flags would be refused. */
void translation_drop_own_stubs(struct translation *t);

/* Who may transfer goes, with a note, where -transfer-to would be refused. */
void translation_drop_transfers(struct translation *t);

/* A flag "-name=value"; formatted. */
void translation_flag(struct strings *flags, const char *format, ...) PRINTF_LIKE(2, 3);

/* translation_text.c: shell commands with the flags, and comments. */
void translation_print(const struct translation *t, struct buf *out);

#endif
