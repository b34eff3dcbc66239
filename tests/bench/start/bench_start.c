/* Measures when a DNS server that was just started gives the right answers
 * (tests/bench/snapshot_start.py runs it):
 *
 *     bench_start PORT NAMES PROGRAM [ARGUMENT...]
 *
 * Starts the program, then asks 127.0.0.1:PORT every ASK_US for the A record of the last name of
 * the file NAMES, `NAME ADDRESS` in each line, until the answer is right; then for some names from
 * all over the file, then for all of them: one that has not the right answer at once is counted
 * and asked again. Prints the seconds since just before the program's exec, and kills it:
 *
 *     first_s SECONDS    the first right answer
 *     spread_s SECONDS   the last of SPREAD names was right
 *     pass_s SECONDS     all names were right; a generator's speed, unless some were not at once
 *     not_right COUNT    answers that were missing or not right, from the first right one on */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "tests/bench/bench.h"

enum {
    REPLY_MAX = 1232,
    WINDOW = 64, /* fits a receive buffer of the default size, the server's and ours */
    SPREAD = 1000,
    ASK_US = 200,
    SILENT_MS = 1000, /* then the question or its answer counts as lost */
    TIMEOUT_S = 120,
};

struct name {
    struct in_addr address;
    uint16_t len;
    uint8_t query[BENCH_QUERY_MAX];
};

struct asker {
    int fd;
    pid_t program;
    double start_s; /* before the exec */
    struct name *names;
    size_t count;
    uint64_t not_right;
};

static double clock_s(void)
{
    return (double)clock_ns(CLOCK_MONOTONIC) / 1e9;
}

/* ---- Names ---- */

static void read_names(struct asker *a, const char *path)
{
    char line[DNAME_TEXT_MAX + INET_ADDRSTRLEN + 2];
    size_t cap = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        bench_fail(path, strerror(errno));
    }
    while (fgets(line, sizeof(line), file)) {
        char *address = strchr(line, ' ');
        if (a->count == cap) {
            cap = cap ? 2 * cap : 1024;
            a->names = xrealloc_array(a->names, cap, sizeof(a->names[0]));
        }
        struct name *name = &a->names[a->count++];
        line[strcspn(line, "\n")] = '\0';
        if (!address) {
            bench_fail(line, "expected a name and an address");
        }
        *address++ = '\0';
        if (inet_pton(AF_INET, address, &name->address) != 1) {
            bench_fail(address, "no address");
        }
        name->len = (uint16_t)bench_query(name->query, line, 0);
    }
    (void)fclose(file); /* only read from */
    if (a->count == 0) {
        bench_fail(path, "no names");
    }
}

/* ---- Questions and answers ---- */

static void bench_start_ask(const struct asker *a, struct name *name, uint16_t id)
{
    name->query[0] = (uint8_t)(id >> 8);
    name->query[1] = (uint8_t)id;
    /* If it fails the answer is missing: nobody listens yet, or the buffer is full. */
    (void)send(a->fd, name->query, name->len, 0);
}

/* Whether the reply is to this question. */
static bool bench_start_is_reply_to(const struct name *name, const uint8_t *reply, size_t len)
{
    return len >= name->len && reply[0] == name->query[0] && reply[1] == name->query[1] &&
           memcmp(reply + 12, name->query + 12, name->len - 12u) == 0;
}

/* NOERROR and one answer, which is the name's address. */
static bool bench_start_is_right(const struct name *name, const uint8_t *reply, size_t len)
{
    static const uint8_t head[] = {0xc0, 12, 0, DNS_TYPE_A, 0, DNS_CLASS_IN};
    const uint8_t *answer = reply + name->len;
    return len >= name->len + 16u && (reply[3] & 15) == 0 && reply[6] == 0 && reply[7] == 1 &&
           memcmp(answer, head, sizeof(head)) == 0 && answer[10] == 0 && answer[11] == 4 &&
           memcmp(answer + 12, &name->address, 4) == 0;
}

