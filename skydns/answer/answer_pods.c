/* -pods=insecure and -pods=disabled: a-b-c-d.<namespace>.pod.<domain> without reading records. */
#include <netinet/in.h>

#include "skydns/answer/answer_internal.h"

/* 10-0-0-1, or fd00--1: the dashes are dots when that makes an IPv4 address, else colons. */
static bool parse_label(struct slice label, struct ip *ret_ip)
{
    static const char separators[] = {'.', ':'};
    char text[INET6_ADDRSTRLEN];
    if (label.len >= sizeof(text)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(separators); i++) {
        for (size_t at = 0; at < label.len; at++) {
            text[at] = label.ptr[at] == '-' ? separators[i] : label.ptr[at];
        }
        if (ip_parse(slice_of(text, label.len), ret_ip)) {
            return true;
        }
    }
    return false;
}

static void add_pod(struct answer *a)
{
    enum rr_type type = a->pod.family_bytes == 4 ? RR_A : RR_AAAA;
    if (a->in.question->type == (uint16_t)type) {
        answer_add(a, (struct rr){.owner = a->owner,
                                  .ttl_s = a->config->settings.ttl_s,
                                  .type = type,
                                  .data = slice_of(a->pod.bytes, a->pod.family_bytes)});
    }
}

/* Insecure: pod.<domain> and any namespace below it exist; a label below a namespace exists if it
 * spells an address; nothing exists below that. Disabled: none of these exists. */
bool answer_pod(struct answer *a)
{
    if (a->zone->pods.len == 0 || !dname_is_within(&a->name, &a->zone->pods)) {
        return false;
    }
    unsigned labels = dname_label_count(&a->name) - a->zone->labels - 1;
    if (a->config->settings.pods == ENGINE_PODS_DISABLED || labels > 2) {
        answer_denied(a);
    } else if (labels == 2 && !parse_label(dname_label(&a->name, 0), &a->pod)) {
        answer_denied(a);
    } else if (labels == 2) {
        add_pod(a);
    }
    return true;
}
