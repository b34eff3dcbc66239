/* Holds a translation in the making: what the plugins of all server blocks said, and its text in
 * the end. Bounded by the Corefile, which every string in here is a part of. PURE. */
#ifndef SKYDNS_COREFILE_TRANSLATION_INTERNAL_H
#define SKYDNS_COREFILE_TRANSLATION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/buf.h"
#include "common/tls/tls_client.h"
#include "skydns/corefile/parser_internal.h"

/* Strings, each NUL-terminated, one after the other. A list of them is walked by
 * for (const char *item = NULL; (item = strings_next(list, item));). */
struct strings {
    struct buf bytes;
};

struct strings strings_new(void);
void strings_fini(struct strings *strings);
#define CLEANUP_STRINGS __attribute__((cleanup(strings_fini)))
/* Takes the strings of the other one, and leaves it without any. */
void strings_take(struct strings *strings, struct strings *other);
void strings_clear(struct strings *strings);
void strings_add(struct strings *strings, const char *text);
void strings_add_once(struct strings *strings, const char *text);
bool strings_has(const struct strings *strings, const char *text);
bool strings_is_empty(const struct strings *strings);
size_t strings_count(const struct strings *strings);
/* Returns the one after this, the first after NULL; NULL: no more. */
const char *strings_next(const struct strings *strings, const char *text);

/* Limits a list. Each word of the Corefile is in a few notes at most, of which a snippet's may
 * repeat (imports_internal.h limits how often). */
enum { STRINGS_BYTES_MAX = 64 * 1024 * 1024 };

/* Limits that the flags have: with more, a program would not start. */
enum {
    LISTEN_MAX = 16,
    DOMAINS_MAX = 16,
    REVERSE_ZONES_MAX = 32,
    NAMESERVERS_MAX = 16, /* general upstreams, or those of one zone */
    STUBS_MAX = 64,
    ALIASES_MAX = 64,
    NO_AAAA_MAX = 64,
    ALLOWED_MAX = 256,
    KEYS_MAX = 64,
    TRANSFERS_MAX = 64,
    SIGNATURES_MAX = 1000000,
};

/* Kinds of notes. */
enum note {
    NOTE_MISSING,  /* has no counterpart */
    NOTE_NEEDLESS, /* is so without a flag */
    NOTE_NARROWER, /* a flag would allow more than the file, so that none does */
    NOTE_CLOSING   /* restricts something, and has no flag: so nobody may ask */
};
enum { NOTE_KINDS = 4 };

/* HTTP addresses of CoreDNS's plugins; skydns has one, the first of these. */
enum http_plugin { HTTP_PROMETHEUS, HTTP_HEALTH, HTTP_READY };
enum { HTTP_PLUGINS = 3 };

enum pods_mode {
    PODS_DISABLED,
    PODS_VERIFIED,
    PODS_INSECURE
}; /* each has the names of those before */

/* Fate of names that nobody here answers: the first `forward` of the root decides. */
enum root_forward { ROOT_UNSAID, ROOT_FORWARDED, ROOT_KEPT };

struct clients {
    struct network items[ALLOWED_MAX];
    size_t count;
    bool is_overflown; /* there were more */
};

struct translation {
    const char *file; /* for notes */

    struct strings skydns;   /* flags of their own, "-any=hinfo" */
    struct strings kube2sky; /* the same */
    struct strings hosts;    /* lines of a hosts file */
    struct strings notes[NOTE_KINDS];

    struct strings listen;         /* "0.0.0.0:53", "tls://0.0.0.0:853" */
    struct strings domains;        /* "cluster.local" */
    struct strings external_zones; /* "lb.example.com"; kube2sky has at most one */
    struct strings reverse_zones;  /* "10.96.0.0/12" */
    struct strings nameservers;    /* "8.8.8.8:53", "tls://9.9.9.9:853#dns.quad9.net" */
    struct strings stubs;          /* "acme.local=10.0.0.1:53,10.0.0.2:53"; "=none": stays here */
    struct strings aliases;        /* "api.test=web.cluster.local", "*.a.test=*.b.test" */
    struct strings no_aaaa;        /* "ads.test", or "all" */
    const char *dns64;             /* the prefix; the Corefile's, or constant; NULL: none */
    bool has_overrides;            /* etcd has names outside the domains */
    bool has_imports;              /* one of the domains is that of imported Services */
    struct buf http[HTTP_PLUGINS]; /* "0.0.0.0:9153"; empty: not used */

