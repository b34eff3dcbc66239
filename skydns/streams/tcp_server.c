#include "skydns/streams/tcp_server.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/streams/tcp_connection_internal.h"

/* ---- Queues ---- */

static struct tcp_connection_queue *client_queue(const struct tcp_connection *c)
{
    return c->place == TCP_OWED ? &c->who->owed : &c->who->idle;
}

static void remove_from_queues(struct tcp_connection *c)
{
    TAILQ_REMOVE(client_queue(c), c, in_client);
    if (c->place == TCP_IDLE) {
        TAILQ_REMOVE(&c->server->queue, c, in_server);
    } else if (c->place == TCP_LINGERS) {
        TAILQ_REMOVE(&c->server->lingering, c, in_server);
    }
}

/* Returns the time of this turn of the loop: turns take milliseconds, and idle timeouts are
 * seconds. Reading the clock for every query would cost half a percent of its answer. */
static int64_t turn_ms(struct tcp_server *s)
{
    unsigned turn = ev_iteration(s->config.loop);
    if (turn != s->turn || s->turn_ms == 0) {
        s->turn = turn;
        s->turn_ms = clock_monotonic_ms();
    }
    return s->turn_ms;
}

/* Adds it at the end: it has just been active. */
static void add_to_queues(struct tcp_connection *c)
{
    c->active_ms = turn_ms(c->server);
    c->progress = 0;
    TAILQ_INSERT_TAIL(client_queue(c), c, in_client);
    if (c->place == TCP_IDLE) {
        TAILQ_INSERT_TAIL(&c->server->queue, c, in_server);
    }
}

void tcp_connection_touch(struct tcp_connection *c)
{
    remove_from_queues(c);
    add_to_queues(c);
}

/* Charges its client for so many bytes of buffers. */
static void tcp_server_charge(struct tcp_connection *c, size_t bytes)
{
    struct tcp_server *s = c->server;
    if (bytes == c->buffered) {
        return;
    }
    if (c->buffered == 0) {
        TAILQ_INSERT_TAIL(&c->who->holders, c, holder);
    } else if (bytes == 0) {
        TAILQ_REMOVE(&c->who->holders, c, holder);
    }
    s->buffered = s->buffered - c->buffered + bytes;
    tcp_clients_hold(s->clients, c->who, c->buffered, bytes);
    c->buffered = bytes;
}

/* ---- Connections ---- */

void tcp_connection_close(struct tcp_connection *c, const char *why)
{
    struct tcp_server *s = c->server;
    char client[ADDR_TEXT_MAX];
    log_debug("connection closed", LOG_STR("client", addr_format(&c->client, client)),
              LOG_STR("reason", why));
    if (!c->kind || tcp_stream_close(c)) {
        (void)close(c->fd); /* unsent answers are lost */
    }
    if (c->part_of) {
        s->config.part_left(s->config.data, c->part_of, true);
    }
    if (c->turns > 0) {
        tcp_leavers_learn(s->leavers, c->turns == 1);
    }
    remove_from_queues(c);
    if (c->is_throttled) {
        tcp_throttle_forget(c);
    }
    tcp_poller_leave(s->poller, c->who, c->set);
    tcp_server_charge(c, 0);
    c->who->waiting -= c->waiting;
    tcp_clients_leave(s->clients, c->who);
    s->slots[c->ref.slot] = NULL;
    atomic_fetch_add_explicit(&s->generations[c->ref.slot], 1, memory_order_relaxed);
    s->count--;
    s->counts[c->transport]--;
    s->free_slots[s->config.connections_max - s->count - 1] = c->ref.slot;
    buf_fini(&c->in);
    tcp_output_free(&c->out);
    free(c);
}

