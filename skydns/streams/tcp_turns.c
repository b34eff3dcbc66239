/* Puts off the connections of a client that has had its pieces of a turn of the loop, while there
 * are others. epoll tells of ready connections in the order in which they became ready, of
 * any client: one with thousands of them would have each other one wait behind a read for each.
 * Those put off wait in a queue in which clients take turns, and are not watched meanwhile. */
#include <stddef.h>

#include "common/base/attributes.h"
#include "skydns/streams/tcp_connection_internal.h"

static void put_off(struct tcp_connection *c)
{
    struct tcp_server *s = c->server;
    c->is_put_off = true;
    c->put_off.net = c->who->net;
    c->who->put_off++;
    fair_queue_push(&s->put_off, &c->put_off);
    c->events = 0;
    (void)!tcp_poller_set(s->poller, c->fd, true, 0, c->ref); /* false: it is told of again */
    ev_async_send(s->config.loop, &s->put_off_turn);
}

static void tcp_turns_count_piece(struct tcp_connection *c)
{
    struct tcp_client *who = c->who;
    const unsigned turn = ev_iteration(c->server->config.loop);
    if (who->piece_turn != turn) {
        who->piece_turn = turn;
        who->pieces = 0;
    }
    who->pieces++;
}

bool tcp_turns_take(struct tcp_connection *c)
{
    if (c->is_put_off) {
        return false;
    }
    tcp_turns_count_piece(c);
    const bool is_spent = tcp_connection_is_spent(c);
    if (c->who->put_off == 0 && c->who->pieces <= TCP_PIECES_A_TURN && !is_spent) {
        return true;
    }
    if (c->ending || tcp_clients_are_alone(c->server->clients)) {
        return !is_spent; /* if not, its events come again */
    }
    put_off(c);
    return false;
}

void tcp_turns_forget(struct tcp_connection *c)
{
    if (c->is_put_off) {
        c->is_put_off = false;
        c->who->put_off--;
        fair_queue_remove(&c->server->put_off, &c->put_off);
    }
}

/* Goes on with a connection as its event would have had it, unless that is over by now; with one of
 * a client that is spent, in the next turn. */
static void go_on_with(struct tcp_connection *c)
{
    if (tcp_connection_is_spent(c)) {
        fair_queue_push(&c->server->put_off, &c->put_off);
        return;
    }
    c->is_put_off = false;
    c->who->put_off--;
    if (tcp_connection_wants_to_send(c) || tcp_connection_is_held(c) || c->ending) {
        tcp_connection_settle(c, tcp_connection_go_on(c));
    } else {
        tcp_connection_read_single(c);
    }
}

/* Serves some of those put off. Others may close meanwhile. */
static void on_put_off(struct ev_loop *loop, ev_async *turn, int revents UNUSED)
{
    struct tcp_server *s = turn->data;
    struct fair_item *item;
    for (unsigned i = 0; i < TCP_PIECES_A_TURN && (item = fair_queue_pop(&s->put_off)); i++) {
        go_on_with((struct tcp_connection *)(void *)((char *)item -
                                                     offsetof(struct tcp_connection, put_off)));
        if (s->single_count == ENGINE_AHEAD_MAX) {
            tcp_connection_answer_singles(s);
        }
    }
    tcp_connection_answer_singles(s);
    if (!TAILQ_EMPTY(&s->put_off.turns)) {
        ev_async_send(loop, turn);
    }
}

void tcp_turns_init(struct tcp_server *server)
{
    fair_queue_init(&server->put_off);
    ev_async_init(&server->put_off_turn, on_put_off);
    ev_set_priority(&server->put_off_turn, EV_MINPRI); /* others' queries come first */
    server->put_off_turn.data = server;
    ev_async_start(server->config.loop, &server->put_off_turn);
}

void tcp_turns_fini(struct tcp_server *server)
{
    ev_async_stop(server->config.loop, &server->put_off_turn);
    fair_queue_fini(&server->put_off);
}
