#include "tests/bench/instructions/feed.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <valgrind/callgrind.h>

#include "skydns/resolver/resolver.h"

/* How long ago a packet came that has a time. */
enum { AGE_NS = 50000 };

struct feed {
    struct udp_server *udp;
    const struct kind *kinds;
    size_t left;      /* of these, the first is being asked */
    unsigned batches; /* of it */
    unsigned asked;
    unsigned numbers[UDP_BATCH]; /* of the batch's questions */
};

static struct feed feed;

int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);
bool __wrap_resolver_defer(struct resolver *resolver, unsigned worker,
                           const struct engine_query *query, enum engine_deferral_kind kind,
                           const struct deferred_origin *origin);

void feed_begin(struct udp_server *udp, const struct kind *kinds, size_t count)
{
    feed = (struct feed){.udp = udp, .kinds = kinds, .left = count};
}

/* ---- What would differ from run to run ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    (void)clock;
    *ret_now = (struct timespec){.tv_sec = FEED_NOW_S};
    return 0;
}

ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags)
{
    static const char digits_of_pi[] = "31415926535897932384626433832795";
    (void)flags;
    for (size_t i = 0; i < len; i++) {
        ((char *)bytes)[i] = digits_of_pi[i % (sizeof(digits_of_pi) - 1)];
    }
    return (ssize_t)len;
}

/* ---- Counting ---- */

/* Between worker and feed, when the batch counts: callgrind counts this thread's instructions, or
 * no longer. */
static void feed_toggle(void)
{
    if (feed.batches > FEED_WARM) {
        CALLGRIND_TOGGLE_COLLECT;
    }
}

static void end_kind(void)
{
    CALLGRIND_DUMP_STATS_AT(feed.kinds->name);
    (void)printf("%s %u\n", feed.kinds->name, FEED_COUNTED * (unsigned)feed.kinds->batch);
    feed.kinds++;
    feed.left--;
    feed.batches = feed.asked = 0;
}

/* ---- Batches ---- */

static void *feed_put_control(struct msghdr *in, size_t *used, int level, int type, size_t len)
{
    struct cmsghdr *c = (void *)((uint8_t *)in->msg_control + *used);
    if (*used + CMSG_SPACE(len) > in->msg_controllen) {
        (void)fprintf(stderr, "bench_instructions: no room for control messages\n");
        abort();
    }
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
    *used += CMSG_SPACE(len);
    return CMSG_DATA(c);
}

/* Writes control data like the kernel for a wildcard socket; its time first, if it has one. */
static void write_control(struct msghdr *in, bool is_timed)
{
    const struct timespec at = {FEED_NOW_S - 1, 1000000000 - AGE_NS};
    const struct in_pktinfo info = {.ipi_ifindex = 2,
                                    .ipi_spec_dst.s_addr = htonl(0x0a600000 | 10),
                                    .ipi_addr.s_addr = htonl(0x0a600000 | 10)};
    size_t used = 0;
    if (is_timed) {
        memcpy(feed_put_control(in, &used, SOL_SOCKET, SCM_TIMESTAMPNS, sizeof(at)), &at,
               sizeof(at));
    }
    memcpy(feed_put_control(in, &used, IPPROTO_IP, IP_PKTINFO, sizeof(info)), &info, sizeof(info));
    in->msg_controllen = used;
}

static void write_packet(struct mmsghdr *message, unsigned number, bool is_timed)
{
    const struct sockaddr_in client = {.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)(1024 + number % 30000)),
                                       .sin_addr.s_addr = kinds_pod_address(number)};
    struct msghdr *in = &message->msg_hdr;
    memcpy(in->msg_name, &client, sizeof(client));
    in->msg_namelen = sizeof(client);
    in->msg_flags = 0;
    message->msg_len = (unsigned)kinds_query(feed.kinds, number, (uint8_t *)in->msg_iov->iov_base);
    write_control(in, is_timed);
}

/* Returns the result of a socket that was shut down. */
static int feed_stop(struct mmsghdr *messages)
{
    udp_server_stop(feed.udp);
    messages[0].msg_hdr.msg_namelen = 0;
    messages[0].msg_hdr.msg_controllen = 0;
    messages[0].msg_len = 0;
    return 1;
}

int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout)
{
    int is_timed = 0;
    socklen_t len = sizeof(is_timed);
    (void)flags;
    (void)timeout;
    feed_toggle();
    if (feed.batches == FEED_WARM + FEED_COUNTED) {
        end_kind();
    }
    if (feed.left == 0) {
        return feed_stop(messages);
    }
    (void)getsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &is_timed, &len); /* it is a socket */
    for (unsigned i = 0; i < feed.kinds->batch && i < count; i++) {
        feed.numbers[i] = feed_number(feed.asked++);
        write_packet(&messages[i], feed.numbers[i], is_timed);
    }
    feed.batches++;
    feed_toggle();
    return feed.kinds->batch;
}

static _Noreturn void feed_give_up(const char *why)
{
    (void)fprintf(stderr, "bench_instructions: %s: %s\n", feed.kinds->name, why);
    exit(1);
}

bool __wrap_resolver_defer(struct resolver *resolver, unsigned worker,
                           const struct engine_query *query, enum engine_deferral_kind kind,
                           const struct deferred_origin *origin)
{
    (void)resolver;
    (void)worker;
    (void)query;
    (void)kind;
    (void)origin;
    feed_give_up("not answered at once");
}

static void feed_check(unsigned i, const struct msghdr *out)
{
    const struct iovec *reply = out->msg_iov;
    const char *fault = kinds_fault(feed.kinds, feed.numbers[i], reply->iov_base, reply->iov_len);
    if (fault) {
        feed_give_up(fault);
    }
}

int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    (void)fd;
    (void)flags;
    feed_toggle();
    if (count != feed.kinds->batch) {
        feed_give_up("not all are answered");
    }
    for (unsigned i = 0; i < count; i++) {
        feed_check(i, &messages[i].msg_hdr);
        messages[i].msg_len = (unsigned)messages[i].msg_hdr.msg_iov->iov_len;
    }
    feed_toggle();
    return (int)count;
}
