#include "common/dns/record.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct record record_copy(const struct record *record)
{
    struct record copy = *record;
    size_t bytes = 0;
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        bytes += record->strings[i].len;
    }
    char *at = copy.owned = xmalloc(bytes + 1);
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        const struct slice string = record->strings[i];
        if (string.len > 0) {
            memcpy(at, string.ptr, string.len);
        }
        copy.strings[i] = slice_of(at, string.len);
        at += string.len;
    }
    return copy;
}

void record_fini(struct record *record)
{
    free(record->owned);
    *record = (struct record){.ttl_s = 0};
}
