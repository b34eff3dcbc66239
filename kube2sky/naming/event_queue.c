#include "kube2sky/naming/event_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "kube2sky/naming/contract.h"

/* One fault of one object. */
struct event_entry {
    struct slice id; /* kind, reason, "default/web" */
    TAILQ_ENTRY(event_entry) entry;
    struct event_space *space;
    char *note;
    uint64_t event; /* the one that was written; 0: none */
    uint32_t places;
    uint32_t count;
    uint8_t note_place;
    uint8_t kind;
    uint8_t reason;
    bool is_created;
    bool was_found_again; /* since its last write began */
    int64_t found_ms;
    int64_t last_ms;
    int64_t written_ms;
    int64_t due_ms;
};

/* The times of the latest writes, in a ring. */
struct event_space {
    struct slice ns;
    TAILQ_ENTRY(event_space) turn;
    TAILQ_HEAD(event_faults, event_entry) faults; /* in the order of finding */
    size_t count;
    int64_t writes[EVENT_NAMESPACE_WRITES_PER_MINUTE];
    unsigned write_count;
    int64_t refused_until_ms;
};

struct event_queue {
    struct key_table entries, spaces;
    TAILQ_HEAD(, event_space) turns; /* the next one's first */
    struct event_entry *writing;
    bool is_writing; /* event_queue_done is to come; writing NULL: its fault is gone */
    bool has_news;
    int64_t writes[EVENT_WRITES_PER_MINUTE];
    unsigned write_count;
    size_t waiting;
    uint64_t left_out;
};

enum { ID_PREFIX_LEN = 2 };

const char *event_reason_name(enum event_reason reason)
{
    static const char *const names[] = {
        [EVENT_INVALID_PORT] = "InvalidPort",
        [EVENT_INVALID_ANNOTATION] = "InvalidAnnotation",
        [EVENT_ALIAS_TAKEN] = "AliasTaken",
        [EVENT_ALIAS_NOT_ALLOWED] = "AliasNotAllowed",
        [EVENT_TOO_MANY_RECORDS] = "TooManyRecords",
        [EVENT_REVERSE_NAME_TAKEN] = "ReverseNameTaken",
    };
    return names[reason];
}

struct event_queue *event_queue_new(void)
{
    struct event_queue *queue = xcalloc(1, sizeof(*queue));
    key_table_init_keyed(&queue->entries);
    key_table_init_keyed(&queue->spaces);
    TAILQ_INIT(&queue->turns);
    return queue;
}

void event_queue_free(struct event_queue *queue)
{
    size_t at = 0;
    if (!queue) {
        return;
    }
    for (struct event_entry *entry; (entry = key_table_next(&queue->entries, &at)); at++) {
        free(entry->note);
        free(entry);
    }
    key_table_fini(&queue->entries);
    key_table_fini_things(&queue->spaces);
    free(queue);
}

/* ---- Limits: in any minute ---- */

/* Returns when a further write may begin. */
static int64_t ring_free_ms(const int64_t *writes, unsigned limit, unsigned write_count)
{
    return write_count < limit ? INT64_MIN : writes[write_count % limit] + EVENT_MINUTE_MS;
}

static int64_t event_space_free_ms(const struct event_space *space)
{
    int64_t free_ms =
        ring_free_ms(space->writes, EVENT_NAMESPACE_WRITES_PER_MINUTE, space->write_count);
    return free_ms > space->refused_until_ms ? free_ms : space->refused_until_ms;
}

/* ---- Namespaces ---- */

static struct event_space *get_event_space(struct event_queue *queue, struct slice ns)
{
    struct event_space *space = key_table_find(&queue->spaces, ns);
    if (space) {
        return space;
    }
    space = key_table_add(&queue->spaces, ns, sizeof(*space));
    space->refused_until_ms = INT64_MIN;
    TAILQ_INIT(&space->faults);
    TAILQ_INSERT_TAIL(&queue->turns, space, turn);
    return space;
}

