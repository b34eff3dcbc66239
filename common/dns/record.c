#include "common/dns/record.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

void record_init(struct record *record)
{
    *record = (struct record){
        .host = xstrdup(""),
        .text = xstrdup(""),
        .group = xstrdup(""),
    };
}

void record_fini(struct record *record)
{
    free(record->host);
    free(record->text);
    free(record->group);
    *record = (struct record){.host = NULL};
}

struct record_view record_view_of(const struct record *record)
{
    return (struct record_view){
        .host = slice_str(record->host),
        .text = slice_str(record->text),
        .group = slice_str(record->group),
        .ttl_s = record->ttl_s,
        .port = record->port,
        .priority = record->priority,
        .weight = record->weight,
        .targetstrip = record->targetstrip,
        .mail = record->mail,
    };
}

uint32_t record_ttl_s(uint32_t ttl_s)
{
    return ttl_s < INT32_MAX ? ttl_s : INT32_MAX;
}
