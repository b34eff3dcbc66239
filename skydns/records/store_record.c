/* Lays out a record as one block of memory: the fixed fields, then host, name, host text, text,
 * group, the packed records of `rr`, and the unescaped text if it has escapes. */
#include <assert.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/dns/record.h"
#include "common/dns/record_rrs.h"
#include "skydns/records/store_loader.h"
#include "skydns/records/store_node_internal.h"

/* The parsed host, and its text if the printed form of the address or name would differ from it
 * ("FD00::1", a name without its trailing dot): deduplication compares what was written. */
struct host {
    enum store_host kind;
    const uint8_t *bytes;
    uint8_t len;
    struct slice text;
};

/* Returns whether the text is the address's printed form: digits and three dots. Text that parsed
 * as these bytes and is as long as their printed form has no leading zeros. */
static bool is_printed_v4(const struct ip *ip, struct slice written)
{
    size_t len = 3;
    for (unsigned i = 0; i < 4; i++) {
        len += ip->bytes[i] >= 100 ? 3 : ip->bytes[i] >= 10 ? 2 : 1;
    }
    return ip->family_bytes == 4 && written.len == len;
}

static bool is_printed_ip(const struct ip *ip, struct slice written)
{
    char printed[INET6_ADDRSTRLEN];
    return is_printed_v4(ip, written) || slice_equal(slice_str(ip_format(ip, printed)), written);
}

/* Returns whether the name has only bytes that dname_to_text writes as they are, and a trailing
 * dot. */
static bool is_plain_name(struct slice written)
{
    for (size_t i = 0; i < written.len; i++) {
        uint8_t c = ascii_lower((uint8_t)written.ptr[i]);
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
              c == '.')) {
            return false;
        }
    }
    return written.len > 0 && written.ptr[written.len - 1] == '.';
}

static bool is_printed_name(const struct dname *name, struct slice written)
{
    char printed[DNAME_TEXT_MAX];
    return is_plain_name(written) || slice_equal(slice_str(dname_to_text(name, printed)), written);
}

/* Parses the host. `ip` and `name` are storage for what its bytes point to. */
static struct host host_of(struct slice written, struct ip *ip, struct dname *name)
{
    if (written.len == 0) {
        return (struct host){.kind = STORE_HOST_NONE};
    }
    if (ip_parse_sloppy(written, ip)) {
        return (struct host){.kind = STORE_HOST_IP,
                             .bytes = ip->bytes,
                             .len = ip->family_bytes,
                             .text = is_printed_ip(ip, written) ? slice_of(NULL, 0) : written};
    }
    if (dname_from_text(written, name)) {
        return (struct host){.kind = STORE_HOST_NAME,
                             .bytes = name->wire,
                             .len = name->len,
                             .text = is_printed_name(name, written) ? slice_of(NULL, 0) : written};
    }
    return (struct host){.kind = STORE_HOST_BAD, .text = written};
}

static uint8_t *store_record_append(uint8_t *at, const void *bytes, size_t len)
{
    if (len > 0) {
        memcpy(at, bytes, len);
    }
    return at + len;
}

/* Returns the block's size, at least the struct's: that ends with padding, which an assignment
 * writes too. */
static size_t record_size(size_t tail)
{
    size_t size = offsetof(struct store_record, bytes) + tail;
    return size > sizeof(struct store_record) ? size : sizeof(struct store_record);
}

struct store_record *store_record_new(struct store_pool *pool, const struct dname *name,
                                      const struct record *record, int64_t mod_revision)
{
    struct ip ip;
    struct dname host_name;
    struct host host = host_of(record->host, &ip, &host_name);
    struct store_saved saved = {.mod_revision = mod_revision,
                                .known_s = (uint32_t)(clock_monotonic_ms() / 1000),
                                .host = (uint8_t)host.kind,
                                .host_bytes = slice_of(host.bytes, host.len),
                                .record = *record};
    saved.record.host = host.text;
    return store_record_of(pool, name, &saved);
}

struct store_record *store_record_of(struct store_pool *pool, const struct dname *name,
                                     const struct store_saved *saved)
{
    const struct record *record = &saved->record;
    const struct slice host = saved->host_bytes, text = record->text;
    bool has_escapes = txt_has_escapes(text);
    size_t tail = host.len + (size_t)name->len + (has_escapes ? txt_unescape(text, NULL) : 0);
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        assert(record->strings[i].len <= UINT16_MAX); /* with quotes, RECORD_JSON_MAX */
        tail += record->strings[i].len;
    }
    struct store_record *r = store_pool_alloc(pool, record_size(tail));
    *r = (struct store_record){
        .mod_revision = saved->mod_revision,
        .ttl_s = record->ttl_s,
        .known_s = saved->known_s,
        .port = record->port,
        .priority = record->priority,
        .weight = record->weight,
        .targetstrip = record->targetstrip,
        .host_len = (uint8_t)host.len,
        .name_len = name->len,
        .host = saved->host,
        .mail = record->mail,
        .is_leased = record->is_leased,
        .has_escapes = has_escapes,
    };
    uint8_t *at = store_record_append(r->bytes, host.ptr, host.len);
    at = store_record_append(at, name->wire, name->len);
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        r->lens[i] = (uint16_t)record->strings[i].len;
        at = store_record_append(at, record->strings[i].ptr, record->strings[i].len);
    }
    if (has_escapes) {
        (void)txt_unescape(text, at);
    }
    return r;
}

static bool is_wire_name(struct slice wire)
{
    size_t at = 0;
    while (at < wire.len && wire.ptr[at] > 0 && wire.ptr[at] <= DNAME_LABEL_MAX) {
        at += 1 + (size_t)wire.ptr[at];
    }
    return wire.len <= DNAME_MAX && at + 1 == wire.len && wire.ptr[at] == 0;
}

