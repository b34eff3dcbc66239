/* event_queue: one event for an object and a reason, a limited number of writes, and turns. */
#include "kube2sky/naming/event_queue.h"

#include "common/base/buf.h"
#include "tests/support/unit_test.h"

/* A queue with a clock of its own, and its writes as text. */
struct queue_bed {
    struct event_queue *queue;
    int64_t now_ms;
    struct buf told;
};

static void queue_bed_start(struct queue_bed *bed)
{
    bed->queue = event_queue_new();
    bed->now_ms = 1000;
    buf_init(&bed->told, 1 << 20);
}

static void queue_bed_stop(struct queue_bed *bed)
{
    event_queue_free(bed->queue);
    buf_fini(&bed->told);
}

UNIT_FIXTURE(struct queue_bed, queue_bed_start, queue_bed_stop)

static void note_at(struct queue_bed *bed, const char *id, enum event_reason reason, unsigned place,
                    const char *note)
{
    struct event_object object;
    assert_true(event_object_of(slice_str(id), &object));
    event_queue_note(bed->queue, &object, reason, place, note, bed->now_ms);
}

static void note_port(struct queue_bed *bed, const char *id, const char *note)
{
    note_at(bed, id, EVENT_INVALID_PORT, EVENT_FROM_OBJECT, note);
}

/* Makes one write; returns whether there was one. */
static bool write_event_due(struct queue_bed *bed, enum event_outcome outcome)
{
    struct event_write write;
    if (!event_queue_next(bed->queue, bed->now_ms, &write)) {
        return false;
    }
    buf_printf(&bed->told, "%s %.*s/%.*s %s x%u ", write.is_created ? "patch" : "create",
               (int)write.object.ns.len, write.object.ns.ptr, (int)write.object.name.len,
               write.object.name.ptr, event_reason_name(write.reason), (unsigned)write.count);
    event_queue_done(bed->queue, outcome, 7, bed->now_ms);
    return true;
}

static size_t write_events_due(struct queue_bed *bed)
{
    size_t count = 0;
    while (write_event_due(bed, EVENT_WRITTEN)) {
        count++;
    }
    return count;
}

static void expect_told(struct queue_bed *bed, const char *want)
{
    assert_string_equal(buf_cstr(&bed->told), want);
    buf_clear(&bed->told);
}

static void note_services(struct queue_bed *bed, const char *ns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *id = xasprintf("svc/%s/s%zu", ns, i);
        note_port(bed, id, "port name `x`: cannot be part of a key");
    }
}

UNIT_TEST_ON(test_created_once_then_counted, struct queue_bed *bed)
{
    assert_int_equal(event_queue_wait_ms(bed->queue, bed->now_ms), -1);
    note_port(bed, "svc/prod/web", "a");
    assert_true(event_queue_take_news(bed->queue));
    assert_false(event_queue_take_news(bed->queue));
    assert_int_equal(event_queue_wait_ms(bed->queue, bed->now_ms), 0);
    assert_int_equal(write_events_due(bed), 1);
    expect_told(bed, "create prod/web InvalidPort x1 ");
    note_port(bed, "svc/prod/web", "a");
    note_port(bed, "svc/prod/web", "a");
    assert_int_equal(write_events_due(bed), 0);
    assert_int_equal(event_queue_wait_ms(bed->queue, bed->now_ms), EVENT_REPEAT_MS);
    bed->now_ms += EVENT_REPEAT_MS;
    assert_int_equal(write_events_due(bed), 1);
    expect_told(bed, "patch prod/web InvalidPort x3 ");
}

UNIT_TEST_ON(test_a_fault_that_stays_is_told_again, struct queue_bed *bed)
{
    note_port(bed, "svc/prod/web", "a");
    assert_int_equal(write_events_due(bed), 1);
    assert_int_equal(event_queue_wait_ms(bed->queue, bed->now_ms), EVENT_STANDING_MS);
    bed->now_ms += EVENT_STANDING_MS - 1;
    assert_int_equal(write_events_due(bed), 0);
    bed->now_ms += 1;
    assert_int_equal(write_events_due(bed), 1);
    expect_told(bed, "create prod/web InvalidPort x1 patch prod/web InvalidPort x2 ");
}

UNIT_TEST_ON(test_gone_is_forgotten, struct queue_bed *bed)
{
    note_port(bed, "svc/prod/web", "a");
    note_port(bed, "svc/prod/web", NULL);
    assert_int_equal(write_events_due(bed), 0);
    assert_int_equal(event_queue_count(bed->queue).known, 0);
    assert_int_equal(event_queue_count(bed->queue).waiting, 0);

    struct event_write write; /* while it is being written, too */
    note_port(bed, "svc/prod/web", "a");
    assert_true(event_queue_next(bed->queue, bed->now_ms, &write));
    note_port(bed, "svc/prod/web", NULL);
    event_queue_done(bed->queue, EVENT_WRITTEN, 7, bed->now_ms);
    assert_int_equal(event_queue_wait_ms(bed->queue, bed->now_ms), -1);
}

