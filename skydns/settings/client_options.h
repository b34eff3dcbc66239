/* What clients see of others' names: -visibility and the flags that go with it. Plain data. Main
 * thread. */
#ifndef SKYDNS_SETTINGS_CLIENT_OPTIONS_H
#define SKYDNS_SETTINGS_CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/clients/visibility.h"

/* A label of RFC 1035 is no longer, and a namespace is one. */
enum { NAMESPACE_TEXT_MAX = 63 };

struct namespace_name {
    uint8_t len;
    char text[NAMESPACE_TEXT_MAX]; /* in lower case, without a final NUL */
};

struct client_options {
    bool is_own; /* -visibility=own */
    enum visibility_unknown unknown;
    size_t public_count;
    struct namespace_name public_names[VISIBILITY_PUBLIC_MAX]; /* each once */
};

#endif
