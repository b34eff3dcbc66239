/* Sockets, workers and resolver as assembled by main(), over a record store without etcd, and
 * clients of them. */
#ifndef TESTS_UNIT_SKYDNS_ANSWERING_BED_H
#define TESTS_UNIT_SKYDNS_ANSWERING_BED_H

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "common/base/clock.h"
#include "common/dns/dns.h"
#include "skydns/answering.h"
#include "skydns/publish/publisher.h"
#include "tests/support/loopback.h"
#include "tests/support/skydns/questions.h"
#include "tests/support/skydns/services.h"
#include "tests/support/unit_test.h"

enum { SERVICES = 3, WORKERS = 2, TIMEOUT_S = 60, ATTEMPTS = 100, MESSAGE_MAX = 4096 };

struct fixture {
    struct options options;
    struct publisher *publisher;
    struct services services;
    struct answering *answering;
    const struct answering_wake *wake; /* NULL: no zones are transferred */
    size_t threads_before;
};

struct message {
    size_t len;
    uint8_t wire[MESSAGE_MAX];
};

/* ---- The servers ---- */

static inline void answering_parse_flags(struct options *options)
{
    static char flags[][40] = {"skydns", "-domain=cluster.local", "-workers=2",
                               "-nameservers=127.0.0.1:10253"};
    char *argv[ARRAY_LEN(flags) + 1] = {NULL};
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        argv[i] = flags[i];
    }
    assert_int_equal(skydns_options_parse(ARRAY_LEN(flags), argv, options, &err), 0);
}

static inline size_t count_threads(void)
{
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));) {
        count += entry->d_name[0] != '.';
    }
    closedir(tasks);
    return count;
}

/* A joined thread may still be listed for a moment. */
static inline void expect_threads(size_t count)
{
    int64_t deadline_ms = clock_monotonic_ms() + TIMEOUT_S * 1000;
    while (count_threads() != count) {
        assert_that(clock_monotonic_ms() <= deadline_ms, "%zu threads, expected %zu",
                    count_threads(), count);
        sched_yield();
    }
}

static inline void answering_fill(struct fixture *f)
{
    struct store_garbage *garbage;
    const struct store *store = services_fill(&f->services, &garbage);
    publisher_publish(f->publisher, store, garbage);
}

static inline void *end_at_once(void *data)
{
    return data;
}

/* Sanitizers start their own thread with the program's first one: start it before threads are
 * counted. */
static inline int start_first_thread(void **state)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, end_at_once, NULL) || pthread_join(thread, NULL);
}

static inline int answering_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    answering_parse_flags(&f->options);
    f->publisher = publisher_new();
    publisher_configure(f->publisher, options_engine_config(&f->options));
    services_init(&f->services, SERVICES);
    f->threads_before = count_threads();
    *state = f;
    return 0;
}

static inline int answering_teardown(void **state)
{
    struct fixture *f = *state;
    if (f->answering) {
        answering_stop(f->answering);
        answering_free(f->answering);
    }
    publisher_free(f->publisher);
    services_fini(&f->services);
    free(f);
    return 0;
}

/* 127.0.0.1 and another loopback address, on free ports. */
static inline void choose_addresses(struct fixture *f, size_t count)
{
    f->options.address_count = count;
    for (size_t i = 0; i < count; i++) {
        f->options.addresses[i] = loopback_addr(loopback_free_port());
        f->options.addresses[i].v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)i);
    }
}

static inline void answering_open_at(struct fixture *f, size_t address_count)
{
    struct err err = {0};
    int r = -EADDRINUSE;
    for (int i = 0; i < ATTEMPTS && r == -EADDRINUSE; i++) {
        choose_addresses(f, address_count);
        r = answering_open(&f->options, f->publisher, NULL, f->wake, NULL, &f->answering, &err);
    }
    assert_that(r >= 0, "%s", err.msg);
}

static inline void skydns_answering_start(struct fixture *f)
{
    struct err err;
    assert_that(answering_start(f->answering, &err) >= 0, "%s", err.msg);
}

static inline void skydns_answering_stop(struct fixture *f)
{
    answering_stop(f->answering);
    expect_threads(f->threads_before);
    answering_free(f->answering);
    f->answering = NULL;
}

/* ---- Asking ---- */

static inline int answering_client_at(const struct addr *address, int type)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    int fd = socket(address->sa.sa_family, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    assert_int_equal(connect(fd, &address->sa, address->len), 0);
    return fd;
}

static inline void send_udp(int fd, const void *wire, size_t len)
{
    assert_int_equal(send(fd, wire, len, 0), len);
}

static inline void answering_send_tcp(int fd, const void *wire, size_t len)
{
    uint8_t frame[MESSAGE_MAX] = {(uint8_t)(len >> 8), (uint8_t)len};
    memcpy(frame + 2, wire, len);
    assert_int_equal(send(fd, frame, len + 2, MSG_NOSIGNAL), len + 2);
}

static inline struct message answering_receive_udp(int fd)
{
    struct message m;
    ssize_t n = recv(fd, m.wire, sizeof(m.wire), 0);
    assert_in_range(n, DNS_HEADER_SIZE, sizeof(m.wire));
    m.len = (size_t)n;
    return m;
}

static inline struct message answering_receive_tcp(int fd)
{
    struct message m;
    uint8_t prefix[2];
    assert_int_equal(recv(fd, prefix, sizeof(prefix), MSG_WAITALL), sizeof(prefix));
    m.len = (size_t)(prefix[0] << 8 | prefix[1]);
    assert_in_range(m.len, DNS_HEADER_SIZE, sizeof(m.wire));
    assert_int_equal(recv(fd, m.wire, m.len, MSG_WAITALL), m.len);
    return m;
}

static inline void expect_answer(const struct asked_question *question, const struct message *reply)
{
    assert_int_equal(question_id(reply->wire), question_id(question->wire));
    assert_true(question_is_answered(question, reply->wire, reply->len));
}

#endif
