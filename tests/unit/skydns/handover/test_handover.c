/* The place where two skydns meet, the sockets that one passes to the other, and their meeting,
 * both in this process. tests/integration/test_handover.py has the programs. */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/sockets.h"
#include "skydns/handover/handover.h"
#include "skydns/handover/handover_join_internal.h"
#include "skydns/handover/handover_offer.h"
#include "skydns/handover/handover_place.h"
#include "tests/support/log_capture.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

static int handover_test_place(void **state)
{
    static char folder[sizeof("/tmp/handover-XXXXXX")];
    static struct handover_place place;
    char snapshot[64];
    struct err err;
    const struct addr address = loopback_addr(53);
    (void)snprintf(folder, sizeof(folder), "/tmp/handover-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(snapshot, sizeof(snapshot), "%s/snapshot", folder);
    assert_int_equal(handover_place_find(snapshot, &address, geteuid(), &place, &err), 0);
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    const struct handover_place *place = *state;
    char folder[sizeof("/tmp/handover-XXXXXX")];
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)sizeof(folder) - 1, place->socket);
    (void)unlink(place->socket);
    (void)unlink(place->key);
    return rmdir(folder);
}

UNIT_TESTS_EACH(handover_test_place, remove_place)
UNIT_TESTS_HAVE_THREADS

/* ---- The place ---- */

UNIT_TEST(test_a_path_too_long_for_a_socket)
{
    char snapshot[128];
    struct handover_place place;
    struct err err;
    const struct addr address = loopback_addr(53);
    memset(snapshot, 'a', sizeof(snapshot));
    snapshot[sizeof(snapshot) - 1] = '\0';
    assert_int_equal(handover_place_find(snapshot, &address, 0, &place, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "too long for a Unix socket beside it"));
}

