#include "skydns/settings/config_source_internal.h"

#include <stdlib.h>

void config_source_init(struct config_source *source, char *name, size_t bytes_max)
{
    *source = (struct config_source){.name = name};
    buf_init(&source->seen, bytes_max + 1);
    buf_init(&source->used, bytes_max + 1);
}

void config_source_fini(struct config_source *source)
{
    if (source->name) {
        buf_fini(&source->seen);
        buf_fini(&source->used);
        free(source->name);
    }
    *source = (struct config_source){0};
}

bool config_source_see(struct config_source *source, struct slice text)
{
    bool has_text = text.ptr != NULL;
    if (has_text == source->has_seen && slice_equal(text, buf_slice(&source->seen))) {
        return false;
    }
    buf_clear(&source->seen);
    buf_append(&source->seen, text.ptr,
               text.len < source->seen.limit ? text.len : source->seen.limit);
    source->has_seen = has_text;
    return true;
}

void config_source_use(struct config_source *source)
{
    buf_clear(&source->used);
    buf_append_slice(&source->used, buf_slice(&source->seen));
    source->has_used = source->has_seen;
}

bool config_source_is_refused(const struct config_source *source)
{
    return source->has_seen != source->has_used ||
           !slice_equal(buf_slice(&source->seen), buf_slice(&source->used));
}

static struct slice text_of(struct buf *text, bool is_there)
{
    return is_there ? slice_of(buf_cstr(text), text->len) : slice_of(NULL, 0);
}

struct slice config_source_seen(struct config_source *source)
{
    return text_of(&source->seen, source->has_seen);
}

struct slice config_source_used(struct config_source *source)
{
    return text_of(&source->used, source->has_used);
}
