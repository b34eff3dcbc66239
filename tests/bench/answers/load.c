#include "tests/bench/answers/load.h"

#include <assert.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

enum { DAY_MS = 24 * 3600 * 1000, COMMON_FLAGS = 7 };

int load_connect(const struct addr *server)
{
    const int on = 1;
    const struct linger reset = {.l_onoff = 1};
    int fd = socket(server->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0 ||
        (connect(fd, &server->sa, server->len) < 0 && errno != EINPROGRESS)) {
        bench_fail("connect", err_code_text(-errno));
    }
    return fd;
}

static void answers_load_parse(int argc, char *const *argv, const struct flags *flags)
{
    struct err err;
    int r = flags_parse(flags, argc, argv, &err);
    if (r == FLAGS_HELP) {
        flags_print_help(flags);
        exit(0);
    }
    if (r < 0) {
        bench_fail("options", err.msg);
    }
}

void load_parse(int argc, char *const *argv, const struct flags *own, struct load *ret_load)
{
    const char *server = "127.0.0.1:53", *questions = "", *pids = "";
    bool wants_edns = false, wants_dnssec = false;
    int64_t run_ms = 1000, warm_up_ms = 300;
    struct flag table[COMMON_FLAGS + LOAD_FLAGS_MAX] = {
        {"server", FLAG_STRING, &server, .help = "its address:port"},
        {"questions", FLAG_STRING, &questions, .help = "a file of `name TYPE` lines"},
        {"edns", FLAG_BOOL, &wants_edns, .help = "take replies of 1232 bytes"},
        {"dnssec", FLAG_BOOL, &wants_dnssec, .help = "the same, and ask for signatures"},
        {"pids", FLAG_STRING, &pids, .help = "its processes, like 12,34, whose CPU time counts"},
        {"run", FLAG_DURATION_MS, &run_ms, .min = 1, .max = DAY_MS, .help = "how long to measure"},
        {"warm-up", FLAG_DURATION_MS, &warm_up_ms, .max = DAY_MS,
         .help = "how long to run before measuring"},
    };
    assert(own->count <= LOAD_FLAGS_MAX);
    memcpy(table + COMMON_FLAGS, own->table, own->count * sizeof(*table));
    struct flags flags = *own;
    flags.table = table;
    flags.count = COMMON_FLAGS + own->count;
    answers_load_parse(argc, argv, &flags);

    struct err err;
    enum queries_edns edns = wants_edns ? QUERIES_EDNS : QUERIES_PLAIN;
    edns = wants_dnssec ? QUERIES_DO : edns;
    *ret_load = (struct load){.pids = pids,
                              .run_ns = (uint64_t)run_ms * 1000000,
                              .warm_up_ns = (uint64_t)warm_up_ms * 1000000};
    if (addr_parse(server, &ret_load->server, &err) < 0 ||
        queries_read(questions, edns, &ret_load->queries, &err) < 0) {
        bench_fail("options", err.msg);
    }
}
