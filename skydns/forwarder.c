#include "skydns/forwarder.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/cursor.h"
#include "common/dname.h"
#include "common/log.h"
#include "common/xalloc.h"

/* RFC 1035 4.1.1 and 4.2.2. */
enum { HEADER_LEN = 12, FRAME_PREFIX = 2, MESSAGE_MAX = 65535 };

/* One query under way. */
struct forward {
    LIST_ENTRY(forward) entry;
    struct forwarder *owner;
    ev_io io;
    ev_timer timer; /* the end of this try; at once when all have failed */
    enum engine_transport transport;
    size_t first; /* the server of the first try */
    size_t tries;
    size_t sent;      /* TCP: bytes of the frame */
    struct buf reply; /* TCP: the frame so far */
    forwarder_cb cb;
    void *data;
    size_t frame_len;
    uint8_t frame[]; /* length prefix, then the query with our id */
};

struct forwarder {
    struct forwarder_config config;
    size_t outstanding;
    LIST_HEAD(, forward) forwards;
    uint8_t scratch[MESSAGE_MAX]; /* what a socket is read into */
};

/* What has to be the same in query and reply. */
struct question {
    struct dname name;
    uint16_t type;
    uint16_t class;
};

static bool read_question(const uint8_t *message, size_t len, struct question *ret)
{
    struct reader r = reader_of(message, len);
    reader_seek(&r, 4);
    uint16_t count = reader_u16(&r);
    reader_seek(&r, HEADER_LEN);
    if (r.failed || count != 1 || !dname_read(&r, &ret->name)) {
        return false;
    }
    ret->type = reader_u16(&r);
    ret->class = reader_u16(&r);
    return !r.failed;
}

/* The reply to what was sent: id, QR bit, opcode, question. */
static bool is_reply_to(const struct forward *f, const uint8_t *reply, size_t len)
{
    const uint8_t *query = f->frame + FRAME_PREFIX;
    struct question asked, answered;
    return len >= HEADER_LEN && memcmp(reply, query, 2) == 0 && (reply[2] & 0x80) &&
           ((reply[2] ^ query[2]) & 0x78) == 0 &&
           read_question(query, f->frame_len - FRAME_PREFIX, &asked) &&
           read_question(reply, len, &answered) && asked.type == answered.type &&
           asked.class == answered.class && dname_equal(&asked.name, &answered.name);
}

static void close_socket(struct forward *f)
{
    if (f->io.fd >= 0) {
        ev_io_stop(f->owner->config.loop, &f->io);
        (void)close(f->io.fd); /* nothing buffered that matters */
        f->io.fd = -1;
    }
}

static void free_forward(struct forward *f)
{
    close_socket(f);
    ev_timer_stop(f->owner->config.loop, &f->timer);
    LIST_REMOVE(f, entry);
    f->owner->outstanding--;
    buf_fini(&f->reply);
    free(f);
}

static void finish(struct forward *f, const uint8_t *reply, size_t len)
{
    close_socket(f); /* its descriptor may be wanted by what the callback sends */
    f->cb(f->data, reply, len);
    free_forward(f);
}

static void set_events(struct forward *f, int events)
{
    struct ev_loop *loop = f->owner->config.loop;
    ev_io_stop(loop, &f->io);
    ev_io_set(&f->io, f->io.fd, events);
    ev_io_start(loop, &f->io);
}

/* Opens a socket to the server and sends the query, or begins to. False: try another. */
static bool start_try(struct forward *f, const struct addr *server)
{
    bool over_tcp = f->transport == ENGINE_TCP;
    int type = (over_tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
    uint8_t *query = f->frame + FRAME_PREFIX;
    size_t query_len = f->frame_len - FRAME_PREFIX;
    if (getrandom(query, 2, 0) != 2) { /* the id */
        return false;
    }
    CLEANUP_CLOSE int fd = socket(server->sa.sa_family, type, 0);
    if (fd < 0) {
        return false;
    }
    if (connect(fd, &server->sa, server->len) < 0 && !(over_tcp && errno == EINPROGRESS)) {
        return false;
    }
    if (!over_tcp && send(fd, query, query_len, 0) != (ssize_t)query_len) {
        return false;
    }
    f->sent = 0;
    buf_clear(&f->reply);
    f->io.fd = STEAL_FD(fd);
    set_events(f, over_tcp ? EV_WRITE : EV_READ);
    return true;
}

/* The next server, or the end. */
static void next_try(struct forward *f)
{
    const struct forwarder_config *config = &f->owner->config;
    close_socket(f);
    ev_timer_stop(config->loop, &f->timer);
    double wait_s = 0; /* all failed: say so from the loop, not from inside the caller */
    while (f->tries <= config->server_count) {
        size_t index = (f->first + f->tries++) % config->server_count;
        if (start_try(f, &config->servers[index])) {
            wait_s = config->timeout_ms / 1000.0;
            break;
        }
    }
    ev_timer_set(&f->timer, wait_s, 0.);
    ev_timer_start(config->loop, &f->timer);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
    struct forward *f = timer->data;
    (void)loop;
    (void)revents;
    if (f->tries > f->owner->config.server_count) {
        finish(f, NULL, 0);
    } else {
        next_try(f);
    }
}

/* A socket error (port unreachable, connection refused) ends the try at once. */
static void receive_udp(struct forward *f)
{
    uint8_t *bytes = f->owner->scratch;
    ssize_t n = recv(f->io.fd, bytes, sizeof(f->owner->scratch), 0);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        next_try(f);
    } else if (n > 0 && is_reply_to(f, bytes, (size_t)n)) {
        finish(f, bytes, (size_t)n);
    }
}