static bool host_can_be(const struct store_saved *saved)
{
    size_t len = saved->host_bytes.len;
    switch (saved->host) {
    case STORE_HOST_NONE:
        return len == 0 && saved->record.host.len == 0;
    case STORE_HOST_IP:
        return len == 4 || len == 16;
    case STORE_HOST_NAME:
        return is_wire_name(saved->host_bytes);
    case STORE_HOST_BAD:
        return len == 0 && saved->record.host.len > 0;
    default:
        return false;
    }
}

bool store_record_can_be(const struct store_saved *saved)
{
    bool can_be = host_can_be(saved) && record_ttl_s(saved->record.ttl_s) == saved->record.ttl_s;
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        can_be = can_be && saved->record.strings[i].len <= UINT16_MAX;
    }
    return can_be && record_rrs_are_packed(saved->record.rrs);
}

/* Returns a string; after the last one comes the unescaped text. */
struct slice store_record_string(const struct store_record *r, unsigned string)
{
    const uint8_t *at = r->bytes + r->host_len + r->name_len;
    for (unsigned i = 0; i < string; i++) {
        at += r->lens[i];
    }
    return slice_of(at, string < RECORD_STRINGS ? r->lens[string] : 0);
}

static size_t tail_len(const struct store_record *r)
{
    const char *end = store_record_string(r, RECORD_STRINGS).ptr;
    size_t written = (size_t)(end - (const char *)r->bytes);
    return written + (r->has_escapes ? store_record_text_bytes(r).len : 0);
}

struct store_record *store_record_copy(struct store_pool *pool, const struct store_record *record)
{
    size_t size = record_size(tail_len(record));
    return memcpy(store_pool_alloc(pool, size), record, size);
}

bool store_record_equal(const struct store_record *a, const struct store_record *b)
{
    return a->mod_revision == b->mod_revision && store_record_same_content(a, b);
}

bool store_record_same_content(const struct store_record *a, const struct store_record *b)
{
    return a->ttl_s == b->ttl_s && a->port == b->port && a->priority == b->priority &&
           a->weight == b->weight && a->targetstrip == b->targetstrip &&
           memcmp(a->lens, b->lens, sizeof(a->lens)) == 0 && a->host_len == b->host_len &&
           a->name_len == b->name_len && a->host == b->host && a->mail == b->mail &&
           memcmp(a->bytes, b->bytes, tail_len(a)) == 0;
}

struct ip store_record_ip(const struct store_record *record)
{
    struct ip ip = {0};
    if (record->host == STORE_HOST_IP) {
        ip.family_bytes = record->host_len;
        memcpy(ip.bytes, record->bytes, record->host_len);
    }
    return ip;
}

struct slice store_record_host_wire(const struct store_record *record)
{
    return slice_of(record->bytes, record->host == STORE_HOST_NAME ? record->host_len : 0);
}

struct slice store_record_name_wire(const struct store_record *record)
{
    return slice_of(record->bytes + record->host_len, record->name_len);
}

static void store_record_copy_name(struct slice wire, struct dname *ret_name)
{
    ret_name->len = (uint8_t)wire.len;
    memcpy(ret_name->wire, wire.ptr, wire.len);
}

bool store_record_host_name(const struct store_record *record, struct dname *ret_name)
{
    if (record->host != STORE_HOST_NAME) {
        return false;
    }
    store_record_copy_name(store_record_host_wire(record), ret_name);
    return true;
}

void store_record_name(const struct store_record *record, struct dname *ret_name)
{
    store_record_copy_name(store_record_name_wire(record), ret_name);
}

struct slice store_record_host_text(const struct store_record *record, char out[DNAME_TEXT_MAX])
{
    struct dname name;
    struct ip ip = store_record_ip(record);
    if (record->lens[RECORD_HOST] > 0) {
        return store_record_string(record, RECORD_HOST);
    }
    if (store_record_host_name(record, &name)) {
        return slice_str(dname_to_text(&name, out));
    }
    return ip.family_bytes ? slice_str(ip_format(&ip, out)) : slice_of(NULL, 0);
}

bool store_record_holds(const struct store_record *record, struct slice part)
{
    const uint8_t *at = (const uint8_t *)part.ptr;
    return part.len > 0 && at >= record->bytes && at < record->bytes + tail_len(record);
}

struct slice store_record_text_bytes(const struct store_record *record)
{
    struct slice text = store_record_string(record, RECORD_TEXT);
    return record->has_escapes
               ? slice_of(store_record_string(record, RECORD_STRINGS).ptr, txt_unescape(text, NULL))
               : text;
}

struct store_saved store_record_saved(const struct store_record *record)
{
    struct store_saved saved = {
        .mod_revision = record->mod_revision,
        .known_s = record->known_s,
        .host = record->host,
        .host_bytes = slice_of(record->bytes, record->host_len),
        .record = {.ttl_s = record->ttl_s,
                   .port = record->port,
                   .priority = record->priority,
                   .weight = record->weight,
                   .targetstrip = record->targetstrip,
                   .mail = record->mail,
                   .is_leased = record->is_leased},
    };
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        saved.record.strings[i] = store_record_string(record, i);
    }
    return saved;
}

bool store_record_same_data(const struct store_record *a, const struct store_record *b)
{
    bool is_same = a->port == b->port && a->priority == b->priority && a->weight == b->weight &&
                   a->host == b->host && a->host_len == b->host_len &&
                   memcmp(a->bytes, b->bytes, a->host_len) == 0;
    for (unsigned i = 0; is_same && i < RECORD_STRINGS; i++) {
        is_same =
            i == RECORD_GROUP || slice_equal(store_record_string(a, i), store_record_string(b, i));
    }
    return is_same;
}
