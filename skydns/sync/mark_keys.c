#include "skydns/sync/mark_keys_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/record_json.h"
#include "common/dns/record_scan.h"
#include "skydns/clients/visibility.h"
#include "skydns/sync/client_marks_internal.h"

static struct slice mark_keys_key_of(const void *thing)
{
    return mark_label(thing);
}

static struct mark *mark_keys_find(const struct mark_keys *keys, struct slice label)
{
    return key_table_find(&keys->marks, label);
}

static void mark_keys_set_list(struct mark_keys *keys, struct mark *mark, struct slice text)
{
    keys->list_bytes -= mark->list_len;
    free(mark->list);
    mark->list = text.len > 0 ? xstrndup(text.ptr, text.len) : NULL;
    mark->list_len = text.len;
    keys->list_bytes += mark->list_len;
}

static void free_mark(struct mark *mark)
{
    free(mark->list);
    free(mark);
}

void mark_keys_init(struct mark_keys *keys, enum mark_kind kind)
{
    *keys = (struct mark_keys){.kind = kind};
    key_table_init(&keys->marks, mark_keys_key_of);
}

void mark_keys_fini(struct mark_keys *keys)
{
    struct mark *mark;
    for (size_t at = 0; (mark = key_table_next(&keys->marks, &at)); at++) {
        free_mark(mark);
    }
    key_table_fini(&keys->marks);
}

/* ---- Values ---- */

bool client_marks_read_address(struct slice value, struct ip *ret_ip)
{
    struct record record;
    struct err err;
    bool is_record = record_scan(value, &record) || record_from_json(value, &record, &err) == 0;
    bool is_address = is_record && ip_parse_sloppy(record.host, ret_ip);
    if (is_record) {
        record_fini(&record);
    }
    return is_address;
}

/* Accepts a namespace's name, or an address with dashes: IPv6 may begin or end with one. */
static bool mark_keys_is_label(enum mark_kind kind, struct slice label)
{
    return kind == MARK_LIST ? dname_is_host_label(label)
                             : label.len > 0 && label.len <= DNAME_LABEL_MAX &&
                                   !memchr(label.ptr, '/', label.len);
}

static const char *mark_keys_refusal_of(const struct mark_keys *keys, const struct mark *known,
                                        struct slice label, struct slice value, struct ip *ret_ip)
{
    *ret_ip = (struct ip){.family_bytes = 0};
    if (!mark_keys_is_label(keys->kind, label)) {
        return "not one label behind its prefix";
    }
    if (keys->kind == MARK_ADDRESS) {
        return client_marks_read_address(value, ret_ip) ? NULL : "its host is no address";
    }
    if (value.len > CLIENT_MARKS_LIST_MAX) {
        return "a list of more than 64 KiB";
    }
    size_t others = keys->list_bytes - (known ? known->list_len : 0);
    if (others + value.len > CLIENT_MARKS_LISTS_HELD_MAX) {
        return "more than 8 MiB of lists";
    }
    return !known && keys->marks.count >= VISIBILITY_LISTED_MAX ? "more than 65,536 lists" : NULL;
}

/* ---- What the mirror tells ---- */

static void mark_keys_note_change(struct mark_keys *keys, struct mark *mark)
{
    if (!mark->is_changed) {
        mark->is_changed = true;
        mark->next_changed = keys->changed;
        keys->changed = mark;
    }
}

void mark_keys_begin(struct mark_keys *keys, bool keeps_old)
{
    struct mark *mark;
    keys->keeps_old = keeps_old;
    keys->is_cut = keys->is_cut && keeps_old;
    for (size_t at = 0; (mark = key_table_next(&keys->marks, &at)); at++) {
        mark->is_read = false;
    }
}

static struct mark *add_mark(struct mark_keys *keys, struct slice label)
{
    struct mark *mark = xcalloc(1, sizeof(*mark) + label.len);
    mark->label_len = (uint8_t)label.len;
    memcpy(mark->label, label.ptr, label.len);
    (void)key_table_put(&keys->marks, mark); /* is new */
    return mark;
}

const char *mark_keys_put(struct mark_keys *keys, struct slice label, struct slice value)
{
    struct mark *mark = mark_keys_find(keys, label);
    struct ip ip;
    const char *refusal = mark_keys_refusal_of(keys, mark, label, value, &ip);
    if (refusal) {
        mark_keys_del(keys, label);
        return refusal;
    }
    if (!mark && keys->kind == MARK_ADDRESS && keys->marks.count >= CLIENT_MARKS_ADDRESSES_MAX) {
        keys->is_cut = true;
        return "more than 65,536 addresses: no pod of the domain identifies a client";
    }
    mark = mark ? mark : add_mark(keys, label);
    struct slice list = keys->kind == MARK_LIST ? value : slice_of(NULL, 0);
    bool is_same = mark->is_there && ip_equal(&mark->ip, &ip) &&
                   slice_equal(slice_of(mark->list, mark->list_len), list);
    mark->is_there = mark->is_read = true;
    mark->ip = ip;
    if (!is_same) {
        mark_keys_set_list(keys, mark, list);
        mark_keys_note_change(keys, mark);
    }
    return NULL;
}

bool mark_keys_bars_all(const struct mark_keys *keys)
{
    const struct mark *mark = mark_keys_find(keys, slice_str("0-0-0-0"));
    const struct ip every_ip = {.family_bytes = 4};
    return mark && mark->is_there && ip_equal(&mark->ip, &every_ip);
}

static void remove_mark(struct mark_keys *keys, struct mark *mark)
{
    mark->is_there = mark->is_read = false;
    mark_keys_set_list(keys, mark, slice_of(NULL, 0));
    mark_keys_note_change(keys, mark);
}

