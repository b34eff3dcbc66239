#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/dns/dns_names.h"
#include "skydns/pages/explain_page_internal.h"

enum { TIME_TEXT_MAX = 64 };

static const char *time_text(int64_t unix_s, char out[TIME_TEXT_MAX])
{
    struct tm utc;
    time_t when = (time_t)unix_s;
    if (!gmtime_r(&when, &utc) || strftime(out, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        out[0] = '\0';
    }
    return out;
}

/* A signature that has ended is not one. */
static int64_t left_s(int64_t end_s)
{
    int64_t left = end_s - clock_wall_s();
    return end_s > 0 && left > 0 ? left : 0;
}

/* As any program reads data of a type that it does not know: RFC 3597 5. */
static void append_record(const struct explanation *x, struct slice data, struct buf *out)
{
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    buf_printf(out, "%s %" PRIu32 " %s \\# %zu ", dname_to_text(&x->question.name, name),
               x->keys.ttl_s, dns_type_text(x->question.type, type), data.len);
    for (size_t i = 0; i < data.len; i++) {
        buf_printf(out, "%02X", (uint8_t)data.ptr[i]);
    }
}

/* ---- Text ---- */

static void text_key(const struct signed_set_shown *set, size_t i, struct buf *out)
{
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX], end[TIME_TEXT_MAX];
    const struct signing_key *key = set->zone->keys[i];
    buf_printf(out, "%s %s, key %u of", dname_to_text(&set->owner, name),
               dns_type_text(set->type, type), key->tag);
    buf_printf(out, " %s (algorithm %u): ", dname_to_text(&set->zone->name, name), key->algorithm);
    if (left_s(set->ends_s[i]) > 0) {
        buf_printf(out, "until %s, ", time_text(set->ends_s[i], end));
        explain_text_age((uint32_t)left_s(set->ends_s[i]), out);
        buf_append_str(out, " ahead\n");
    } else {
        buf_append_str(out, "no signature is kept yet\n");
    }
}

void explain_text_keys(const struct explanation *x, struct buf *out)
{
    for (size_t i = 0; x->keys.set && i < x->keys.set->count; i++) {
        buf_append_str(out, i == 0 ? "answer     " : "           ");
        append_record(x, x->keys.set->rdata[i], out);
        buf_append_char(out, '\n');
    }
}

void explain_text_signed(const struct explanation *x, struct buf *out)
{
    bool is_first = true;
    for (size_t s = 0; s < x->signed_count; s++) {
        const struct signed_set_shown *set = &x->signed_sets[s];
        for (size_t i = 0; i < set->zone->key_count; i++) {
            if (set->ends_s[i] >= 0) {
                buf_append_str(out, is_first ? "signed     " : "           ");
                text_key(set, i, out);
                is_first = false;
            }
        }
    }
}

/* ---- JSON ---- */

static void json_keys_of(const struct signed_set_shown *set, struct buf *out)
{
    const char *comma = "";
    for (size_t i = 0; i < set->zone->key_count; i++) {
        const struct signing_key *key = set->zone->keys[i];
        char end[TIME_TEXT_MAX];
        if (set->ends_s[i] < 0) {
            continue;
        }
        buf_printf(out, "%s{\"tag\":%u,\"algorithm\":%u", comma, key->tag, key->algorithm);
        if (left_s(set->ends_s[i]) > 0) {
            buf_printf(out, ",\"expires\":\"%s\",\"left_s\":%" PRId64,
                       time_text(set->ends_s[i], end), left_s(set->ends_s[i]));
        }
        buf_append_char(out, '}');
        comma = ",";
    }
}

void explain_json_keys(const struct explanation *x, struct buf *out)
{
    /* A name escaped twice; hexadecimal data. */
    enum { RECORD_TEXT_MAX = 2 * DNAME_TEXT_MAX + 2 * SIGNING_KEY_RDATA_MAX + 64 };
    struct buf text;
    buf_init(&text, RECORD_TEXT_MAX);
    for (size_t i = 0; x->keys.set && i < x->keys.set->count; i++) {
        buf_clear(&text);
        append_record(x, x->keys.set->rdata[i], &text);
        buf_append_str(out, i == 0 ? ",\n\"answer\":[" : ",");
        json_text_string(out, buf_slice(&text));
    }
    buf_append_str(out, x->keys.set && x->keys.set->count > 0 ? "]" : "");
    buf_fini(&text);
}

void explain_json_signed(const struct explanation *x, struct buf *out)
{
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    for (size_t s = 0; s < x->signed_count; s++) {
        const struct signed_set_shown *set = &x->signed_sets[s];
        buf_append_str(out, s == 0 ? ",\n\"signed\":[{\"name\":" : ",\n {\"name\":");
        json_text_string(out, slice_str(dname_to_text(&set->owner, name)));
        buf_printf(out, ",\"type\":\"%s\",\"zone\":", dns_type_text(set->type, type));
        json_text_string(out, slice_str(dname_to_text(&set->zone->name, name)));
        buf_append_str(out, ",\"keys\":[");
        json_keys_of(set, out);
        buf_append_str(out, "]}");
    }
    buf_append_str(out, x->signed_count ? "]" : "");
}