static void start_idle_timer(struct tcp_server *s)
{
    struct tcp_connection *head = TAILQ_FIRST(&s->queue);
    if (head && !ev_is_active(&s->idle_timer)) {
        int64_t left_ms = head->active_ms + s->config.idle_ms - clock_monotonic_ms();
        ev_timer_set(&s->idle_timer, left_ms > 0 ? (double)left_ms / 1000 : 0., 0.);
        ev_timer_start(s->config.loop, &s->idle_timer);
    }
}

/* Charges for a protocol's bytes; in a function of its own, since plain DNS has none. */
static NOINLINE void charge_stream(struct tcp_connection *c)
{
    tcp_server_charge(c, c->in.cap + c->out.memory + tcp_stream_memory(c));
}

void tcp_connection_sort_in(struct tcp_connection *c)
{
    bool is_owed = c->waiting > 0 && !tcp_connection_wants_to_send(c);
    if (is_owed != (c->place == TCP_OWED)) {
        remove_from_queues(c);
        c->place = is_owed ? TCP_OWED : TCP_IDLE;
        add_to_queues(c);
        start_idle_timer(c->server);
    }
    if (c->stream) {
        charge_stream(c);
    } else {
        tcp_server_charge(c, c->in.cap + c->out.memory);
    }
}

/* Returns whether the client has sent something that is not read yet: this thread came to its timer
 * first, and its query would be lost with the connection. */