UNIT_TEST_ON(test_a_fault_ends_at_all_places, struct queue_bed *bed)
{
    note_at(bed, "svc/prod/web", EVENT_TOO_MANY_RECORDS, EVENT_FROM_OBJECT, "a");
    note_at(bed, "alias/prod/web", EVENT_TOO_MANY_RECORDS, EVENT_FROM_ALIASES_PLAN, "b");
    assert_int_equal(event_queue_count(bed->queue).known, 1);
    note_at(bed, "svc/prod/web", EVENT_TOO_MANY_RECORDS, EVENT_FROM_OBJECT, NULL);
    assert_int_equal(event_queue_count(bed->queue).known, 1);
    note_at(bed, "alias/prod/web", EVENT_TOO_MANY_RECORDS, EVENT_FROM_ALIASES_PLAN, NULL);
    assert_int_equal(event_queue_count(bed->queue).known, 0);
}

/* The server changes nothing but the series: another note needs another event. */
UNIT_TEST_ON(test_another_note_is_another_event, struct queue_bed *bed)
{
    note_port(bed, "svc/prod/web", "a");
    note_at(bed, "svc/prod/web", EVENT_INVALID_PORT, EVENT_FROM_PLAN, "of another place");
    assert_int_equal(write_events_due(bed), 1);
    note_port(bed, "svc/prod/web", "b");
    assert_int_equal(write_events_due(bed), 0);
    bed->now_ms += EVENT_REPEAT_MS;
    assert_int_equal(write_events_due(bed), 1);
    expect_told(bed, "create prod/web InvalidPort x2 create prod/web InvalidPort x1 ");
    assert_int_equal(event_queue_count(bed->queue).known, 1);
}

UNIT_TEST_ON(test_what_the_server_says, struct queue_bed *bed)
{
    note_port(bed, "svc/prod/web", "a");
    assert_true(write_event_due(bed, EVENT_FAILED));
    assert_true(write_event_due(bed, EVENT_EXISTS));
    assert_true(write_event_due(bed, EVENT_MISSING));
    assert_true(write_event_due(bed, EVENT_WRITTEN));
    assert_false(write_event_due(bed, EVENT_WRITTEN));
    expect_told(bed, "create prod/web InvalidPort x1 create prod/web InvalidPort x1 "
                     "patch prod/web InvalidPort x2 create prod/web InvalidPort x2 ");
    note_port(bed, "svc/prod/db", "a");
    assert_true(write_event_due(bed, EVENT_USELESS));
    assert_int_equal(event_queue_count(bed->queue).known, 1);
}

UNIT_TEST_ON(test_a_refused_namespace_waits_alone, struct queue_bed *bed)
{
    note_port(bed, "svc/closed/web", "a");
    assert_true(write_event_due(bed, EVENT_REFUSED));
    note_port(bed, "svc/closed/db", "a");
    note_port(bed, "svc/open/web", "a");
    buf_clear(&bed->told);
    assert_int_equal(write_events_due(bed), 1);
    expect_told(bed, "create open/web InvalidPort x1 ");
    bed->now_ms += EVENT_REFUSED_MS;
    assert_int_equal(write_events_due(bed), 2);
}

/* Whatever the number of faults, in any minute; and a namespace whose faults come and go. */
UNIT_TEST_ON(test_writes_of_a_minute, struct queue_bed *bed)
{
    note_services(bed, "broken", 1000);
    assert_int_equal(write_events_due(bed), EVENT_NAMESPACE_WRITES_PER_MINUTE);
    bed->now_ms += EVENT_MINUTE_MS - 1;
    assert_int_equal(write_events_due(bed), 0);
    assert_int_equal(event_queue_wait_ms(bed->queue, bed->now_ms), 1);
    bed->now_ms += 1;
    assert_int_equal(write_events_due(bed), EVENT_NAMESPACE_WRITES_PER_MINUTE);

    for (size_t i = 0; i < 1000; i++) {
        CLEANUP_FREE char *id = xasprintf("svc/broken/s%zu", i);
        note_port(bed, id, NULL);
    }
    note_port(bed, "svc/broken/again", "a");
    assert_int_equal(write_events_due(bed), 0);
}

