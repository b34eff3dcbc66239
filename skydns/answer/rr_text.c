#include "skydns/answer/rr_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    uint16_t type;
    const char *text;
} names[] = {
    {1, "A"},       {2, "NS"},    {5, "CNAME"},  {6, "SOA"},    {12, "PTR"},   {13, "HINFO"},
    {15, "MX"},     {16, "TXT"},  {28, "AAAA"},  {33, "SRV"},   {35, "NAPTR"}, {43, "DS"},
    {48, "DNSKEY"}, {64, "SVCB"}, {65, "HTTPS"}, {252, "AXFR"}, {255, "ANY"},
};

const char *rr_type_text(uint16_t type, char out[RR_TYPE_TEXT_MAX])
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].type == type) {
            return names[i].text;
        }
    }
    (void)snprintf(out, RR_TYPE_TEXT_MAX, "TYPE%u", type); /* RFC 3597; always fits */
    return out;
}

bool rr_type_parse(const char *text, uint16_t *ret_type)
{
    static const char generic[] = "TYPE";
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcasecmp(names[i].text, text) == 0) {
            *ret_type = names[i].type;
            return true;
        }
    }
    const char *digits = text + sizeof(generic) - 1;
    if (strncasecmp(text, generic, sizeof(generic) - 1) != 0 ||
        strspn(digits, "0123456789") != strlen(digits) || *digits == '\0' || strlen(digits) > 5) {
        return false;
    }
    unsigned long number = strtoul(digits, NULL, 10); /* five digits at most */
    *ret_type = (uint16_t)number;
    return number <= UINT16_MAX;
}

static void append_name(struct buf *out, struct slice wire)
{
    struct dname name = {.len = (uint8_t)wire.len};
    char text[DNAME_TEXT_MAX];
    memcpy(name.wire, wire.ptr, wire.len);
    buf_append_str(out, dname_to_text(&name, text));
}

static void append_address(struct buf *out, struct slice bytes)
{
    struct ip ip = {.family_bytes = (uint8_t)bytes.len};
    char text[INET6_ADDRSTRLEN];
    memcpy(ip.bytes, bytes.ptr, bytes.len);
    buf_append_str(out, ip_format(&ip, text));
}

static void append_quoted(struct buf *out, struct slice text)
{
    buf_append_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = (uint8_t)text.ptr[i];
        if (c < ' ' || c > '~' || c == '"' || c == '\\') {
            buf_printf(out, "\\%03u", c);
        } else {
            buf_append_char(out, (char)c);
        }
    }
    buf_append_char(out, '"');
}

static void append_soa(struct buf *out, const struct answer_soa *soa)
{
    append_name(out, soa->mname);
    buf_append_char(out, ' ');
    append_name(out, soa->rname);
    buf_printf(out, " %u %u %u %u %u", soa->serial, ANSWER_SOA_REFRESH_S, ANSWER_SOA_RETRY_S,
               ANSWER_SOA_EXPIRE_S, soa->minimum_s);
}

void rr_text(const struct rr *rr, const struct answer_soa *soa, struct buf *out)
{
    char type[RR_TYPE_TEXT_MAX];
    append_name(out, rr->owner);
    buf_printf(out, " %u %s ", rr->ttl_s, rr_type_text(rr->type, type));
    switch (rr->type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
        append_address(out, rr->data);
        break;
    case DNS_TYPE_TXT:
        append_quoted(out, rr->data);
        break;
    case DNS_TYPE_HINFO:
        buf_append_str(out, "\"RFC8482\" \"\"");
        break;
    case DNS_TYPE_SOA:
        append_soa(out, soa);
        break;
    case DNS_TYPE_SRV:
        buf_printf(out, "%u %u %u ", rr->priority, rr->weight, rr->port);
        append_name(out, rr->data);
        break;
    case DNS_TYPE_MX:
        buf_printf(out, "%u ", rr->priority);
        append_name(out, rr->data);
        break;
    default: /* CNAME, NS, PTR */
        append_name(out, rr->data);
        break;
    }
}