/* Frees the namespace, unless it has faults, or its writes or refusal still count. Without the
 * latter, a fault that comes and goes would be written as often as it comes. */
static void forget_event_space(struct event_queue *queue, struct event_space *space, int64_t now_ms)
{
    int64_t last_ms =
        space->write_count
            ? space->writes[(space->write_count - 1) % EVENT_NAMESPACE_WRITES_PER_MINUTE]
            : INT64_MIN;
    bool is_quiet = !space->write_count || last_ms + EVENT_MINUTE_MS <= now_ms;
    if (space->count || !is_quiet || space->refused_until_ms > now_ms) {
        return;
    }
    TAILQ_REMOVE(&queue->turns, space, turn);
    (void)key_table_take(&queue->spaces, space->ns);
    free(space);
}

/* ---- Faults ---- */

static void free_event_entry(struct event_queue *queue, struct event_entry *entry)
{
    struct event_space *space = entry->space;
    TAILQ_REMOVE(&space->faults, entry, entry);
    space->count--;
    queue->waiting -= !entry->is_created;
    queue->writing = queue->writing == entry ? NULL : queue->writing;
    (void)key_table_take(&queue->entries, entry->id);
    free(entry->note);
    free(entry);
}

static void set_event_created(struct event_queue *queue, struct event_entry *entry, bool is_created)
{
    queue->waiting += entry->is_created && !is_created;
    queue->waiting -= !entry->is_created && is_created;
    entry->is_created = is_created;
}

/* Makes room for a fault of a namespace with `count` others, from a namespace with more. */
static bool make_event_room(struct event_queue *queue, size_t count)
{
    struct event_space *most = TAILQ_FIRST(&queue->turns), *space;
    TAILQ_FOREACH (space, &queue->turns, turn) {
        most = space->count > most->count ? space : most;
    }
    queue->left_out++;
    if (most->count <= count + 1) {
        return false;
    }
    free_event_entry(queue, TAILQ_LAST(&most->faults, event_faults));
    return true;
}

static struct event_entry *add_event_entry(struct event_queue *queue,
                                           const struct event_object *object, struct slice id,
                                           int64_t now_ms)
{
    struct event_space *space = get_event_space(queue, object->ns);
    if (queue->entries.count >= EVENT_QUEUE_MAX && !make_event_room(queue, space->count)) {
        forget_event_space(queue, space, now_ms);
        return NULL;
    }
    struct event_entry *entry = key_table_add(&queue->entries, id, sizeof(*entry));
    entry->space = space;
    entry->kind = (uint8_t)object->kind;
    entry->found_ms = now_ms;
    entry->written_ms = INT64_MIN / 2;
    entry->due_ms = now_ms;
    TAILQ_INSERT_TAIL(&space->faults, entry, entry);
    space->count++;
    queue->waiting++;
    return entry;
}

/* Replaces the note. Events cannot be changed but for their series: another note is another event.
 */
static void set_event_note(struct event_queue *queue, struct event_entry *entry, unsigned place,
                           const char *note, int64_t now_ms)
{
    size_t len = strlen(note);
    len = len < EVENT_NOTE_MAX ? len : EVENT_NOTE_MAX;
    bool is_same =
        entry->note && strlen(entry->note) == len && strncmp(entry->note, note, len) == 0;
    bool is_spoken_for = entry->places >> entry->note_place & 1 && entry->note_place != place;
    if (is_same || (entry->note && is_spoken_for)) {
        return;
    }
    if (entry->note) {
        set_event_created(queue, entry, false);
        entry->count = 0;
        entry->found_ms = now_ms;
        queue->writing = queue->writing == entry ? NULL : queue->writing;
    }
    free(entry->note);
    entry->note = xstrndup(note, len);
    entry->note_place = (uint8_t)place;
}

