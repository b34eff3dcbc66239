#include "tests/bench/instructions/kinds.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "tests/support/skydns/services.h"

/* Fills a batch, like those of the worker under load. */
enum { FULL = 64 };

enum { EDNS_SIZE = 1232, TAIL_SIZE = 4 };

/* ---- Names and addresses ---- */

static uint32_t kinds_address(unsigned a, unsigned b, unsigned c, unsigned d)
{
    return htonl((uint32_t)(a << 24 | b << 16 | c << 8 | d));
}

static uint32_t service_address(unsigned number)
{
    return services_address(number % SERVICES, 0);
}

uint32_t kinds_endpoint_address(unsigned number, unsigned endpoint)
{
    return kinds_address(10, 245 + endpoint, number % HEADLESS, 1);
}

static uint32_t first_endpoint(unsigned number)
{
    return kinds_endpoint_address(number, 0);
}

uint32_t kinds_pod_address(unsigned number)
{
    unsigned pod = number % PODS;
    return kinds_address(10, 244, pod / 250, 1 + pod % 250);
}

uint32_t kinds_external_address(unsigned number)
{
    return kinds_address(192, 0, 2 + number % EXTERNAL / 250, 1 + number % 250);
}

static void service_name(unsigned number, char *text)
{
    (void)snprintf(text, KIND_TEXT_MAX, "svc-%05u.default.svc.cluster.local.", number % SERVICES);
}

static void port_name(unsigned number, char *text)
{
    (void)snprintf(text, KIND_TEXT_MAX, "_http._tcp.svc-%05u.default.svc.cluster.local.",
                   number % SERVICES);
}

void kinds_headless_name(unsigned number, char *text)
{
    (void)snprintf(text, KIND_TEXT_MAX, "headless-%03u.default.svc.cluster.local.",
                   number % HEADLESS);
}

static void pod_name(unsigned number, char *text)
{
    uint32_t host = ntohl(kinds_pod_address(number));
    (void)snprintf(text, KIND_TEXT_MAX, "%u-%u-%u-%u.default.pod.cluster.local.", host >> 24,
                   host >> 16 & 255, host >> 8 & 255, host & 255);
}

static void reverse_name(unsigned number, char *text)
{
    uint32_t host = ntohl(service_address(number));
    (void)snprintf(text, KIND_TEXT_MAX, "%u.%u.%u.%u.in-addr.arpa.", host & 255, host >> 8 & 255,
                   host >> 16 & 255, host >> 24);
}

void kinds_external_name(unsigned number, char *text)
{
    (void)snprintf(text, KIND_TEXT_MAX, "www-%03u.example.com.", number % EXTERNAL);
}

static void override_name(unsigned number, char *text)
{
    (void)snprintf(text, KIND_TEXT_MAX, "app-%05u.acme.example.net.", number % SERVICES);
}

static void led_name(unsigned number, char *text)
{
    (void)snprintf(text, KIND_TEXT_MAX, "led-%05u.acme.example.net.", number % SERVICES);
}

static void searched_name(unsigned number, char *text)
{
    (void)snprintf(text, KIND_TEXT_MAX, "www-%03u.example.com.default.svc.cluster.local.",
                   number % EXTERNAL);
}

/* Each suffix of a pod's search path in turn. */
static void missed_name(unsigned number, char *text)
{
    static const char *const suffixes[] = {"default.svc.", "svc.", ""};
    (void)snprintf(text, KIND_TEXT_MAX, "www-%03u.example.com.%scluster.local.", number % EXTERNAL,
                   suffixes[number % 3]);
}

/* ---- Kinds ---- */

