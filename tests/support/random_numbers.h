/* Random numbers that are the same in every run: splitmix64. A test sets the state first. */
#ifndef TESTS_SUPPORT_RANDOM_NUMBERS_H
#define TESTS_SUPPORT_RANDOM_NUMBERS_H

#include <stdint.h>

static uint64_t random_state;

static inline uint32_t random_below(uint32_t n)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) % n);
}

/* One of the items. */
#define RANDOM_PICK(...)                                                                           \
    ((const char *const[]){__VA_ARGS__})[random_below(sizeof((const char *const[]){__VA_ARGS__}) / \
                                                      sizeof(const char *))]

#endif
