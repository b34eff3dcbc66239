#include "skydns/sync/recent_changes.h"

#include <string.h>

#include "common/base/clock.h"

static struct recent_change *recent_changes_at(struct recent_changes *recent, uint64_t number)
{
    return &recent->items[number % RECENT_CHANGES_MAX];
}

void recent_changes_note(struct recent_changes *recent, const struct dname *name, bool is_delete,
                         int64_t revision)
{
    if (recent->noted == recent->published) {
        recent->received_us = clock_monotonic_us();
    }
    *recent_changes_at(recent, recent->noted++) = (struct recent_change){.is_delete = is_delete,
                                                                         .name = *name,
                                                                         .revision = revision,
                                                                         .time_ms = clock_wall_ms(),
                                                                         .took_us = -1};
}

void recent_changes_publish(struct recent_changes *recent, uint64_t epoch)
{
    if (recent->noted > recent->published && recent->waiting < RECENT_VERSIONS_MAX) {
        recent->versions[recent->waiting++] =
            (struct recent_version){.epoch = epoch,
                                    .from = recent->published,
                                    .to = recent->noted,
                                    .received_us = recent->received_us};
    }
    recent->published = recent->noted;
}

static void recent_changes_finish(struct recent_changes *recent,
                                  const struct recent_version *version, int64_t now_us)
{
    uint64_t kept = recent->noted < RECENT_CHANGES_MAX ? 0 : recent->noted - RECENT_CHANGES_MAX;
    int64_t took_us = now_us - version->received_us;
    for (uint64_t i = version->from > kept ? version->from : kept; i < version->to; i++) {
        recent_changes_at(recent, i)->took_us = took_us;
    }
    histogram_observe_us(&recent->seconds, took_us);
}

void recent_changes_see(struct recent_changes *recent, uint64_t epoch)
{
    size_t seen = 0;
    int64_t now_us = recent->waiting > 0 ? clock_monotonic_us() : 0;
    while (seen < recent->waiting && recent->versions[seen].epoch <= epoch) {
        recent_changes_finish(recent, &recent->versions[seen++], now_us);
    }
    recent->waiting -= seen;
    memmove(recent->versions, recent->versions + seen,
            recent->waiting * sizeof(recent->versions[0]));
}

size_t recent_changes_count(const struct recent_changes *recent)
{
    return recent->noted < RECENT_CHANGES_MAX ? recent->noted : RECENT_CHANGES_MAX;
}

const struct recent_change *recent_changes_get(const struct recent_changes *recent, size_t i)
{
    return &recent->items[(recent->noted - 1 - i) % RECENT_CHANGES_MAX];
}

const struct recent_change *recent_changes_find(const struct recent_changes *recent,
                                                const struct dname *name)
{
    for (size_t i = 0; i < recent_changes_count(recent); i++) {
        const struct recent_change *change = recent_changes_get(recent, i);
        if (dname_equal(&change->name, name)) {
            return change;
        }
    }
    return NULL;
}