/* The next reply, at most this much later; 0: none. Nobody listening is none, too. */
static size_t bench_start_receive(const struct asker *a, uint8_t reply[REPLY_MAX],
                                  int64_t timeout_us)
{
    struct pollfd ready = {.fd = a->fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = timeout_us / 1000000,
                               .tv_nsec = timeout_us % 1000000 * 1000};
    if (clock_s() - a->start_s > TIMEOUT_S) {
        (void)kill(a->program, SIGKILL); /* our child, not waited for yet */
        bench_fail("the program", "gives no right answer");
    }
    if (waitpid(a->program, NULL, WNOHANG) != 0) {
        bench_fail("the program", "has exited");
    }
    if (ppoll(&ready, 1, &timeout, NULL) <= 0) {
        return 0;
    }
    ssize_t len = recv(a->fd, reply, REPLY_MAX, MSG_DONTWAIT);
    if (len < 0) { /* refused: at once, so that it would be asked again at once */
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &timeout, NULL);
    }
    return len > 0 ? (size_t)len : 0;
}

/* With one ID: an answer that took longer than until the next question counts, too. */
static void ask_until_right(const struct asker *a, struct name *name)
{
    uint8_t reply[REPLY_MAX];
    for (;;) {
        bench_start_ask(a, name, WINDOW);
        size_t len = bench_start_receive(a, reply, ASK_US);
        if (len > 0 && bench_start_is_reply_to(name, reply, len) &&
            bench_start_is_right(name, reply, len)) {
            return;
        }
    }
}

struct flight {
    struct name *name; /* NULL: the place is free */
    double sent_s;
};

static void bench_start_ask_again(struct asker *a, struct flight *flight, uint16_t id)
{
    a->not_right++;
    flight->sent_s = clock_s();
    bench_start_ask(a, flight->name, id);
}

static void ask_silent_again(struct asker *a, struct flight *flights)
{
    double now = clock_s();
    for (uint16_t id = 0; id < WINDOW; id++) {
        if (flights[id].name && now - flights[id].sent_s > SILENT_MS / 1e3) {
            bench_start_ask_again(a, &flights[id], id);
        }
    }
}

/* Every `step`th name, WINDOW at a time, each until it is right. The place is the query's ID. */
static void bench_start_ask_all(struct asker *a, size_t step)
{
    struct flight flights[WINDOW] = {0};
    uint8_t reply[REPLY_MAX];
    size_t next = 0, in_flight = 0;
    for (;;) {
        for (uint16_t id = 0; id < WINDOW && next < a->count; id++) {
            if (!flights[id].name) {
                flights[id] = (struct flight){&a->names[next], clock_s()};
                bench_start_ask(a, flights[id].name, id);
                next += step;
                in_flight++;
            }
        }
        if (in_flight == 0) {
            return;
        }
        size_t len = bench_start_receive(a, reply, SILENT_MS * 1000);
        unsigned id = len >= 2 ? (unsigned)reply[0] << 8 | reply[1] : WINDOW;
        if (id < WINDOW && flights[id].name &&
            bench_start_is_reply_to(flights[id].name, reply, len)) {
            if (bench_start_is_right(flights[id].name, reply, len)) {
                flights[id].name = NULL;
                in_flight--;
            } else {
                bench_start_ask_again(a, &flights[id], (uint16_t)id);
            }
        }
        if (len == 0) {
            ask_silent_again(a, flights);
        }
    }
}

int main(int argc, char **argv)
{
    extern char **environ;
    struct asker a = {0};
    if (argc < 4) {
        bench_fail("usage", "bench_start PORT NAMES PROGRAM [ARGUMENT...]");
    }
    read_names(&a, argv[2]);
    a.fd = bench_connect(INADDR_ANY, argv[1], 0);
    a.start_s = clock_s();
    int failed = posix_spawnp(&a.program, argv[3], NULL, NULL, argv + 3, environ);
    if (failed) {
        bench_fail(argv[3], strerror(failed));
    }
    ask_until_right(&a, &a.names[a.count - 1]);
    double first_s = clock_s();
    bench_start_ask_all(&a, a.count > SPREAD ? a.count / SPREAD : 1);
    double spread_s = clock_s();
    bench_start_ask_all(&a, 1);
    double pass_s = clock_s();
    printf("first_s %.4f\nspread_s %.4f\npass_s %.4f\nnot_right %llu\n", first_s - a.start_s,
           spread_s - a.start_s, pass_s - a.start_s, (unsigned long long)a.not_right);
    (void)kill(a.program, SIGKILL); /* our child, not waited for yet */
    (void)waitpid(a.program, NULL, 0);
    free(a.names);
    return 0;
}
