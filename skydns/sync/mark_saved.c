#include "skydns/sync/mark_saved_internal.h"

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/etcd/etcd_mirror.h"
#include "skydns/publish/engine_config.h"
#include "skydns/sync/client_marks_internal.h"
#include "skydns/sync/record_keys_internal.h"
#include "skydns/sync/topology_keys_internal.h"

void mark_saved_append(const struct mark_keys *keys, struct slice mirror, struct buf *out)
{
    buf_append_sized(out, keys ? mirror : slice_of(NULL, 0));
    buf_append_u8(out, keys != NULL);
    if (keys) {
        mark_keys_save(keys, out);
    } else {
        buf_append_u32(out, 0);
    }
}

static bool mark_saved_read_keys(struct reader *reader, enum mark_kind kind, struct mark_saved *ret)
{
    mark_keys_init(&ret->keys, kind);
    ret->mirror = reader_sized(reader);
    uint8_t is_known = reader_u8(reader);
    ret->is_known = is_known == 1;
    return !reader->failed && is_known <= 1 &&
           (ret->mirror.len == 0 || etcd_mirror_is_saved(ret->mirror)) &&
           mark_keys_load(&ret->keys, reader) &&
           (ret->is_known || (ret->mirror.len == 0 && ret->keys.marks.count == 0));
}

/* Reads both kinds, which the caller closes in any case. */
static bool read_domain(struct reader *reader, struct dname *ret_name,
                        struct mark_saved ret_saved[MARK_KINDS])
{
    bool is_good = dname_read_sized(reader, ret_name);
    for (unsigned kind = 0; kind < MARK_KINDS; kind++) {
        if (is_good) {
            is_good = mark_saved_read_keys(reader, (enum mark_kind)kind, &ret_saved[kind]);
        } else {
            mark_keys_init(&ret_saved[kind].keys, (enum mark_kind)kind);
        }
    }
    return is_good;
}

static void close_saved(struct mark_saved ranges[MARK_KINDS])
{
    for (unsigned kind = 0; kind < MARK_KINDS; kind++) {
        mark_keys_fini(&ranges[kind].keys);
    }
}

bool client_marks_is_saved(struct slice saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    uint8_t count = saved.len > 0 ? reader_u8(&reader) : 0;
    bool is_good = count <= ENGINE_ZONES_MAX;
    for (uint8_t i = 0; is_good && i < count; i++) {
        struct mark_saved ranges[MARK_KINDS];
        struct dname name;
        is_good = read_domain(&reader, &name, ranges);
        close_saved(ranges);
    }
    return is_good && reader_left(&reader) == 0;
}

bool mark_saved_recall(struct slice saved, const struct dname *domain,
                       struct mark_saved ret_saved[MARK_KINDS])
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    uint8_t count = saved.len > 0 ? reader_u8(&reader) : 0;
    for (uint8_t i = 0; i < count; i++) {
        struct dname name;
        bool is_good = read_domain(&reader, &name, ret_saved);
        if (is_good && dname_equal(&name, domain)) {
            return true;
        }
        close_saved(ret_saved);
    }
    return false;
}

/* ---- Sections of their own ---- */

void mark_saved_append_head(const struct dname *domain, const struct slice *mirror, struct buf *out)
{
    buf_append_sized(out, slice_of(domain->wire, domain->len));
    buf_append_sized(out, mirror ? *mirror : slice_of(NULL, 0));
    buf_append_u8(out, mirror != NULL);
    if (!mirror) {
        buf_append_u32(out, 0);
    }
}

/* Precedes the keys of one domain. */
struct saved_head {
    struct dname name;
    struct slice mirror;
    bool is_known;
};

static bool read_head(struct reader *reader, struct saved_head *ret)
{
    bool is_good = dname_read_sized(reader, &ret->name);
    ret->mirror = reader_sized(reader);
    uint8_t is_known = reader_u8(reader);
    ret->is_known = is_known == 1;
    return is_good && !reader->failed && is_known <= 1 &&
           (ret->mirror.len == 0 || (ret->is_known && etcd_mirror_is_saved(ret->mirror)));
}

static bool load_keys(enum mark_saved_section section, void *keys, struct reader *reader)
{
    return section == MARK_SAVED_RECORDS ? record_keys_load(keys, reader)
                                         : topology_keys_load(keys, reader);
}

static bool is_section_saved(enum mark_saved_section section, struct slice saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    uint8_t count = saved.len > 0 ? reader_u8(&reader) : 0;
    bool is_good = count <= ENGINE_ZONES_MAX;
    for (uint8_t i = 0; is_good && i < count; i++) {
        struct saved_head head;
        is_good = read_head(&reader, &head) && load_keys(section, NULL, &reader);
    }
    return is_good && reader_left(&reader) == 0;
}

bool client_marks_are_records_saved(struct slice saved)
{
    return is_section_saved(MARK_SAVED_RECORDS, saved);
}

bool client_marks_is_topology_saved(struct slice saved)
{
    return is_section_saved(MARK_SAVED_TOPOLOGY, saved);
}

bool mark_saved_recall_keys(enum mark_saved_section section, struct slice saved,
                            const struct dname *domain, void *keys, struct slice *ret_mirror)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    uint8_t count = saved.len > 0 ? reader_u8(&reader) : 0;
    bool is_good = true;
    for (uint8_t i = 0; is_good && i < count; i++) {
        struct saved_head head;
        is_good = read_head(&reader, &head);
        bool is_it = is_good && dname_equal(&head.name, domain);
        is_good = is_good && load_keys(section, is_it ? keys : NULL, &reader);
        if (is_it && is_good) {
            *ret_mirror = head.mirror;
            return head.is_known;
        }
    }
    return is_good;
}
