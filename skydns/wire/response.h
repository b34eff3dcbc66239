/* A response being made, and what is known of it without reading it again. Plain data. */
#ifndef SKYDNS_WIRE_RESPONSE_H
#define SKYDNS_WIRE_RESPONSE_H

#include <stddef.h>
#include <stdint.h>

struct response {
    uint8_t *bytes; /* the caller's: as many as engine_answer's reply has */
    size_t len;     /* 0: there is none */
    size_t opt_at;  /* its OPT record, which comes last; 0: it has none */
};

#endif