void mark_keys_del(struct mark_keys *keys, struct slice label)
{
    struct mark *mark = mark_keys_find(keys, label);
    if (mark) {
        remove_mark(keys, mark);
    }
}

/* Removes the keys that the full read did not tell of. */
static void remove_unread(struct mark_keys *keys)
{
    struct mark *mark;
    for (size_t at = 0; (mark = key_table_next(&keys->marks, &at)); at++) {
        if (!mark->is_read) {
            remove_mark(keys, mark);
        }
    }
}

/* Tells fn what the commit changes of the key; returns whether it changes anything. */
static bool end_change(struct mark *mark,
                       void (*fn)(void *data, const struct ip *ip, bool is_there), void *data)
{
    struct ip was = mark->was;
    struct ip now = mark->is_there ? mark->ip : (struct ip){.family_bytes = 0};
    mark->is_changed = false;
    mark->was = now;
    if (ip_equal(&was, &now)) {
        return false;
    }
    if (fn && now.family_bytes > 0) {
        fn(data, &now, true);
    }
    if (fn && was.family_bytes > 0) {
        fn(data, &was, false);
    }
    return true;
}

static int mark_keys_compare_lists(const void *a, const void *b)
{
    const struct mark *x = *(const struct mark *const *)a, *y = *(const struct mark *const *)b;
    int d = (x->list_len > y->list_len) - (x->list_len < y->list_len);
    return d ? d : slice_compare(mark_label(x), mark_label(y));
}

/* Leaves out the longest lists if there is no room for all, by the same rule as kube2sky, which
 * writes no more than have room (client_keys.h). It is needed, since an added key may come before
 * the removal of the one that it replaces. */
static void mark_keys_share_out(struct mark_keys *keys)
{
    size_t count = 0, bytes = 0;
    if (keys->list_bytes <= CLIENT_MARKS_LISTS_MAX && keys->left_out == 0) {
        return;
    }
    struct mark **lists = xcalloc(keys->marks.count, sizeof(*lists)), *mark;
    for (size_t at = 0; (mark = key_table_next(&keys->marks, &at)); at++) {
        lists[count++] = mark;
    }
    qsort(lists, count, sizeof(*lists), mark_keys_compare_lists);
    keys->left_out = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += lists[i]->list_len;
        lists[i]->is_left_out = bytes > CLIENT_MARKS_LISTS_MAX;
        keys->left_out += lists[i]->is_left_out;
    }
    free(lists);
}

bool mark_keys_commit(struct mark_keys *keys, bool full,
                      void (*fn)(void *data, const struct ip *ip, bool is_there), void *data)
{
    bool is_change = false;
    if (full && !keys->keeps_old) {
        remove_unread(keys);
    }
    for (struct mark *mark = keys->changed, *next; mark; mark = next) {
        next = mark->next_changed;
        is_change = end_change(mark, fn, data) || keys->kind == MARK_LIST || is_change;
        if (!mark->is_there) {
            free_mark(key_table_take(&keys->marks, mark_label(mark)));
        }
    }
    keys->changed = NULL;
    if (is_change) {
        mark_keys_share_out(keys);
    }
    return is_change;
}

void mark_keys_each_address(const struct mark_keys *keys,
                            void (*fn)(void *data, const struct ip *ip), void *data)
{
    const struct mark *mark;
    for (size_t at = 0; (mark = key_table_next(&keys->marks, &at)); at++) {
        if (mark->was.family_bytes > 0) {
            fn(data, &mark->was);
        }
    }
}

const struct mark *mark_keys_next(const struct mark_keys *keys, size_t *at)
{
    const struct mark *mark;
    while ((mark = key_table_next(&keys->marks, at))) {
        ++*at;
        if (mark->is_there) {
            break;
        }
    }
    return mark;
}

/* ---- Across restarts: how many, then label and address or list of each ---- */

void mark_keys_save(const struct mark_keys *keys, struct buf *out)
{
    const struct mark *mark;
    uint32_t count = 0;
    for (size_t at = 0; mark_keys_next(keys, &at);) {
        count++;
    }
    buf_append_u32(out, count);
    for (size_t at = 0; (mark = mark_keys_next(keys, &at));) {
        buf_append_sized(out, mark_label(mark));
        buf_append_sized(out, keys->kind == MARK_LIST
                                  ? slice_of(mark->list, mark->list_len)
                                  : slice_of(mark->ip.bytes, mark->ip.family_bytes));
    }
}

static bool load_address(struct mark_keys *keys, struct slice label, struct slice bytes)
{
    struct ip ip = {.family_bytes = (uint8_t)bytes.len};
    if ((bytes.len != 4 && bytes.len != 16) || keys->marks.count >= CLIENT_MARKS_ADDRESSES_MAX) {
        return false;
    }
    memcpy(ip.bytes, bytes.ptr, bytes.len);
    struct mark *mark = add_mark(keys, label);
    mark->ip = ip;
    mark->is_there = true;
    mark_keys_note_change(keys, mark);
    return true;
}

/* Refuses a key that is there twice, so that none is missing. */
static bool mark_keys_load_one(struct mark_keys *keys, struct reader *reader)
{
    struct slice label = reader_sized(reader);
    struct slice value = reader_sized(reader);
    if (reader->failed || !mark_keys_is_label(keys->kind, label) || mark_keys_find(keys, label)) {
        return false;
    }
    return keys->kind == MARK_LIST ? !mark_keys_put(keys, label, value)
                                   : load_address(keys, label, value);
}

bool mark_keys_load(struct mark_keys *keys, struct reader *reader)
{
    uint32_t count = reader_u32(reader);
    bool is_good = !reader->failed;
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = mark_keys_load_one(keys, reader);
    }
    return is_good;
}
