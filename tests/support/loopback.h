/* Ports of the loopback interface for tests: above the well-known ones and below 32768, where Linux
 * picks ports for outgoing connections. */
#ifndef TESTS_SUPPORT_LOOPBACK_H
#define TESTS_SUPPORT_LOOPBACK_H

#include <stdbool.h>

#include "common/base/addr.h"

/* 127.0.0.1 and the port. */
struct addr loopback_addr(unsigned port);

/* Whether this machine has ::1. */
bool loopback_has_v6(void);

/* A free port that no other test process gets as long as this one lives. Fails the running cmocka
 * test if there is none. */
unsigned loopback_free_port(void);

/* A listening TCP socket; its address in *ret_addr. Fails the running test if it cannot. */
int loopback_listen(struct addr *ret_addr);

#endif