const struct kind kinds_plain[] = {
    {"service-a", service_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL, 0},
    {"service-aaaa", service_name, NULL, DNS_TYPE_AAAA, DNS_RCODE_NOERROR, 0, 1, 0, FULL, 0},
    {"miss-a", missed_name, NULL, DNS_TYPE_A, DNS_RCODE_NXDOMAIN, 0, 1, 0, FULL, 0},
    {"miss-aaaa", missed_name, NULL, DNS_TYPE_AAAA, DNS_RCODE_NXDOMAIN, 0, 1, 0, FULL, 0},
    {"port-srv", port_name, service_address, DNS_TYPE_SRV, DNS_RCODE_NOERROR, 1, 0, 1, FULL, 0},
    {"headless-a", kinds_headless_name, first_endpoint, DNS_TYPE_A, DNS_RCODE_NOERROR, ENDPOINTS, 0,
     0, FULL, 0},
    {"pod-a", pod_name, kinds_pod_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL, 0},
    {"address-ptr", reverse_name, NULL, DNS_TYPE_PTR, DNS_RCODE_NOERROR, 1, 0, 0, FULL, 0},
    {"foreign-a", kinds_external_name, kinds_external_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0,
     0, FULL, 0},
    {"foreign-aaaa", kinds_external_name, kinds_external_address, DNS_TYPE_AAAA, DNS_RCODE_NOERROR,
     1, 0, 0, FULL, 0},
    {"edns-a", service_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL,
     KIND_EDNS},
    {"alone-a", service_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, 1, 0},
    {"mixed-case-miss", missed_name, NULL, DNS_TYPE_A, DNS_RCODE_NXDOMAIN, 0, 1, 0, FULL,
     KIND_MIXED_CASE},
};
const size_t kinds_plain_count = sizeof(kinds_plain) / sizeof(kinds_plain[0]);

const struct kind kinds_watched[] = {
    {"watched-a", service_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL, 0},
    {"watched-miss", missed_name, NULL, DNS_TYPE_A, DNS_RCODE_NXDOMAIN, 0, 1, 0, FULL, 0},
};
const size_t kinds_watched_count = sizeof(kinds_watched) / sizeof(kinds_watched[0]);

const struct kind kinds_autopath[] = {
    {"autopath-a", searched_name, kinds_external_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 2, 0, 0,
     FULL, 0},
};
const size_t kinds_autopath_count = sizeof(kinds_autopath) / sizeof(kinds_autopath[0]);

const struct kind kinds_signed[] = {
    {"signed-a", service_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 2, 0, 0, FULL,
     KIND_EDNS | KIND_DNSSEC_OK},
    {"signed-miss", missed_name, NULL, DNS_TYPE_A, DNS_RCODE_NXDOMAIN, 0, 6, 0, FULL,
     KIND_EDNS | KIND_DNSSEC_OK},
};
const size_t kinds_signed_count = sizeof(kinds_signed) / sizeof(kinds_signed[0]);

const struct kind kinds_filtered[] = {
    {"no-aaaa", kinds_external_name, NULL, DNS_TYPE_AAAA, DNS_RCODE_NOERROR, 0, 1, 0, FULL, 0},
    {"filtered-a", kinds_external_name, kinds_external_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0,
     0, FULL, 0},
};
const size_t kinds_filtered_count = sizeof(kinds_filtered) / sizeof(kinds_filtered[0]);

const struct kind kinds_rated[] = {
    {"rated-a", service_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL, 0},
};
const size_t kinds_rated_count = sizeof(kinds_rated) / sizeof(kinds_rated[0]);

const struct kind kinds_override[] = {
    {"override-a", override_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL, 0},
    {"led-a", led_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL, 0},
};
const size_t kinds_override_count = sizeof(kinds_override) / sizeof(kinds_override[0]);

/* The endpoints with even numbers are in the clients' zone. */
const struct kind kinds_near[] = {
    {"near-a", kinds_headless_name, first_endpoint, DNS_TYPE_A, DNS_RCODE_NOERROR,
     (ENDPOINTS + 1) / 2, 0, 0, FULL, 0},
};
const size_t kinds_near_count = sizeof(kinds_near) / sizeof(kinds_near[0]);

const struct kind kinds_cookie[] = {
    {"cookie-a", service_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL,
     KIND_EDNS | KIND_COOKIE},
};
const size_t kinds_cookie_count = sizeof(kinds_cookie) / sizeof(kinds_cookie[0]);

