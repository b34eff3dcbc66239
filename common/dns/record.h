/* One SkyDNS record, the content of a key's JSON value. record_json.h parses and prints it,
 * record_scan.h parses it where it lies. Plain data; any thread once filled. */
#ifndef COMMON_DNS_RECORD_H
#define COMMON_DNS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

/* Names the record's strings, as written but for the last: another one is stored, and put into
 * snapshots, like these. */
enum record_string {
    RECORD_HOST,  /* an address or a name */
    RECORD_TEXT,  /* in presentation form (txt_unescape) */
    RECORD_GROUP, /* labels below a name with one group are answered together */
    RECORD_RR,    /* records of any type, packed (record_rrs.h) */
    RECORD_STRINGS,
};

struct record {
    union {
        struct {
            struct slice host, text, group, rrs; /* empty when absent */
        };
        struct slice strings[RECORD_STRINGS]; /* the same */
    };
    uint32_t ttl_s; /* 0 = not set */
    uint16_t port;
    uint16_t priority;    /* 0 = not set */
    uint16_t weight;      /* 0 = not set */
    uint16_t targetstrip; /* labels to remove from the left of the target */
    bool mail;
    bool is_leased; /* not in the value: its key has a lease, which bounds the TTL */
    char *owned;    /* the strings, if they are the record's own; else they are borrowed */
};

/* Caps a TTL to 31 bits (RFC 2181 section 8). */
static inline uint32_t record_ttl_s(uint32_t ttl_s)
{
    return ttl_s < INT32_MAX ? ttl_s : INT32_MAX;
}

/* Returns a copy of the record whose strings are its own. */
struct record record_copy(const struct record *record);

void record_fini(struct record *record);

/* The text of a TXT record in presentation form (RFC 1035 5.1), as SkyDNS read the field `text`:
 * `\DDD` is the byte with that decimal value, modulo 256; `\X` is X; a backslash at the end is
 * nothing. Every text is valid. Pure; any thread. */

/* Returns whether the bytes on the wire differ from the text. */
static inline bool txt_has_escapes(struct slice text)
{
    return text.len > 0 && memchr(text.ptr, '\\', text.len);
}

/* Writes the text's bytes; returns how many, at most text.len. `out` NULL: only counts. */
size_t txt_unescape(struct slice text, uint8_t *out);

/* DNS name <-> etcd key: `/<prefix>/` and the labels reversed, joined with `/`.
 *     web.default.svc.cluster.local.  <->  /skydns/local/cluster/svc/default/web
 * Pure; any thread. */

/* In both calls `prefix` is "/skydns/", with both slashes. */

/* Appends the key of a name (text, trailing dot optional), in lower case. Escapes nothing: names
 * come from flags and Kubernetes objects. */
void record_key_from_name(struct slice prefix, struct slice name, struct buf *out);

/* Appends the key of a stored name; the inverse of record_key_to_name. */
void record_key_of(struct slice prefix, const struct dname *name, struct buf *out);

/* Writes the name of a key. Returns false when the key is not below the prefix, has an empty label,
 * a label over 63 bytes or a name over 255: then no query can ask for it. Case is kept: no (folded)
 * query matches a key with upper-case letters. */
bool record_key_to_name(struct slice prefix, struct slice key, struct dname *ret_name) MUST_CHECK;

#endif
