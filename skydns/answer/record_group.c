#include "skydns/answer/record_group_internal.h"

#include "common/dns/dname.h"

static unsigned depth(const struct store_record *record)
{
    struct dname name;
    store_record_name(record, &name);
    return dname_label_count(&name);
}

struct slice record_group_choose(const struct store_record *const *records, size_t count)
{
    struct slice group = store_record_string(records[0], RECORD_GROUP);
    unsigned closest = depth(records[0]);
    for (size_t i = 1; i < count; i++) {
        unsigned d = depth(records[i]);
        if (d < closest) {
            if (records[i]->lens[RECORD_GROUP] == 0) {
                break;
            }
            closest = d;
            group = store_record_string(records[i], RECORD_GROUP);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (records[i]->lens[RECORD_GROUP] > 0 && depth(records[i]) == closest &&
            !slice_equal(store_record_string(records[i], RECORD_GROUP), group)) {
            return slice_of(NULL, 0);
        }
    }
    return group;
}
