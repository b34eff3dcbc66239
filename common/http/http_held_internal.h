/* Gives the socket of a held response to its holder (http_held.h). */
#ifndef COMMON_HTTP_HTTP_HELD_INTERNAL_H
#define COMMON_HTTP_HTTP_HELD_INTERNAL_H

#include <stdbool.h>

#include "common/http/http_held.h"

/* Takes ownership of the non-blocking descriptor. */
void http_held_take(struct http_held *held, int fd, bool is_head_alone);

#endif