static bool tcp_server_has_unread(const struct tcp_connection *c)
{
    char byte;
    return recv(c->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void tcp_server_on_idle(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct tcp_server *s = timer->data;
    int64_t limit_ms = clock_monotonic_ms() - s->config.idle_ms;
    struct tcp_connection *c;
    size_t left = s->count; /* each once, although one that is touched may be due again */
    while (left-- > 0 && (c = TAILQ_FIRST(&s->queue)) && c->active_ms <= limit_ms) {
        if (s->is_leaving && tcp_server_has_unread(c)) {
            tcp_connection_touch(c);
            continue;
        }
        tcp_connection_close(c, "idle"); /* those that we owe answers are not in the queue */
    }
    start_idle_timer(s);
}

static void start_linger_timer(struct tcp_server *s)
{
    const struct tcp_connection *head = TAILQ_FIRST(&s->lingering);
    if (head && !ev_is_active(&s->linger_timer)) {
        int64_t left_ms = head->active_ms + TCP_LINGER_MS - clock_monotonic_ms();
        ev_timer_set(&s->linger_timer, left_ms > 0 ? (double)left_ms / 1000 : 0., 0.);
        ev_timer_start(s->config.loop, &s->linger_timer);
    }
}

void tcp_connection_linger(struct tcp_connection *c)
{
    remove_from_queues(c);
    c->place = TCP_LINGERS;
    c->active_ms = clock_monotonic_ms();
    TAILQ_INSERT_HEAD(&c->who->idle, c, in_client);
    TAILQ_INSERT_TAIL(&c->server->lingering, c, in_server);
    start_linger_timer(c->server);
}

static void on_linger(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct tcp_server *s = timer->data;
    int64_t limit_ms = clock_monotonic_ms() - TCP_LINGER_MS;
    struct tcp_connection *c;
    while ((c = TAILQ_FIRST(&s->lingering)) && c->active_ms <= limit_ms) {
        tcp_connection_close(c, "ended, and the client goes on");
    }
    start_linger_timer(s);
}

struct tcp_connection *tcp_server_find(const struct tcp_server *server, struct tcp_ref ref)
{
    struct tcp_connection *c =
        ref.slot < server->config.connections_max ? server->slots[ref.slot] : NULL;
    return c && c->ref.generation == ref.generation ? c : NULL;
}

/* Returns whether both sides have ended, and earlier bytes of the client are still to be
 * skipped. */
static bool is_to_be_emptied(const struct tcp_connection *c, uint32_t events)
{
    return c->place == TCP_LINGERS && (events & EPOLLIN);
}

/* Handles events. Nobody reads the answers of a reset connection. */
static void tcp_server_on_event(struct tcp_connection *c, uint32_t events)
{
    if ((events & (EPOLLHUP | EPOLLERR)) && !is_to_be_emptied(c, events)) {
        tcp_connection_close(c, "reset by the client");
    } else if (tcp_connection_is_spent(c)) {
        return; /* it is told of again in the next turn */
    } else if (events & EPOLLOUT) {
        tcp_connection_settle(c, tcp_connection_go_on(c));
    } else {
        tcp_connection_read_single(c);
    }
}

static void tcp_server_on_events(void *data, const struct tcp_event *events, size_t count)
{
    struct tcp_server *s = data;
    for (size_t i = 0; i < count; i++) {
        struct tcp_connection *c = tcp_server_find(s, events[i].connection);
        if (c) {
            tcp_server_on_event(c, events[i].events);
        }
        if (s->single_count == ENGINE_AHEAD_MAX) {
            tcp_connection_answer_singles(s);
        }
    }
    tcp_connection_answer_singles(s);
}

/* Watches a connection whose time to leave is over. */
static void on_leaver(void *data, struct tcp_ref ref)
{
    struct tcp_connection *c = tcp_server_find(data, ref);
    if (c && c->is_leaving) {
        bool is_sound = tcp_connection_read(c);
        if (is_sound && !c->ending) {
            tcp_leavers_learn(c->server->leavers, false);
        }
        tcp_connection_settle(c, is_sound);
    }
}

/* Learns how long late answers are: at once if one is longer than expected, slowly if it is
 * shorter. */
static void learn_late_bytes(struct tcp_connection *c, size_t len)
{
    enum { SLOWNESS = 8 };
    c->late_bytes = len > c->late_bytes ? len : c->late_bytes - (c->late_bytes - len) / SLOWNESS;
}

bool tcp_server_reply(struct tcp_server *server, struct tcp_ref connection, uint64_t tag,
                      const struct response *response)
{
    struct tcp_connection *c = tcp_server_find(server, connection);
    if (!c || (c->has_ended && c->waiting == 0)) {
        return false; /* gone, or its protocol wants none */
    }
    c->waiting--;
    c->who->waiting--;
    learn_late_bytes(c, response->len);
    bool is_sound =
        c->stream ? tcp_stream_reply(c, tag, response)
                  : response->len == 0 || tcp_connection_reply(c, response->bytes, response->len);
    tcp_connection_settle(c, is_sound);
    return is_sound;
}

bool tcp_server_reply_part(struct tcp_server *server, struct tcp_ref connection, uint64_t transfer,
                           bool is_last, const uint8_t *reply, size_t len)
{
    struct tcp_connection *c = tcp_server_find(server, connection);
    if (!c) {
        return false;
    }
    if (is_last) {
        c->waiting--;
        c->who->waiting--;
    } else {
        c->part_of = transfer;
    }
    c->ending = c->ending || !reply;
    tcp_connection_spend(c, len);
    tcp_connection_settle(c, len == 0 || tcp_connection_reply(c, reply, len));
    return true;
}

/* ---- Making room ---- */

void tcp_connection_evict(struct tcp_connection *c)
{
    c->server->evictions++;
    tcp_connection_close(c, "evicted");
}

void tcp_server_bound_buffers(struct tcp_server *server)
{
    while (server->buffered > server->config.buffers_max) {
        tcp_connection_evict(TAILQ_FIRST(&tcp_clients_most_buffered(server->clients)->holders));
    }
}

static struct tcp_connection *longest_idle(const struct tcp_server *s)
{
    struct tcp_connection *lingers = TAILQ_FIRST(&s->lingering);
    return lingers ? lingers : TAILQ_FIRST(&s->queue);
}

/* Chooses the connection to close for one more of this client (NULL: not known). Prefers a client
 * over its share; else one that lingers, is idle longest, or does not read. Last comes the client
 * with most connections, even if it is owed answers, unless the newcomer's has as many. NULL: none.
 */
static struct tcp_connection *tcp_server_choose_victim(const struct tcp_server *s,
                                                       const struct tcp_client *newcomer)
{
    const struct tcp_client *most = tcp_clients_most_connections(s->clients);
    if (!most) {
        return NULL;
    }
    bool is_over_share = most->connections > 1 + s->config.connections_max / TCP_SHARES;
    struct tcp_connection *victim = is_over_share ? TAILQ_FIRST(&most->idle) : longest_idle(s);
    if (!victim && most->connections > 1 + (newcomer ? newcomer->connections : 0)) {
        victim = TAILQ_FIRST(&most->owed);
    }
    return victim;
}

/* Closes a connection for a new one. Returns false if none can be closed. */
static bool streams_tcp_server_make_room(struct tcp_server *s, const struct tcp_client *newcomer)
{
    struct tcp_connection *victim = tcp_server_choose_victim(s, newcomer);
    if (!victim) {
        return false;
    }
    tcp_connection_evict(victim);
    return true;
}

/* ---- Accepting ---- */

static const struct stream_kind *tcp_server_kind_of(const struct tcp_server *s,
                                                    enum engine_transport transport)
{
    const struct stream_kind *kind = &s->config.kinds[transport];
    return kind->protocol || kind->tls ? kind : NULL;
}

static uint32_t read_generation(const struct tcp_server *s, uint32_t slot)
{
    return atomic_load_explicit(&s->generations[slot], memory_order_relaxed);
}

bool tcp_server_has(const struct tcp_server *server, struct tcp_ref connection)
{
    return connection.slot < server->config.connections_max &&
           read_generation(server, connection.slot) == connection.generation;
}

static struct tcp_connection *add_connection(struct tcp_server *s, int fd,
                                             enum engine_transport transport,
                                             const struct addr *client, const struct addr *local)
{
    struct tcp_connection *c = xcalloc(1, sizeof(*c));
    uint32_t slot = s->free_slots[s->config.connections_max - s->count - 1];
    c->server = s;
    c->ref = (struct tcp_ref){.slot = slot, .generation = read_generation(s, slot)};
    c->transport = transport;
    c->kind = tcp_server_kind_of(s, transport);
    c->client = *client;
    c->local = *local;
    buf_init(&c->in, TCP_INPUT_MAX);
    c->fd = fd;
    c->set = -1;
    s->slots[slot] = c;
    s->count++;
    s->counts[transport]++;
    c->who = tcp_clients_enter(s->clients, client);
    add_to_queues(c);
    start_idle_timer(s);
    return c;
}

bool tcp_server_make_room(struct tcp_server *server)
{
    return streams_tcp_server_make_room(server, NULL);
}

void tcp_server_accept(struct tcp_server *server, int fd, enum engine_transport transport,
                       const struct addr *client, const struct addr *local)
{
    struct tcp_server *s = server;
    char text[ADDR_TEXT_MAX];
    if (s->count == s->config.connections_max &&
        !streams_tcp_server_make_room(s, tcp_clients_find(s->clients, client))) {
        log_debug("connection refused, every other one is busy",
                  LOG_STR("client", addr_format(client, text)));
        (void)close(fd); /* nothing was sent */
        return;
    }
    struct tcp_connection *c = add_connection(s, fd, transport, client, local);
    log_debug("connection accepted", LOG_STR("client", addr_format(client, text)),
              LOG_INT("connections", (int64_t)s->count));
    if (c->kind && c->kind->tls) {
        tcp_tls_begin(c);
        return;
    }
    if (c->kind) {
        tcp_stream_open(c);
    }
    tcp_connection_settle(c, tcp_connection_read(c));
}

/* ---- Life ---- */

int tcp_server_new(const struct tcp_server_config *config, struct tcp_server **ret_server,
                   struct err *err)
{
    struct tcp_server *s = xcalloc(1, sizeof(*s));
    s->clients = tcp_clients_new();
    int r = tcp_poller_new(config->loop, s->clients, tcp_server_on_events, s, &s->poller, err);
    if (r < 0) {
        tcp_clients_free(s->clients);
        free(s);
        return r;
    }
    s->config = *config;
    r = tcp_tls_init(s, err);
    if (r < 0) {
        tcp_poller_free(s->poller);
        tcp_clients_free(s->clients);
        free(s);
        return r;
    }
    s->config.sockets = NULL; /* the acceptor took them over */
    TAILQ_INIT(&s->queue);
    TAILQ_INIT(&s->lingering);
    s->slots = xcalloc(config->connections_max, sizeof(*s->slots));
    s->generations = xcalloc(config->connections_max, sizeof(*s->generations));
    s->free_slots = xcalloc(config->connections_max, sizeof(*s->free_slots));
    for (size_t i = 0; i < config->connections_max; i++) {
        s->free_slots[i] = (uint32_t)(config->connections_max - 1 - i);
    }
    for (size_t i = 0; i < ENGINE_TRANSPORTS && !s->reply; i++) {
        s->reply = config->kinds[i].protocol ? xmalloc(ENGINE_REPLY_MAX) : NULL;
    }
    ev_init(&s->idle_timer, tcp_server_on_idle);
    s->idle_timer.data = s;
    ev_init(&s->linger_timer, on_linger);
    s->linger_timer.data = s;
    tcp_throttle_init(s);
    s->leavers = tcp_leavers_new(config->loop, on_leaver, s);
    s->acceptor = tcp_acceptor_new(config->loop, s, config->sockets, config->socket_count);
    *ret_server = s;
    return 0;
}

static void stop_accepting(struct tcp_server *s)
{
    tcp_acceptor_free(s->acceptor);
    s->acceptor = NULL;
}

void tcp_server_free(struct tcp_server *server)
{
    if (!server) {
        return;
    }
    stop_accepting(server);
    server->draining = true; /* no handshake begins */
    for (size_t i = 0; i < server->config.connections_max; i++) {
        if (server->slots[i]) {
            tcp_connection_close(server->slots[i], "stopping");
        }
    }
    tcp_tls_fini(server);
    tcp_clients_free(server->clients);
    ev_timer_stop(server->config.loop, &server->idle_timer);
    ev_timer_stop(server->config.loop, &server->linger_timer);
    tcp_throttle_fini(server);
    tcp_leavers_free(server->leavers);
    tcp_poller_free(server->poller);
    free(server->reply);
    free(server->slots);
    free(server->generations);
    free(server->free_slots);
    free(server);
}

void tcp_server_leave(struct tcp_server *server, uint32_t idle_ms)
{
    stop_accepting(server);
    server->is_leaving = true;
    server->config.idle_ms = idle_ms;
    ev_timer_stop(server->config.loop, &server->idle_timer);
    start_idle_timer(server);
}

/* Accepts pending connections second: by then, closing the idle ones has made room. */
void tcp_server_drain(struct tcp_server *server)
{
    server->draining = true;
    for (size_t i = 0; i < server->config.connections_max; i++) {
        struct tcp_connection *c = server->slots[i];
        if (c && c->is_throttled) {
            tcp_throttle_forget(c);
        }
        if (c && c->stream) {
            tcp_stream_drain(c);
        }
        if (c && c->handshake) {
            tcp_tls_drain(c);
        } else if (c) {
            tcp_connection_settle(c, tcp_connection_go_on(c));
        }
    }
    if (server->acceptor) {
        tcp_acceptor_take_waiting(server->acceptor);
        stop_accepting(server);
    }
}

size_t tcp_server_connections(const struct tcp_server *server)
{
    return server->count;
}

size_t tcp_server_connections_of(const struct tcp_server *server, enum engine_transport transport)
{
    return server->counts[transport];
}

uint64_t tcp_server_evictions(const struct tcp_server *server)
{
    return server->evictions;
}