static void send_tcp(struct forward *f)
{
    ssize_t n = send(f->io.fd, f->frame + f->sent, f->frame_len - f->sent, MSG_NOSIGNAL);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            next_try(f);
        }
        return;
    }
    f->sent += (size_t)n;
    if (f->sent == f->frame_len) {
        set_events(f, EV_READ);
    }
}

/* A stream carries one reply to us: anything else on it is a broken server. */
static void receive_tcp(struct forward *f)
{
    uint8_t *bytes = f->owner->scratch;
    ssize_t n = recv(f->io.fd, bytes, sizeof(f->owner->scratch), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        next_try(f);
        return;
    }
    buf_append(&f->reply, bytes, (size_t)n);
    struct reader r = reader_of(f->reply.data, f->reply.len);
    uint16_t len = reader_u16(&r);
    if (f->reply.failed) {
        next_try(f);
    } else if (!r.failed && reader_left(&r) >= len) {
        if (is_reply_to(f, f->reply.data + FRAME_PREFIX, len)) {
            finish(f, f->reply.data + FRAME_PREFIX, len);
        } else {
            next_try(f);
        }
    }
}

static void on_io(struct ev_loop *loop, ev_io *io, int revents)
{
    struct forward *f = io->data;
    (void)loop;
    if (f->transport == ENGINE_UDP) {
        receive_udp(f);
    } else if (revents & EV_WRITE) {
        send_tcp(f);
    } else {
        receive_tcp(f);
    }
}

struct forwarder *forwarder_new(const struct forwarder_config *config)
{
    struct forwarder *forwarder = xmalloc(sizeof(*forwarder));
    forwarder->config = *config;
    forwarder->outstanding = 0;
    LIST_INIT(&forwarder->forwards);
    return forwarder;
}

void forwarder_drop_all(struct forwarder *forwarder)
{
    while (!LIST_EMPTY(&forwarder->forwards)) {
        free_forward(LIST_FIRST(&forwarder->forwards));
    }
}

void forwarder_free(struct forwarder *forwarder)
{
    if (forwarder) {
        forwarder_drop_all(forwarder);
        free(forwarder);
    }
}

bool forwarder_send(struct forwarder *forwarder, const uint8_t *query, size_t len,
                    enum engine_transport transport, forwarder_cb cb, void *data)
{
    const struct forwarder_config *config = &forwarder->config;
    struct question question;
    if (config->server_count == 0 || len > MESSAGE_MAX || !read_question(query, len, &question)) {
        return false;
    }
    if (forwarder->outstanding >= config->outstanding_max) {
        static struct log_limit limit = {.burst = 1};
        if (log_limit_pass(&limit)) {
            log_warn("too many queries wait for nameservers, refusing more",
                     LOG_INT("waiting", (int64_t)forwarder->outstanding));
        }
        return false;
    }
    struct forward *f = xmalloc(sizeof(*f) + FRAME_PREFIX + len);
    *f = (struct forward){.owner = forwarder, .transport = transport, .cb = cb, .data = data};
    f->first = config->rotate ? (size_t)(query[0] << 8 | query[1]) % config->server_count : 0;
    f->frame_len = FRAME_PREFIX + len;
    f->frame[0] = (uint8_t)(len >> 8);
    f->frame[1] = (uint8_t)len;
    memcpy(f->frame + FRAME_PREFIX, query, len);
    buf_init(&f->reply, FRAME_PREFIX + MESSAGE_MAX);
    ev_init(&f->io, on_io);
    f->io.fd = -1;
    f->io.data = f;
    ev_init(&f->timer, on_timer);
    f->timer.data = f;
    LIST_INSERT_HEAD(&forwarder->forwards, f, entry);
    forwarder->outstanding++;
    next_try(f);
    return true;
}

size_t forwarder_outstanding(const struct forwarder *forwarder)
{
    return forwarder->outstanding;
}
