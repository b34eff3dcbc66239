/* Reads and shows the settings that are lists of items of one kind, one row each: a new list is a
 * row of option_lists.c. Pure; main thread. */
#ifndef SKYDNS_SETTINGS_OPTION_LISTS_H
#define SKYDNS_SETTINGS_OPTION_LISTS_H

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "skydns/settings/options.h"

enum option_list {
    OPTION_NO_LIST,
    OPTION_DOMAINS,
    OPTION_EXTERNAL_ZONES,
    OPTION_NAMESERVERS,
    OPTION_STUB_FALLBACKS,
    OPTION_SEARCH,
    OPTION_NO_AAAA,
    OPTION_DNS64_EXCLUDED,
    OPTION_REVERSE_ZONES,
    OPTION_PUBLIC_NAMESPACES,
    OPTION_ADMITTED,
    OPTION_HTTP_ALLOWED,
    OPTION_TRANSFERS,
};

/* Replaces the list by the items of a text, with commas between, of which empty ones are ignored;
 * or fails with ERR_USAGE, quoting the item that is wrong, or one too many. */
int option_list_read(enum option_list list, struct options *o, const char *text,
                     struct err *err) MUST_CHECK;
/* Adds one more item; one that is there already changes nothing where each counts once. */
int option_list_add(enum option_list list, struct options *o, const char *item,
                    struct err *err) MUST_CHECK;
/* Appends the items as the flag takes them. */
void option_list_show(enum option_list list, const struct options *o, struct buf *out);

/* Appends an IPv6 network as it is: ip_format would make IPv4 ones of those of mapped addresses. */
void option_list_show_ipv6(const struct network *network, struct buf *out);

/* Returns whether the text has the item. */
bool option_list_has(const char *text, const char *item);

#endif
