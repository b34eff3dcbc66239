/* Measures when a DNS server starts to give the right answers (tests/bench/pipeline.py runs it):
 *
 *     bench_ask PORT WINDOW RETRY_US
 *
 * Reads `NAME ADDRESS` lines from stdin as they arrive and asks the server at 127.0.0.1 for each
 * name's A record until that address is the only answer. Asks for the first WINDOW unfinished names
 * at a time, each RETRY_US after its last answer, or SILENT_US after its last question. Prints
 * `NAME NANOSECONDS` (CLOCK_MONOTONIC) on the right answer. Ends after the end of stdin once every
 * name is done. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "tests/bench/bench.h"

enum {
    REPLY_MAX = 1232,
    WINDOW_MAX = 1024,
    TEXT_MAX = 64 << 20, /* a million names: the writer never waits for answers */
    RECORD_HEAD = 12,    /* of an answer whose name is a pointer */
    SILENT_US = 20000,   /* then the question or answer counts as lost */
};

/* A name in flight; its place is the query's ID. */
struct ask {
    char *name; /* NULL: the place is free */
    uint32_t address;
    uint64_t due_ns;
    size_t len;
    uint8_t query[BENCH_QUERY_MAX];
};

struct asker {
    int fd;
    unsigned window, pending;
    uint64_t retry_ns;
    struct ask asks[WINDOW_MAX];

    bool is_at_end; /* of stdin */
    char *text;     /* TEXT_MAX bytes of it */
    size_t text_at; /* start of the first unread line */
    size_t text_len;
};

/* ---- Names from stdin ---- */

static void bench_ask_take_line(struct asker *a, char *line)
{
    unsigned place = 0;
    char *address = strchr(line, ' ');
    while (a->asks[place].name) {
        place++; /* the window has room */
    }
    struct ask *ask = &a->asks[place];
    if (!address) {
        bench_fail(line, "expected a name and an address");
    }
    *address++ = '\0';
    if (inet_pton(AF_INET, address, &ask->address) != 1) {
        bench_fail(address, "no address");
    }
    ask->name = xstrdup(line);
    ask->due_ns = 0;
    ask->len = bench_query(ask->query, line, (uint16_t)place);
    a->pending++;
}

/* Takes as many complete lines as fit the window. */
static void take_lines(struct asker *a)
{
    char *end;
    while (a->pending < a->window &&
           (end = memchr(a->text + a->text_at, '\n', a->text_len - a->text_at))) {
        char *line = a->text + a->text_at;
        *end = '\0';
        bench_ask_take_line(a, line);
        a->text_at = (size_t)(end - a->text) + 1;
    }
    if (a->text_at == a->text_len) {
        a->text_at = a->text_len = 0;
    }
}

static void bench_ask_read_text(struct asker *a)
{
    if (a->text_len == TEXT_MAX) {
        bench_fail("stdin", "too many names");
    }
    ssize_t n = read(STDIN_FILENO, a->text + a->text_len, TEXT_MAX - a->text_len);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        bench_fail("stdin", strerror(errno));
    }
    a->text_len += n > 0 ? (size_t)n : 0;
    if (n == 0) {
        a->is_at_end = true;
        if (a->text_len > 0 && a->text[a->text_len - 1] != '\n') {
            bench_fail("stdin", "last line has no newline");
        }
    }
}

/* ---- Questions and answers ---- */

/* Returns when the next question is due; UINT64_MAX: none. */
static uint64_t send_due(struct asker *a)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), next = UINT64_MAX;
    for (unsigned i = 0; i < a->window; i++) {
        struct ask *ask = &a->asks[i];
        if (ask->name && ask->due_ns <= now) {
            (void)send(a->fd, ask->query, ask->len, 0); /* if lost, it is asked again */
            ask->due_ns = now + SILENT_US * UINT64_C(1000);
        }
        if (ask->name && ask->due_ns < next) {
            next = ask->due_ns;
        }
    }
    return next;
}