    /* Zones that are not to reach upstreams: whatever other lines say of them; unless they have
     * upstreams of their own; unless they go to resolv.conf's, as all others do. */
    struct strings kept, unforwarded, like_root;

    struct strings keys;       /* "/keys/Kcluster.local.+013+12345" */
    struct strings transfers;  /* "10.0.0.2", who may transfer every zone */
    size_t transfer_zones;     /* which had a word in that */
    bool has_transfer;         /* the plugin, whatever of it counts */
    bool wants_signed;         /* transfers need a key besides the address */
    struct strings tsig_names; /* of keys whose secrets the file has */

    struct tls_files nameservers_tls; /* of upstreams with TLS; the Corefile's texts */
    bool has_tls_nameserver;          /* so that this holds */

    const char *query_log; /* of -query-log; constant; NULL: nothing is logged */

    struct clients clients; /* that every acl lets ask, if there is one */
    bool has_acl;
    struct strings allow; /* the same for -allow; "none"; empty: everybody */
    bool has_dnstap;
    const struct corefile_directive *kubernetes, *etcd; /* whose options are flags; NULL: none */
    const char *etcd_path; /* of that, without slashes; the Corefile's; NULL: the default */
    enum root_forward root;
    const struct corefile_line *root_line; /* which decided */
    bool has_cache;
    bool has_capacity; /* a cache does, so that rcache is the sum of all */
    bool has_any, has_chaos;
    bool refuses_any; /* an acl does */
    bool refuses_transfers;
    bool has_loadbalance;
    bool has_http_tls;               /* a plugin's HTTPS, which skydns has not */
    const struct corefile_line *tls; /* the plugin with its files; the Corefile's; NULL: none */
    const char *client_ca;           /* whose certificates clients must have; NULL: none */
    bool has_broken_tls;             /* a plugin without them */
    bool lacks_tls;       /* certificates of clients cannot be demanded as the file does */
    struct strings taken; /* listeners so far, of which -addr may have some */
    const struct corefile_line *tsig; /* file of the first plugin tsig that has one */
    enum pods_mode pods;
    int64_t rcache_sum;   /* of all caches */
    int64_t rcache_ttl_s; /* -1: the default, as of the others */
    int64_t rcache_stale_s;
    int64_t scache;
    bool sequential; /* upstreams are asked in order */
    size_t note_count;
};

void translation_init(struct translation *t, const char *file);
void translation_fini(struct translation *t);

/* Appends the text's first bytes, unprintable ones as ?. */
enum { WORD_SHOWN_MAX = 64, FILE_SHOWN_MAX = 4096 };
void translation_plain(const char *text, size_t max, struct buf *out);

/* Adds a note about a line: "Corefile:17: cache: keepttl: <why>". Unprintable bytes become ?, so
 * that a note stays the comment that it is. */
void note_line(struct translation *t, enum note kind, const struct corefile_line *line,
               const char *why);
/* The same about something that several lines may have said. */
void note_item(struct translation *t, enum note kind, const char *item, const char *why);

/* Adds to a list of at most `max`; beyond it, a note about the line. */
void translation_add(struct translation *t, struct strings *list, size_t max, const char *text,
                     const struct corefile_line *line);

/* Writes the first part of "acme.local=10.0.0.1:53", or of "*.a.test=*.b.test" without the "*.". */
void translation_named_zone(const char *flag, struct buf *out);

/* Adds a flag "-name=value"; formatted. */
void translation_flag(struct strings *flags, const char *format, ...) PRINTF_LIKE(2, 3);

/* Returns whether the flags say all that the file does: no note tells of something else. */
bool translation_is_whole(const struct translation *t);

/* Prints shell commands with the flags, and comments (translation_text.c). */
void translation_print(const struct translation *t, struct buf *out);

#endif
