/* The value of a --dns flag: a name, its type, and the server to ask. Pure; used by options. */
#ifndef EXECHEALTHZ_DNS_TARGET_H
#define EXECHEALTHZ_DNS_TARGET_H

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "exechealthz/dns_message.h"

enum { DNS_LABEL_TEXT_MAX = 64 }; /* a DNS label and NUL */

struct dns_target {
    /* Part of paths and metric names: letters, digits and _ */
    char label[DNS_LABEL_TEXT_MAX];
    struct dns_question question;
    struct addr server;
};

/* `[LABEL=]NAME[,TYPE][,SERVER[:PORT]]`. Defaults: the name's first label, with _ for other bytes;
 * type A; server 127.0.0.1:53. The server must be an IP address: no name is resolved. Errors say
 * what was expected. */
int dns_target_parse(const char *text, struct dns_target *ret_target, struct err *err) MUST_CHECK;

#endif
