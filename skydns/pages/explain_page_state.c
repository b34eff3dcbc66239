#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "skydns/pages/explain_page_internal.h"
#include "skydns/pages/record_page_internal.h"

/* ---- Text ---- */

static void text_etcd(const struct explain_etcd *etcd, struct buf *out)
{
    if (etcd->is_away) {
        buf_append_str(out, "etcd       away for ");
        explain_text_age((uint32_t)etcd->away_s, out);
        buf_printf(out, "%s%s; ", etcd->reason[0] ? ": " : "", etcd->reason);
        if (etcd->has_records) {
            buf_append_str(out, "answers come from records of ");
            explain_text_age((uint32_t)etcd->age_s, out);
            buf_append_str(out, " ago\n");
        } else {
            buf_append_str(out, "no records have been read yet\n");
        }
    }
    if (etcd->is_holding_old) {
        buf_append_str(out, "etcd       came back without its data or with older data; for ");
        explain_text_age((uint32_t)etcd->holding_s, out);
        buf_append_str(out, " answers have come from records that it lacks, too\n");
    }
}

static void text_domain(const struct explanation *x, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    if (x->zone && x->zone->is_incomplete) {
        buf_printf(out, "domain     %s is incomplete: names that etcd lacks are SERVFAIL\n",
                   dname_to_text(&x->zone->domain, text));
    }
}

void explain_text_state(const struct explanation *x, struct buf *out)
{
    text_etcd(&x->etcd, out);
    text_domain(x, out);
}

static const struct recent_change *find_change(const struct explanation *x,
                                               const struct dname *name, int64_t revision)
{
    const struct recent_change *change = x->recent ? recent_changes_find(x->recent, name) : NULL;
    return change && (revision == 0 || change->revision == revision) ? change : NULL;
}

bool explain_text_change(const struct explanation *x, const struct dname *name, int64_t revision,
                         const char *before, struct buf *out)
{
    const struct recent_change *change = find_change(x, name, revision);
    if (!change) {
        return false;
    }
    int64_t ago_s = (clock_wall_ms() - change->time_ms) / 1000;
    buf_printf(out, "%s%s ", before, change->is_delete ? "deleted" : "changed");
    explain_text_age((uint32_t)(ago_s > 0 ? ago_s : 0), out);
    buf_append_str(out, " ago");
    if (change->took_us >= 0) {
        buf_printf(out, ", seen by all threads %" PRId64 " us after etcd's event", change->took_us);
    }
    return true;
}

void explain_text_near(const char *title, const struct dname *near, size_t count, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s%s", i ? ", " : title, dname_to_text(&near[i], text));
    }
    buf_append_str(out, count ? "\n" : "");
}

/* ---- JSON ---- */

void explain_json_state(const struct explanation *x, struct buf *out)
{
    const struct explain_etcd *etcd = &x->etcd;
    char text[DNAME_TEXT_MAX];
    buf_printf(out, ",\n\"etcd\":{\"connected\":%s", etcd->is_away ? "false" : "true");
    if (etcd->is_away) {
        buf_printf(out, ",\"away_s\":%" PRId64 ",\"reason\":", etcd->away_s);
        json_text_string(out, slice_str(etcd->reason));
    }
    if (etcd->has_records) {
        buf_printf(out, ",\"age_s\":%" PRId64, etcd->age_s);
    }
    if (etcd->is_holding_old) {
        buf_printf(out, ",\"holding_s\":%" PRId64, etcd->holding_s);
    }
    buf_append_char(out, '}');
    if (x->zone) {
        buf_append_str(out, ",\"domain\":");
        json_text_string(out, slice_str(dname_to_text(&x->zone->domain, text)));
        buf_append_str(out, x->zone->is_incomplete ? ",\"incomplete\":true" : "");
    }
}

void explain_json_change(const struct explanation *x, const struct dname *name, int64_t revision,
                         struct buf *out)
{
    const struct recent_change *change = find_change(x, name, revision);
    if (change) {
        buf_append_str(out, ",\"change\":");
        change_page_one(change, x->prefix, out);
    }
}

void explain_json_tree(const struct explanation *x, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < x->level_count; i++) {
        const struct explain_level *level = &x->levels[i];
        buf_append_str(out, i ? ",\n {\"name\":" : ",\n\"tree\":[\n {\"name\":");
        json_text_string(out, slice_str(dname_to_text(&level->name, text)));
        buf_printf(out, ",\"exists\":%s,\"record\":%s,\"records\":%zu}",
                   level->exists ? "true" : "false", level->has_record ? "true" : "false",
                   level->below);
    }
    buf_append_str(out, x->level_count ? "]" : "");
}

void explain_json_near(const struct dname *near, size_t count, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    buf_append_str(out, ",\"near\":[");
    for (size_t i = 0; i < count; i++) {
        buf_append_str(out, i ? "," : "");
        json_text_string(out, slice_str(dname_to_text(&near[i], text)));
    }
    buf_append_char(out, ']');
}
