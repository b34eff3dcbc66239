/* Shared by the programs of the benchmarks: clocks, how they fail, and the question and the socket
 * of those that ask 127.0.0.1. Any thread. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

enum { BENCH_QUERY_MAX = DNS_HEADER_SIZE + DNAME_MAX + 4 };

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t); /* cannot fail for the clocks asked for here */
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline NORETURN void bench_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(2);
}

/* Writes the query for a name's address; returns its size. */
static inline size_t bench_query(uint8_t ret_query[BENCH_QUERY_MAX], const char *text, uint16_t id)
{
    struct dname name;
    if (!dname_from_text(slice_str(text), &name)) {
        bench_fail(text, "no name");
    }
    struct writer w = writer_of(ret_query, BENCH_QUERY_MAX);
    writer_u16(&w, id);
    writer_u16(&w, DNS_FLAG_RD);
    writer_u32(&w, 1U << 16); /* one question, no answer */
    writer_u32(&w, 0);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, DNS_TYPE_A);
    writer_u16(&w, DNS_CLASS_IN);
    return w.pos;
}

/* A UDP socket from this address, to that port of 127.0.0.1; flags as for socket(2). */
static inline int bench_connect(in_addr_t from, const char *port, int flags)
{
    const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = from};
    const struct sockaddr_in server = {.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&own, sizeof(own)) < 0 ||
        connect(fd, (const struct sockaddr *)&server, sizeof(server)) < 0) {
        bench_fail(port, strerror(errno));
    }
    return fd;
}

#endif
