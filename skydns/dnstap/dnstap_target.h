/* Where dnstap messages go: the value of -dnstap. Pure. */
#ifndef SKYDNS_DNSTAP_DNSTAP_TARGET_H
#define SKYDNS_DNSTAP_DNSTAP_TARGET_H

#include <stdbool.h>
#include <sys/un.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

/* All zero: nowhere. */
struct dnstap_target {
    bool is_set;
    bool is_unix;
    struct sockaddr_un unix_path; /* if is_unix */
    struct addr address;          /* else */
};

enum { DNSTAP_TARGET_TEXT_MAX = sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof("unix:") };

/* `unix:PATH`, of at most 107 bytes, as the kernel has it, and absolute, as nobody knows where a
 * service runs; or `tcp://IP:port`. "" is nowhere. ERR_USAGE. */
int dnstap_target_parse(const char *text, struct dnstap_target *ret_target,
                        struct err *err) MUST_CHECK;

/* The same form. Returns out. */
const char *dnstap_target_format(const struct dnstap_target *target,
                                 char out[DNSTAP_TARGET_TEXT_MAX]);

#endif