static void find_event_fault(struct event_queue *queue, struct event_entry *entry, unsigned place,
                             const char *note, int64_t now_ms)
{
    set_event_note(queue, entry, place, note, now_ms);
    entry->places |= UINT32_C(1) << place;
    entry->count += entry->count < UINT32_MAX;
    entry->last_ms = now_ms;
    entry->was_found_again = true;
    if (entry->written_ms + EVENT_REPEAT_MS < entry->due_ms) {
        entry->due_ms = entry->written_ms + EVENT_REPEAT_MS;
    }
}

void event_queue_note(struct event_queue *queue, const struct event_object *object,
                      enum event_reason reason, unsigned place, const char *note, int64_t now_ms)
{
    assert(place < EVENT_PLACES_MAX);
    if (!note && !queue->entries.count) {
        return;
    }
    char *text =
        xasprintf("%c%c%.*s/%.*s", 'a' + (int)object->kind, 'a' + (int)reason, (int)object->ns.len,
                  object->ns.ptr, (int)object->name.len, object->name.ptr);
    struct slice id = slice_str(text);
    struct event_entry *entry = key_table_find(&queue->entries, id);
    if (note && !entry) {
        entry = add_event_entry(queue, object, id, now_ms);
    }
    if (note && entry) {
        entry->reason = (uint8_t)reason;
        find_event_fault(queue, entry, place, note, now_ms);
        queue->has_news = true;
    } else if (entry) {
        entry->places &= ~(UINT32_C(1) << place);
        if (!entry->places) {
            struct event_space *space = entry->space;
            free_event_entry(queue, entry);
            forget_event_space(queue, space, now_ms);
        }
    }
    free(text);
}

bool event_object_of(struct slice id, struct event_object *ret_object)
{
    static const struct {
        const char *prefix;
        enum kube_kind kind;
    } prefixes[] = {{SERVICE_PREFIX, KUBE_SERVICE},
                    {ALIAS_PREFIX, KUBE_SERVICE},
                    {"ingress/", KUBE_INGRESS},
                    {"httproute/", KUBE_ROUTE}};
    size_t i = 0;
    while (i < ARRAY_LEN(prefixes) && !slice_has_prefix(id, slice_str(prefixes[i].prefix))) {
        i++;
    }
    if (i == ARRAY_LEN(prefixes)) {
        return false;
    }
    size_t from = strlen(prefixes[i].prefix);
    struct slice rest = slice_skip(id, from);
    struct slice ns = slice_cut(&rest, '/');
    *ret_object =
        (struct event_object){.kind = prefixes[i].kind, .ns = ns, .name = slice_cut(&rest, ' ')};
    return ns.len > 0 && ret_object->name.len > 0;
}

/* ---- Writing ---- */

/* Returns the namespace's fault that has been due longest; NULL: it has none. */
static struct event_entry *first_due(const struct event_space *space)
{
    struct event_entry *first = TAILQ_FIRST(&space->faults), *entry;
    TAILQ_FOREACH (entry, &space->faults, entry) {
        first = entry->due_ms < first->due_ms ? entry : first;
    }
    return first;
}

/* Returns the next namespace that has a due fault and may write; NULL: none. Forgets namespaces
 * that have nothing more. */
static struct event_space *next_event_space(struct event_queue *queue, int64_t now_ms)
{
    for (size_t left = queue->spaces.count; left > 0; left--) {
        struct event_space *space = TAILQ_FIRST(&queue->turns);
        const struct event_entry *entry = first_due(space);
        TAILQ_REMOVE(&queue->turns, space, turn);
        TAILQ_INSERT_TAIL(&queue->turns, space, turn);
        if (!entry) {
            forget_event_space(queue, space, now_ms);
        } else if (entry->due_ms <= now_ms && event_space_free_ms(space) <= now_ms) {
            return space;
        }
    }
    return NULL;
}

