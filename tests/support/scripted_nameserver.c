#include "tests/support/scripted_nameserver.h"

#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

/* A port that is free for TCP is rarely in use for UDP. */
enum { ATTEMPTS = 100 };

int scripted_nameserver_sockets(struct addr *ret_address, int *ret_tcp)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        *ret_tcp = loopback_listen(ret_address);
        int udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (udp >= 0 && bind(udp, &ret_address->sa, ret_address->len) == 0) {
            return udp;
        }
        if (udp >= 0) {
            close(udp);
        }
        close(*ret_tcp);
    }
    fail_msg("no port free for both UDP and TCP");
    return -1;
}

struct addr scripted_nameserver_nowhere(void)
{
    struct addr address;
    int tcp, udp = scripted_nameserver_sockets(&address, &tcp);
    close(udp);
    close(tcp);
    return address;
}

static void count_try(struct scripted_nameserver *ns)
{
    const uint32_t port_and_id =
        (uint32_t)addr_port(&ns->client) << 16 | (uint32_t)ns->message[0] << 8 | ns->message[1];
    for (unsigned i = 0; i < ns->tries && i < SCRIPTED_TRIES_MAX; i++) {
        if (ns->known[i] == port_and_id) {
            return;
        }
    }
    if (ns->tries < SCRIPTED_TRIES_MAX) {
        ns->known[ns->tries] = port_and_id;
    }
    ns->tries++;
}

static void scripted_nameserver_on_query(struct ev_loop *loop, ev_io *io, int revents)
{
    struct scripted_nameserver *ns = io->data;
    ns->client.len = sizeof(ns->client.v6);
    ssize_t n =
        recvfrom(io->fd, ns->message, sizeof(ns->message), 0, &ns->client.sa, &ns->client.len);
    if (n < 0) {
        return;
    }
    ns->len = (size_t)n;
    ns->seen++;
    count_try(ns);
    if (ns->script) {
        ns->script(ns);
    }
}

void scripted_nameserver_close_connection(struct scripted_nameserver *ns)
{
    if (ns->connection.fd >= 0) {
        ev_io_stop(ns->loop, &ns->connection);
        close(ns->connection.fd);
        ns->connection.fd = -1;
    }
}

static void on_tcp_bytes(struct ev_loop *loop, ev_io *io, int revents)
{
    struct scripted_nameserver *ns = io->data;
    ssize_t n = recv(io->fd, ns->message + ns->len, sizeof(ns->message) - ns->len, 0);
    if (n <= 0) {
        scripted_nameserver_close_connection(ns);
        return;
    }
    ns->len += (size_t)n;
    size_t query_len = ns->len < 2 ? 0 : (size_t)(ns->message[0] << 8 | ns->message[1]);
    if (query_len > 0 && ns->len == 2 + query_len) {
        ns->len = query_len;
        memmove(ns->message, ns->message + 2, query_len);
        if (ns->tcp_script) {
            ns->tcp_script(ns);
        }
    }
}

static void scripted_nameserver_on_connection(struct ev_loop *loop, ev_io *io, int revents)
{
    struct scripted_nameserver *ns = io->data;
    scripted_nameserver_close_connection(ns);
    int fd = accept(io->fd, NULL, NULL);
    if (fd >= 0) {
        ns->connections++;
        ns->len = 0;
        ev_io_init(&ns->connection, on_tcp_bytes, fd, EV_READ);
        ns->connection.data = ns;
        ev_io_start(loop, &ns->connection);
    }
}

void scripted_nameserver_start(struct scripted_nameserver *ns, struct ev_loop *loop,
                               void (*script)(struct scripted_nameserver *))
{
    int tcp;
    *ns = (struct scripted_nameserver){.loop = loop, .script = script, .connection.fd = -1};
    ev_io_init(&ns->udp, scripted_nameserver_on_query,
               scripted_nameserver_sockets(&ns->address, &tcp), EV_READ);
    ns->udp.data = ns;
    ev_io_start(loop, &ns->udp);
    ev_io_init(&ns->listener, scripted_nameserver_on_connection, tcp, EV_READ);
    ns->listener.data = ns;
    ev_io_start(loop, &ns->listener);
}

void scripted_nameserver_stop_listening(struct scripted_nameserver *ns)
{
    if (ns->listener.fd >= 0) {
        ev_io_stop(ns->loop, &ns->listener);
        close(ns->listener.fd);
        ns->listener.fd = -1;
    }
}

void scripted_nameserver_stop(struct scripted_nameserver *ns)
{
    scripted_nameserver_close_connection(ns);
    scripted_nameserver_stop_listening(ns);
    ev_io_stop(ns->loop, &ns->udp);
    close(ns->udp.fd);
}

void scripted_nameserver_send(struct scripted_nameserver *ns)
{
    assert_int_equal(sendto(ns->udp.fd, ns->message, ns->len, 0, &ns->client.sa, ns->client.len),
                     ns->len);
}
