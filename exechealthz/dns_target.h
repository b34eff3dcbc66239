/* What a --dns flag says: a name to be asked for, its type, whom to ask. Pure; used by options. */
#ifndef EXECHEALTHZ_DNS_TARGET_H
#define EXECHEALTHZ_DNS_TARGET_H

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "exechealthz/dns_message.h"

enum { DNS_LABEL_TEXT_MAX = 64 }; /* as long as a label of a name, and NUL */

struct dns_target {
    /* Part of a path and of metrics' names: letters, digits and _ */
    char label[DNS_LABEL_TEXT_MAX];
    struct dns_question question;
    struct addr server;
};

/* `[LABEL=]NAME[,TYPE][,SERVER[:PORT]]`. The label is the name's first one unless given, other
 * bytes as _; the type A; the server 127.0.0.1:53, given as an IP address, since nobody is asked
 * where it is. The error says what was expected. */
int dns_target_parse(const char *text, struct dns_target *ret_target, struct err *err) MUST_CHECK;

#endif