bool event_queue_next(struct event_queue *queue, int64_t now_ms, struct event_write *ret_write)
{
    bool may_write = !queue->is_writing && ring_free_ms(queue->writes, EVENT_WRITES_PER_MINUTE,
                                                        queue->write_count) <= now_ms;
    struct event_space *space = may_write ? next_event_space(queue, now_ms) : NULL;
    if (!space) {
        return false;
    }
    struct event_entry *entry = first_due(space);
    struct slice id = entry->id;
    size_t name_at = ID_PREFIX_LEN + space->ns.len + 1;
    queue->writes[queue->write_count++ % EVENT_WRITES_PER_MINUTE] = now_ms;
    space->writes[space->write_count++ % EVENT_NAMESPACE_WRITES_PER_MINUTE] = now_ms;
    queue->is_writing = true;
    queue->writing = entry;
    if (entry->is_created && !entry->was_found_again) { /* it stays */
        entry->count += entry->count < UINT32_MAX;
        entry->last_ms = now_ms;
    }
    entry->was_found_again = false;
    *ret_write = (struct event_write){
        .object = {.kind = (enum kube_kind)entry->kind,
                   .ns = space->ns,
                   .name = slice_skip(id, name_at)},
        .reason = (enum event_reason)entry->reason,
        .note = entry->note,
        .is_created = entry->is_created,
        .event = entry->event,
        .count = entry->count,
        .found_ms = entry->found_ms,
        .last_ms = entry->last_ms,
    };
    return true;
}

static void note_event_written(struct event_queue *queue, struct event_entry *entry, uint64_t event,
                               int64_t now_ms)
{
    set_event_created(queue, entry, true);
    entry->event = event;
    entry->written_ms = now_ms;
    entry->due_ms = now_ms + (entry->was_found_again ? EVENT_REPEAT_MS : EVENT_STANDING_MS);
}

void event_queue_done(struct event_queue *queue, enum event_outcome outcome, uint64_t event,
                      int64_t now_ms)
{
    struct event_entry *entry = queue->writing;
    assert(queue->is_writing);
    queue->is_writing = false;
    queue->writing = NULL;
    if (!entry) {
        return;
    }
    switch (outcome) {
    case EVENT_WRITTEN:
        note_event_written(queue, entry, event, now_ms);
        break;
    case EVENT_EXISTS:
        set_event_created(queue, entry, true);
        entry->event = event;
        entry->was_found_again = true; /* by an earlier process */
        entry->count = entry->count > 1 ? entry->count : 2;
        entry->due_ms = now_ms;
        break;
    case EVENT_MISSING:
        set_event_created(queue, entry, false);
        entry->due_ms = now_ms;
        break;
    case EVENT_FAILED:
        entry->due_ms = now_ms;
        break;
    case EVENT_REFUSED:
        entry->space->refused_until_ms = now_ms + EVENT_REFUSED_MS;
        break;
    case EVENT_USELESS:
        free_event_entry(queue, entry);
        break;
    }
}

int64_t event_queue_wait_ms(const struct event_queue *queue, int64_t now_ms)
{
    int64_t all_ms = ring_free_ms(queue->writes, EVENT_WRITES_PER_MINUTE, queue->write_count);
    int64_t next_ms = INT64_MAX;
    const struct event_space *space;
    for (size_t at = 0; (space = key_table_next(&queue->spaces, &at)); at++) {
        const struct event_entry *entry = first_due(space);
        if (entry) {
            int64_t free_ms = event_space_free_ms(space);
            int64_t due_ms = entry->due_ms > free_ms ? entry->due_ms : free_ms;
            next_ms = due_ms < next_ms ? due_ms : next_ms;
        }
    }
    next_ms = next_ms > all_ms ? next_ms : all_ms;
    return !queue->entries.count ? -1 : next_ms > now_ms ? next_ms - now_ms : 0;
}

bool event_queue_take_news(struct event_queue *queue)
{
    bool has_news = queue->has_news;
    queue->has_news = false;
    return has_news;
}

struct event_queue_counts event_queue_count(const struct event_queue *queue)
{
    return (struct event_queue_counts){
        .known = queue->entries.count, .waiting = queue->waiting, .left_out = queue->left_out};
}
