#include "common/record.h"

#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

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

bool record_same_data(const struct record *a, const struct record *b)
{
    return a->port == b->port && a->priority == b->priority && a->weight == b->weight &&
           strcmp(a->host, b->host) == 0 && strcmp(a->text, b->text) == 0;
}
