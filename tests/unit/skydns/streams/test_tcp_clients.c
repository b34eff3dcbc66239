/* Tests who counts as one client, and who has most: random connections against a plain model. */
#include "skydns/records/rng.h"
#include "skydns/streams/tcp_clients_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

static struct addr tcp_clients_address_of(const char *text)
{
    struct ip ip = ip_from(text);
    return addr_of_ip(&ip, 1);
}

static bool tcp_clients_is_same(const char *a, const char *b)
{
    struct addr one = tcp_clients_address_of(a), other = tcp_clients_address_of(b);
    struct client_net x = client_net_of(&one), y = client_net_of(&other);
    return slice_equal(client_net_key(&x), client_net_key(&y));
}

UNIT_TEST(test_who_is_one_client)
{
    struct addr mapped = {.v6 = {.sin6_family = AF_INET6}, .len = sizeof(mapped.v6)};
    struct addr plain = tcp_clients_address_of("192.0.2.1");
    assert_true(tcp_clients_is_same("192.0.2.1", "192.0.2.1"));
    assert_false(tcp_clients_is_same("192.0.2.1", "192.0.2.2"));
    assert_true(tcp_clients_is_same("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"));
    assert_false(tcp_clients_is_same("2001:db8:1:2::1", "2001:db8:1:3::1"));
    assert_false(tcp_clients_is_same("::1", "0.0.0.1"));
    mapped.v6.sin6_addr.s6_addr[10] = mapped.v6.sin6_addr.s6_addr[11] = 0xff;
    mapped.v6.sin6_addr.s6_addr[12] = 192;
    mapped.v6.sin6_addr.s6_addr[14] = 2;
    mapped.v6.sin6_addr.s6_addr[15] = 1;
    struct client_net x = client_net_of(&mapped), y = client_net_of(&plain);
    assert_true(slice_equal(client_net_key(&x), client_net_key(&y)));
}

enum { CLIENTS = 20, STEPS = 20000, BYTES_MAX = 1 << 20 };

struct model {
    struct addr addr;
    struct tcp_client *client; /* NULL: it has no connections */
    size_t connections, bytes, handshakes;
};

/* `found` has at least half of the most. */
static void assert_most(size_t found, size_t most)
{
    assert_true(found <= most && 2 * found >= most);
}

static void tcp_clients_check(const struct tcp_clients *clients, const struct model *models)
{
    size_t connections = 0, bytes = 0, handshakes = 0;
    for (size_t i = 0; i < CLIENTS; i++) {
        const struct model *m = &models[i];
        assert_ptr_equal(tcp_clients_find(clients, &m->addr), m->client);
        connections = m->connections > connections ? m->connections : connections;
        bytes = m->bytes > bytes ? m->bytes : bytes;
        handshakes = m->handshakes > handshakes ? m->handshakes : handshakes;
    }
    const struct tcp_client *by_connections = tcp_clients_most_connections(clients);
    const struct tcp_client *by_bytes = tcp_clients_most_buffered(clients);
    assert_most(by_connections ? by_connections->connections : 0, connections);
    assert_most(by_bytes ? by_bytes->buffered : 0, bytes);
    const struct tcp_client *by_handshakes = tcp_clients_most_handshakes(clients);
    assert_most(by_handshakes ? by_handshakes->handshakes : 0, handshakes);
}

static struct rng rng = {.state = 1}; /* the same in each run */

static size_t tcp_clients_below(size_t limit)
{
    return rng_next(&rng) % limit;
}

static void set_bytes(struct tcp_clients *clients, struct model *m, size_t bytes)
{
    tcp_clients_hold(clients, m->client, m->bytes, bytes);
    m->bytes = bytes;
}

static void set_handshakes(struct tcp_clients *clients, struct model *m, size_t handshakes)
{
    tcp_clients_shake_hands(clients, m->client, handshakes);
    m->handshakes = handshakes;
}

static void tcp_clients_change_one(struct tcp_clients *clients, struct model *m)
{
    switch (tcp_clients_below(5)) {
    case 0:
    case 1:
        m->client = tcp_clients_enter(clients, &m->addr);
        m->connections++;
        break;
    case 2:
        if (m->connections == 0) {
            break;
        }
        if (m->connections == 1) {
            set_bytes(clients, m, 0); /* as its last connection is closed */
            set_handshakes(clients, m, 0);
        }
        tcp_clients_leave(clients, m->client);
        m->client = --m->connections ? m->client : NULL;
        break;
    case 3:
        if (m->client) {
            set_handshakes(clients, m, tcp_clients_below(m->connections + 1));
        }
        break;
    default:
        if (m->client) {
            set_bytes(clients, m,
                      tcp_clients_below(8) ? tcp_clients_below(BYTES_MAX) >> tcp_clients_below(20)
                                           : 0);
        }
    }
}

UNIT_TEST(test_who_has_most)
{
    struct tcp_clients *clients = tcp_clients_new();
    struct model models[CLIENTS] = {{.connections = 0}};
    for (size_t i = 0; i < CLIENTS; i++) {
        char text[INET6_ADDRSTRLEN];
        (void)snprintf(text, sizeof(text), i % 2 ? "192.0.2.%zu" : "2001:db8:0:%zu::1", i);
        models[i].addr = tcp_clients_address_of(text);
    }
    tcp_clients_check(clients, models);
    for (size_t step = 0; step < STEPS; step++) {
        /* Some clients are busier, so that they differ. */
        tcp_clients_change_one(clients, &models[tcp_clients_below(1 + tcp_clients_below(CLIENTS))]);
        tcp_clients_check(clients, models);
    }
    tcp_clients_free(clients); /* frees those that are left */
    tcp_clients_free(NULL);
}