UNIT_TEST_ON(test_a_thousand_services_in_many_namespaces, struct queue_bed *bed)
{
    size_t first_minute = 0, written = 0;
    for (size_t i = 0; i < 100; i++) {
        CLEANUP_FREE char *ns = xasprintf("n%zu", i);
        note_services(bed, ns, 10);
    }
    for (; bed->now_ms < 1000 + EVENT_MINUTE_MS; bed->now_ms += 100) {
        first_minute += write_events_due(bed);
    }
    assert_int_equal(first_minute, EVENT_WRITES_PER_MINUTE);
    for (written = first_minute; written < 1000; bed->now_ms += EVENT_MINUTE_MS) {
        size_t count = write_events_due(bed);
        assert_in_range(count, 1, EVENT_WRITES_PER_MINUTE);
        written += count;
    }
    assert_int_equal(event_queue_count(bed->queue).waiting, 0);
    assert_int_equal(bed->now_ms / EVENT_MINUTE_MS, (1000 + 59) / 60);
}

UNIT_TEST_ON(test_namespaces_take_turns, struct queue_bed *bed)
{
    note_services(bed, "large", 1000);
    note_port(bed, "svc/small/web", "a");
    note_port(bed, "ingress/other/shop", "a");
    assert_true(write_event_due(bed, EVENT_WRITTEN) && write_event_due(bed, EVENT_WRITTEN) &&
                write_event_due(bed, EVENT_WRITTEN));
    assert_non_null(strstr(buf_cstr(&bed->told), "small/web"));
    assert_non_null(strstr(buf_cstr(&bed->told), "other/shop"));
    assert_non_null(strstr(buf_cstr(&bed->told), "large/s0"));
}

/* New faults come before repetitions, of which there may be more than writes. */
UNIT_TEST_ON(test_new_before_repeated, struct queue_bed *bed)
{
    note_services(bed, "prod", EVENT_NAMESPACE_WRITES_PER_MINUTE);
    assert_int_equal(write_events_due(bed), EVENT_NAMESPACE_WRITES_PER_MINUTE);
    bed->now_ms += EVENT_MINUTE_MS;
    note_services(bed, "prod", EVENT_NAMESPACE_WRITES_PER_MINUTE);
    note_port(bed, "svc/prod/new", "a");
    buf_clear(&bed->told);
    assert_true(write_event_due(bed, EVENT_WRITTEN));
    expect_told(bed, "create prod/new InvalidPort x1 ");
}

/* The namespace that has most gives way, and what is left out is counted. */
UNIT_TEST_ON(test_a_full_queue, struct queue_bed *bed)
{
    note_services(bed, "large", EVENT_QUEUE_MAX + 5);
    assert_int_equal(event_queue_count(bed->queue).known, EVENT_QUEUE_MAX);
    assert_int_equal(event_queue_count(bed->queue).left_out, 5);
    note_services(bed, "small", 3);
    assert_int_equal(event_queue_count(bed->queue).known, EVENT_QUEUE_MAX);
    assert_int_equal(event_queue_count(bed->queue).left_out, 8);
    assert_int_equal(event_queue_count(bed->queue).waiting, EVENT_QUEUE_MAX);
    (void)write_events_due(bed);
    assert_non_null(strstr(buf_cstr(&bed->told), "small/s2"));
}

UNIT_TEST_ON(test_long_notes_are_cut, struct queue_bed *bed)
{
    struct event_write write;
    char note[2 * EVENT_NOTE_MAX];
    memset(note, 'x', sizeof(note) - 1);
    note[sizeof(note) - 1] = '\0';
    note_port(bed, "svc/prod/web", note);
    note_port(bed, "svc/prod/web", note);
    assert_true(event_queue_next(bed->queue, bed->now_ms, &write));
    assert_int_equal(strlen(write.note), EVENT_NOTE_MAX);
    assert_int_equal(write.count, 2);
}

UNIT_TEST_ON(test_objects_of_ids, struct queue_bed *bed)
{
    static const struct {
        const char *id, *want;
    } cases[] = {
        {"svc/prod/web", "services prod web"},
        {"alias/prod/web", "services prod web"},
        {"ingress/prod/shop.eu", "ingresses prod shop.eu"},
        {"httproute/prod/shop via infra/public", "httproutes prod shop"},
        {"pod/prod/10-0-0-1", ""},
        {"node/a", ""},
        {"ConfigMap", ""},
        {"svc/prod", ""},
        {"svc/prod/", ""},
        {"svc//web", ""},
        {"svc/", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct event_object object;
        CLEANUP_FREE char *got = event_object_of(slice_str(cases[i].id), &object)
                                     ? xasprintf("%s %.*s %.*s",
                                                 object.kind == KUBE_SERVICE   ? "services"
                                                 : object.kind == KUBE_INGRESS ? "ingresses"
                                                                               : "httproutes",
                                                 (int)object.ns.len, object.ns.ptr,
                                                 (int)object.name.len, object.name.ptr)
                                     : xstrdup("");
        assert_string_equal(got, cases[i].want);
    }
}