UNIT_TEST(test_the_secret_is_made_once)
{
    const struct handover_place *place = *state;
    uint8_t first[HANDOVER_SECRET_SIZE], second[HANDOVER_SECRET_SIZE];
    struct err err;
    struct stat st;
    assert_int_equal(handover_place_read_key(place, first, &err), -ENOENT);
    assert_int_equal(handover_place_make_key(place, first, &err), 0);
    assert_int_equal(stat(place->key, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(handover_place_make_key(place, second, &err), 0);
    assert_memory_equal(first, second, sizeof(first));
}

UNIT_TEST(test_a_secret_that_others_can_read_is_replaced)
{
    const struct handover_place *place = *state;
    uint8_t first[HANDOVER_SECRET_SIZE], second[HANDOVER_SECRET_SIZE];
    struct err err;
    assert_int_equal(handover_place_make_key(place, first, &err), 0);
    assert_int_equal(chmod(place->key, 0644), 0);
    assert_int_equal(handover_place_read_key(place, second, &err), ERR_SYNTAX);
    assert_int_equal(handover_place_make_key(place, second, &err), 0);
    assert_memory_not_equal(first, second, sizeof(first));
}

/* ---- Sockets ---- */

static bool is_descriptor_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

UNIT_TEST(test_sockets_are_what_their_codes_say)
{
    struct passed_sockets sockets = {.count = 0};
    struct addr address;
    int listener = loopback_listen(&address);
    int wrong = fcntl(listener, F_DUPFD_CLOEXEC, 0), unknown = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    passed_sockets_take(&sockets, passed_code(ENGINE_UDP), wrong);
    passed_sockets_take(&sockets, '?', unknown);
    passed_sockets_take(&sockets, passed_code(ENGINE_TCP), file);
    assert_int_equal(sockets.count, 0);
    assert_false(is_descriptor_open(wrong) || is_descriptor_open(unknown) ||
                 is_descriptor_open(file));
    passed_sockets_take(&sockets, passed_code(ENGINE_TCP), listener);
    assert_int_equal(sockets.count, 1);
    assert_int_equal(passed_sockets_find(&sockets, 't', &address, 0), listener);
    assert_int_equal(passed_sockets_find(&sockets, 't', &address, 1), -1);
    assert_int_equal(passed_sockets_find(&sockets, 's', &address, 0), -1);
    assert_int_equal(passed_sockets_find(NULL, 't', &address, 0), -1);
    assert_int_equal(passed_sockets_count(&sockets, 't', &address), 1);
    passed_sockets_close(&sockets);
    assert_false(is_descriptor_open(listener));
}

UNIT_TEST(test_no_more_sockets_than_there_is_room_for)
{
    struct passed_sockets sockets = {.count = 0};
    struct addr address;
    int listener = loopback_listen(&address);
    for (size_t i = 0; i < PASSED_SOCKETS_MAX + 2; i++) {
        passed_sockets_take(&sockets, 't', fcntl(listener, F_DUPFD_CLOEXEC, 0));
    }
    assert_int_equal(sockets.count, PASSED_SOCKETS_MAX);
    passed_sockets_close(&sockets);
    assert_int_equal(close(listener), 0);
}

/* ---- The meeting ---- */

struct meeting {
    const struct handover_place *place;
    struct ev_loop *loop;
    struct passed_sockets offered;
    struct addr address;
    struct handover_offer *offer;
    pid_t taken_by;
};

static void meeting_note_taken(void *data, pid_t process)
{
    struct meeting *meeting = data;
    meeting->taken_by = process;
}

static void begin_meeting(struct meeting *m, const struct handover_place *place)
{
    struct err err;
    *m = (struct meeting){.place = place, .loop = ev_loop_new(0)};
    int listener = loopback_listen(&m->address);
    passed_sockets_add(&m->offered, 't', listener, &m->address);
    const struct handover_offer_config config = {.loop = m->loop,
                                                 .place = place,
                                                 .sockets = &m->offered,
                                                 .taken = meeting_note_taken,
                                                 .data = m};
    assert_int_equal(handover_offer_new(&config, &m->offer, &err), 0);
}

static void end_meeting(struct meeting *m)
{
    handover_offer_free(m->offer);
    passed_sockets_close(&m->offered);
    ev_loop_destroy(m->loop);
}

struct joining {
    const struct handover_place *place;
    struct passed_sockets sockets;
    struct handover_join *join;
    struct err err;
    int result;
};

static void *join_thread(void *data)
{
    struct joining *joining = data;
    joining->result = handover_join_new(joining->place, geteuid(), &joining->sockets,
                                        &joining->join, &joining->err);
    return NULL;
}

/* Joins from another thread, as it blocks until this one has answered. */
static void join_meeting(struct meeting *m, struct joining *joining)
{
    pthread_t thread;
    *joining = (struct joining){.place = m->place};
    assert_int_equal(pthread_create(&thread, NULL, join_thread, joining), 0);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        ev_run(m->loop, EVRUN_NOWAIT);
    }
}

static void leave_meeting(struct joining *joining)
{
    handover_join_free(joining->join);
    passed_sockets_close(&joining->sockets);
}

UNIT_TEST(test_nobody_is_there)
{
    struct joining joining = {.place = *state};
    (void)join_thread(&joining);
    assert_int_equal(joining.result, 0);
    assert_null(joining.join);
}

UNIT_TEST(test_the_sockets_are_passed_and_taken)
{
    CLEANUP(end_meeting) struct meeting m;
    struct joining joining;
    begin_meeting(&m, *state);
    join_meeting(&m, &joining);
    assert_int_equal(joining.result, 0);
    assert_int_equal(handover_join_process(joining.join), getpid());
    assert_int_equal(passed_sockets_count(&joining.sockets, 't', &m.address), 1);
    assert_int_equal(handover_join_look(joining.join, &joining.err), 0);
    assert_int_equal(m.taken_by, 0);
    assert_true(handover_join_serving(joining.join));
    while (m.taken_by == 0) {
        ev_run(m.loop, EVRUN_ONCE);
    }
    assert_int_equal(m.taken_by, getpid());
    leave_meeting(&joining);
    join_meeting(&m, &joining);
    assert_int_equal(joining.result, ERR_REFUSED);
    assert_non_null(strstr(joining.err.msg, "handed over to another skydns already"));
}

UNIT_TEST(test_a_later_one_takes_the_place)
{
    CLEANUP(end_meeting) struct meeting m;
    struct joining first, second;
    begin_meeting(&m, *state);
    join_meeting(&m, &first);
    join_meeting(&m, &second);
    assert_int_equal(second.result, 0);
    assert_int_equal(handover_join_look(first.join, &first.err), ERR_REFUSED);
    assert_non_null(strstr(first.err.msg, "a later skydns"));
    leave_meeting(&first);
    leave_meeting(&second);
}

UNIT_TEST(test_the_end_of_the_running_one_is_seen)
{
    struct meeting m;
    struct joining joining;
    begin_meeting(&m, *state);
    join_meeting(&m, &joining);
    end_meeting(&m);
    assert_int_equal(handover_join_look(joining.join, &joining.err), 1);
    assert_false(handover_join_serving(joining.join));
    leave_meeting(&joining);
}

UNIT_TEST(test_a_wrong_secret)
{
    const struct handover_place *place = *state;
    uint8_t secret[HANDOVER_SECRET_SIZE];
    CLEANUP(end_meeting) struct meeting m;
    struct joining joining;
    struct err err;
    begin_meeting(&m, place);
    assert_int_equal(unlink(place->key), 0);
    assert_int_equal(handover_place_make_key(place, secret, &err), 0);
    join_meeting(&m, &joining);
    assert_int_equal(joining.result, ERR_REFUSED);
    assert_non_null(strstr(joining.err.msg, "wrong secret"));
    assert_int_equal(handover_offer_refused(m.offer), 1);
}

/* ---- Two processes, as main() has them ---- */

struct starting {
    struct ev_loop *loop;
    const struct handover_place *place;
    struct handover *handover;
    struct err err;
    int result;
};

static void *start_thread(void *data)
{
    struct starting *s = data;
    s->result = handover_open(s->loop, s->place, geteuid(), &s->handover, &s->err);
    return NULL;
}

/* Starts as the next one, whose sockets the running one's loop gives it. */
static void join_as_next(struct meeting *running, struct starting *next)
{
    pthread_t thread;
    *next = (struct starting){.loop = ev_loop_new(0), .place = running->place};
    assert_int_equal(pthread_create(&thread, NULL, start_thread, next), 0);
    while (pthread_tryjoin_np(thread, NULL) != 0) {
        ev_run(running->loop, EVRUN_NOWAIT);
    }
    assert_int_equal(next->result, 0);
    assert_true(handover_is_joined(next->handover));
    assert_int_equal(passed_sockets_count(handover_passed(next->handover), 't', &running->address),
                     1);
}

static void end_next(struct starting *next)
{
    handover_free(next->handover);
    ev_loop_destroy(next->loop);
}

/* The first one has nobody to ask, and offers its sockets. */
UNIT_TEST(test_the_first_process)
{
    struct starting first = {.loop = ev_loop_new(0), .place = *state};
    struct meeting m = {.loop = first.loop, .place = first.place};
    struct starting next;
    struct err err;
    (void)start_thread(&first);
    assert_int_equal(first.result, 0);
    assert_false(handover_is_joined(first.handover));
    assert_null(handover_passed(first.handover));
    assert_null(handover_its_offer(first.handover));
    passed_sockets_add(&m.offered, 't', loopback_listen(&m.address), &m.address);
    assert_int_equal(handover_serve(first.handover, &m.offered, meeting_note_taken, &m, &err), 0);
    assert_non_null(handover_its_offer(first.handover));
    join_as_next(&m, &next);
    assert_int_equal(handover_look(next.handover, &err), 0);
    assert_int_equal(m.taken_by, 0); /* it answers until the next one serves */
    handover_opened(next.handover);
    assert_null(handover_passed(next.handover));
    assert_int_equal(handover_serve(next.handover, &m.offered, meeting_note_taken, &m, &err), 0);
    assert_false(handover_is_joined(next.handover));
    while (m.taken_by == 0) {
        ev_run(m.loop, EVRUN_ONCE);
    }
    assert_int_equal(m.taken_by, getpid());
    end_next(&next);
    handover_free(first.handover);
    end_meeting(&m);
    assert_null(handover_passed(NULL));
    assert_null(handover_its_offer(NULL));
    assert_false(handover_is_joined(NULL));
}

/* The running one ends before the next one serves: that is told, and the loop wakes up for it. */
UNIT_TEST(test_the_next_process_is_left_alone)
{
    struct meeting m;
    CLEANUP(end_next) struct starting next;
    struct log_capture capture;
    begin_meeting(&m, *state);
    join_as_next(&m, &next);
    assert_true(ev_run(next.loop, EVRUN_NOWAIT)); /* it watches */
    end_meeting(&m);
    ev_run(next.loop, EVRUN_ONCE);
    log_capture_begin(&capture);
    assert_int_equal(handover_look(next.handover, &next.err), 0);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "the other skydns has ended"), 1);
    assert_false(handover_is_joined(next.handover));
}

/* After a handover, a place that cannot be used is no error: nobody else answers. */
UNIT_TEST(test_the_next_process_cannot_offer)
{
    struct meeting m;
    struct starting next;
    struct log_capture capture;
    struct err err;
    struct handover_place place = *(const struct handover_place *)*state;
    begin_meeting(&m, &place);
    join_as_next(&m, &next);
    (void)snprintf(place.socket, sizeof(place.socket), "/nowhere/socket"); /* as next has it, too */
    log_capture_begin(&capture);
    assert_int_equal(handover_serve(next.handover, &m.offered, meeting_note_taken, &m, &err), 0);
    const char *log = log_capture_end(&capture);
    assert_int_equal(log_occurrences(log, "no other skydns can take the addresses over"), 1);
    end_next(&next);
    end_meeting(&m);
    CLEANUP(end_next) struct starting first = {.loop = ev_loop_new(0), .place = &place};
    (void)start_thread(&first);
    assert_int_equal(first.result, 0);
    assert_true(handover_serve(first.handover, &m.offered, meeting_note_taken, &m, &err) < 0);
}
