#include "skydns/sync/config_value_internal.h"

#include "skydns/settings/config_documents.h"
#include "skydns/sync/store_sync.h"

enum { KEPT_MAX = CONFIG_DOCUMENT_MAX + 1 };

void config_value_init(struct config_value *value)
{
    *value = (struct config_value){.is_changed = true};
    buf_init(&value->text, KEPT_MAX);
}

void config_value_fini(struct config_value *value)
{
    buf_fini(&value->text);
}

void config_value_put(struct config_value *value, struct slice text)
{
    buf_clear(&value->text);
    buf_append(&value->text, text.ptr, text.len < KEPT_MAX ? text.len : KEPT_MAX);
    value->is_there = value->is_read = value->is_changed = true;
}

void config_value_del(struct config_value *value)
{
    value->is_there = false;
    value->is_changed = true;
}

void config_value_begin_read(struct config_value *value)
{
    value->is_read = false;
}

void config_value_end_read(struct config_value *value)
{
    if (!value->is_read && value->is_there) {
        config_value_del(value);
    }
}

bool config_value_take_change(struct config_value *value, struct slice *ret_text)
{
    bool is_changed = value->is_changed;
    if (is_changed) {
        *ret_text =
            value->is_there ? slice_of(buf_cstr(&value->text), value->text.len) : slice_of(NULL, 0);
    }
    value->is_changed = false;
    return is_changed;
}

void config_value_save(const struct config_value *value, struct buf *out)
{
    if (value->is_there) {
        buf_append_slice(out, buf_slice(&value->text));
    }
}

bool config_value_is_saved(struct slice saved)
{
    return saved.len <= KEPT_MAX;
}

void config_value_load(struct config_value *value, struct slice saved)
{
    buf_clear(&value->text);
    buf_append_slice(&value->text, saved);
    value->is_there = saved.len > 0;
    value->is_changed = false;
}