const struct kind kinds_counted[] = {
    {"counted-a", service_name, service_address, DNS_TYPE_A, DNS_RCODE_NOERROR, 1, 0, 0, FULL, 0},
    {"counted-miss", missed_name, NULL, DNS_TYPE_A, DNS_RCODE_NXDOMAIN, 0, 1, 0, FULL, 0},
};
const size_t kinds_counted_count = sizeof(kinds_counted) / sizeof(kinds_counted[0]);

/* ---- Messages ---- */

struct dname kinds_dname(const char *text)
{
    struct dname name;
    if (!dname_from_text(slice_str(text), &name)) {
        (void)fprintf(stderr, "bench_instructions: no name: %s\n", text);
        abort();
    }
    return name;
}

static struct dname kinds_name_of(const struct kind *kind, unsigned number)
{
    char text[KIND_TEXT_MAX];
    kind->write_name(number, text);
    for (char *c = text; (kind->flags & KIND_MIXED_CASE) && *c; c += 2) {
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    return kinds_dname(text);
}

/* A client's cookie as it first comes, without a server's: RFC 7873 5.2.3. */
static void kinds_write_opt(const struct kind *kind, struct writer *w)
{
    enum { OPTION_COOKIE = 10, CLIENT_COOKIE = 8, HEAD = 4, DNSSEC_OK = 0x8000 };
    const bool has_cookie = (kind->flags & KIND_COOKIE) != 0;
    writer_u8(w, 0);
    writer_u16(w, DNS_TYPE_OPT);
    writer_u16(w, EDNS_SIZE);
    writer_u32(w, kind->flags & KIND_DNSSEC_OK ? DNSSEC_OK : 0);
    writer_u16(w, has_cookie ? HEAD + CLIENT_COOKIE : 0);
    if (has_cookie) {
        writer_u16(w, OPTION_COOKIE);
        writer_u16(w, CLIENT_COOKIE);
        writer_bytes(w, "\1\2\3\4\5\6\7\10", CLIENT_COOKIE);
    }
}

size_t kinds_query(const struct kind *kind, unsigned number, uint8_t *wire)
{
    struct dname name = kinds_name_of(kind, number);
    struct writer w = writer_of(wire, KIND_QUERY_MAX);
    writer_u16(&w, (uint16_t)number);
    writer_u16(&w, DNS_FLAG_RD);
    writer_u16(&w, 1);
    writer_u32(&w, 0);
    writer_u16(&w, (kind->flags & KIND_EDNS) != 0);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, kind->type);
    writer_u16(&w, DNS_CLASS_IN);
    if (kind->flags & KIND_EDNS) {
        kinds_write_opt(kind, &w);
    }
    return w.pos;
}

static unsigned kinds_u16_at(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

const char *kinds_fault(const struct kind *kind, unsigned number, const uint8_t *reply, size_t len)
{
    struct dname name = kinds_name_of(kind, number);
    size_t records_at = DNS_HEADER_SIZE + (size_t)name.len + TAIL_SIZE;
    if (len < records_at || kinds_u16_at(reply) != (number & 0xffff) ||
        kinds_u16_at(reply + 4) != 1 || memcmp(reply + DNS_HEADER_SIZE, name.wire, name.len) != 0) {
        return "not a reply to the question";
    }
    if ((kinds_u16_at(reply + 2) & DNS_FLAG_QR) == 0 ||
        (kinds_u16_at(reply + 2) & DNS_FLAG_TC) != 0 ||
        (reply[3] & DNS_MASK_RCODE) != kind->rcode) {
        return "wrong flags or code";
    }
    if (kinds_u16_at(reply + 6) != kind->answers || kinds_u16_at(reply + 8) != kind->authorities ||
        kinds_u16_at(reply + 10) != kind->additionals + (kind->flags & KIND_EDNS ? 1u : 0u)) {
        return "wrong number of records";
    }
    if (kind->address) {
        uint32_t right = kind->address(number);
        return memmem(reply + records_at, len - records_at, &right, sizeof(right))
                   ? NULL
                   : "not the right address";
    }
    return NULL;
}
