/* RAND_METHOD is deprecated, and still what every RAND_bytes of OpenSSL 3 asks first. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "tests/recorded/fixed.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

static int64_t fixed_now_s = 1, fixed_now_ms = 1;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags);

void fixed_set_time(int64_t now_s, int64_t now_ms)
{
    fixed_now_s = now_s;
    fixed_now_ms = now_ms;
}

/* Counts the time that a thread or process has used as none. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    *ret_now = (struct timespec){0};
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        ret_now->tv_sec = fixed_now_s;
    } else if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE) {
        ret_now->tv_sec = fixed_now_ms / 1000;
        ret_now->tv_nsec = fixed_now_ms % 1000 * 1000000;
    }
    return 0;
}

/* The same whatever was asked before, so that an additional call changes no later one. */
static void fixed_fill(uint8_t *bytes, size_t len)
{
    static const char digits[] = "31415926535897932384626433832795";
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)digits[i % (sizeof(digits) - 1)];
    }
}

ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags)
{
    (void)flags;
    fixed_fill(bytes, len);
    return (ssize_t)len;
}

static int fixed_rand_bytes(unsigned char *bytes, int len)
{
    fixed_fill(bytes, (size_t)len);
    return 1;
}

static int fixed_rand_status(void)
{
    return 1;
}

void fixed_begin(void)
{
    static const RAND_METHOD method = {
        .bytes = fixed_rand_bytes, .pseudorand = fixed_rand_bytes, .status = fixed_rand_status};
    if (RAND_set_rand_method(&method) != 1) {
        (void)fprintf(stderr, "record_answers: OpenSSL takes no random of ours\n");
        exit(2);
    }
}