static bool bench_ask_is_right(const struct ask *ask, const uint8_t *reply, size_t len)
{
    return len == ask->len + RECORD_HEAD + sizeof(ask->address) &&
           (reply[3] & DNS_MASK_RCODE) == DNS_RCODE_NOERROR && reply[6] == 0 && reply[7] == 1 &&
           memcmp(reply + len - sizeof(ask->address), &ask->address, sizeof(ask->address)) == 0;
}

/* Rejects an answer to the previous name in this place. */
static bool bench_ask_is_ours(const struct ask *ask, const uint8_t *reply, size_t len)
{
    return ask->name && len >= ask->len &&
           memcmp(reply + DNS_HEADER_SIZE, ask->query + DNS_HEADER_SIZE,
                  ask->len - DNS_HEADER_SIZE) == 0;
}

static void bench_ask_receive_all(struct asker *a)
{
    uint8_t reply[REPLY_MAX];
    ssize_t n;
    while ((n = recv(a->fd, reply, sizeof(reply), MSG_DONTWAIT)) >= 0) {
        unsigned place = n >= DNS_HEADER_SIZE ? (unsigned)(reply[0] << 8 | reply[1]) : WINDOW_MAX;
        struct ask *ask = place < a->window ? &a->asks[place] : NULL;
        if (!ask || !bench_ask_is_ours(ask, reply, (size_t)n)) {
            continue;
        }
        if (bench_ask_is_right(ask, reply, (size_t)n)) {
            printf("%s %" PRIu64 "\n", ask->name, clock_ns(CLOCK_MONOTONIC));
            free(ask->name);
            ask->name = NULL;
            a->pending--;
        } else {
            ask->due_ns = clock_ns(CLOCK_MONOTONIC) + a->retry_ns;
        }
    }
}

static void wait_for_more(const struct asker *a, uint64_t due_ns)
{
    struct pollfd fds[] = {{.fd = a->fd, .events = POLLIN},
                           {.fd = a->is_at_end ? -1 : STDIN_FILENO, .events = POLLIN}};
    uint64_t now = clock_ns(CLOCK_MONOTONIC), left_ns = due_ns > now ? due_ns - now : 0;
    const struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
                                  .tv_nsec = (long)(left_ns % 1000000000)};
    (void)ppoll(fds, 2, due_ns == UINT64_MAX ? NULL : &left, NULL); /* tries all afterwards */
}

static void bench_ask_run(struct asker *a)
{
    a->text = xmalloc(TEXT_MAX); /* only the pages used are touched */
    while (!a->is_at_end || a->pending > 0) {
        if (!a->is_at_end) {
            bench_ask_read_text(a);
        }
        take_lines(a);
        uint64_t due_ns = send_due(a);
        (void)fflush(stdout);
        if (a->is_at_end && a->pending == 0) {
            break;
        }
        wait_for_more(a, due_ns);
        bench_ask_receive_all(a);
        take_lines(a); /* before the check for the end */
    }
    (void)fflush(stdout);
    free(a->text);
}

static unsigned bench_ask_number_of(const char *text, unsigned limit)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value == 0 || value > limit) {
        bench_fail(text, "expected a number that is not too large");
    }
    return (unsigned)value;
}

int main(int argc, char **argv)
{
    static struct asker a;
    if (argc != 4) {
        bench_fail("usage", "bench_ask PORT WINDOW RETRY_US");
    }
    a.window = bench_ask_number_of(argv[2], WINDOW_MAX);
    a.retry_ns = bench_ask_number_of(argv[3], 1000000) * UINT64_C(1000);
    a.fd = bench_connect(INADDR_ANY, argv[1], 0);
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    if (flags < 0 || fcntl(STDIN_FILENO, F_SETFL, flags | O_NONBLOCK) < 0) {
        bench_fail("stdin", strerror(errno));
    }
    (void)prctl(PR_SET_TIMERSLACK, 1); /* the pauses are shorter than the default 50 us */
    bench_ask_run(&a);
    (void)close(a.fd);
    return 0;
}
