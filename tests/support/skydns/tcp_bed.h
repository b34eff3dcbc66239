/* A TCP server with a scripted answer function, and its clients, on one loop and one thread. Fails
 * the running cmocka test after PATIENCE_S. */
#ifndef TESTS_SUPPORT_SKYDNS_TCP_BED_H
#define TESTS_SUPPORT_SKYDNS_TCP_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/serve/tcp_server.h"

enum { LATE_MAX = 2 * TCP_WAITING_MAX };

/* A query's first byte selects its handling; the rest is echoed. */
enum { ECHO = 'e', LATE = 'l', SILENT = 's', HUGE_REPLY = 'h' };

struct tcp_bed {
    struct ev_loop *loop;
    struct tcp_server *server;
    struct addr address;
    ev_timer guard;
    unsigned queries;
    struct slice ahead[ENGINE_AHEAD_MAX]; /* from the latest look-ahead call */
    size_t ahead_count, ahead_most;
    size_t late_count;
    struct tcp_ref late[LATE_MAX];
    uint8_t late_tag[LATE_MAX]; /* the second byte of each */
    size_t client_waiting;      /* of the latest query */
};

struct tcp_bed_limits {
    size_t connections;
    size_t buffers;
    uint32_t idle_ms;
    int send_buffer; /* the kernel's; 0: as usual */
};

struct tcp_bed *tcp_bed_new(const struct tcp_bed_limits *limits);
void teardown(struct tcp_bed *bed);

/* As another client: from 127.0.0.N. */
int connect_from(struct tcp_bed *bed, uint8_t n);

int connect_client(struct tcp_bed *bed);

/* Runs the loop until the server has this many connections. */
void wait_for_connections(struct tcp_bed *bed, size_t count);

void wait_for_queries(struct tcp_bed *bed, unsigned count);

void send_all(int fd, const void *bytes, size_t len);

/* Reads exactly len bytes; the loop runs meanwhile. False at the end of the stream. */
bool receive(struct tcp_bed *bed, int fd, void *bytes, size_t len);

void assert_frame(struct tcp_bed *bed, int fd, const char *want);

/* Also closes the client's side. */
void assert_closed(struct tcp_bed *bed, int fd);

#endif
