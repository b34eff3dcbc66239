#include "common/dns/record_rrs.h"

#include <ldns/ldns.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

/* How much of a text an error message quotes. */
enum { SHOWN_BYTES = 60 };

static int refuse_text(struct slice text, const char *why, struct err *err)
{
    const int shown = (int)(text.len < SHOWN_BYTES ? text.len : SHOWN_BYTES);
    return err_set(err, ERR_SYNTAX, "field `rr`: `%.*s`: %s", shown, text.ptr, why);
}

static bool is_type_allowed(unsigned type)
{
    switch (type) {
    case 0:
    case DNS_TYPE_SOA:
    case DNS_TYPE_NS:
    case DNS_TYPE_CNAME:
    case DNS_TYPE_DNAME:
    case LDNS_RR_TYPE_OPT:
    case DNS_TYPE_DS:
    case DNS_TYPE_RRSIG:
    case DNS_TYPE_NSEC:
    case DNS_TYPE_DNSKEY:
    case LDNS_RR_TYPE_NSEC3:
    case LDNS_RR_TYPE_NSEC3PARAM:
    case DNS_TYPE_CDS:
    case DNS_TYPE_CDNSKEY:
    case LDNS_RR_TYPE_CSYNC:
    case LDNS_RR_TYPE_ZONEMD:
        return false;
    default:
        return type < 128 || type > 255; /* TSIG and the meta types: RFC 6895 3.1 */
    }
}

/* ---- Data ---- */

static bool is_one_name(struct slice data)
{
    struct reader r = reader_of(data.ptr, data.len);
    struct dname name;
    return dname_read(&r, &name) && reader_left(&r) == 0 && name.len == data.len;
}

static bool are_strings(struct slice data)
{
    size_t at = 0;
    while (at < data.len) {
        at += 1 + (size_t)(uint8_t)data.ptr[at];
    }
    return data.len > 0 && at == data.len;
}

/* Returns whether rdata is well-formed, for types whose rdata is taken apart to answer. */
static bool has_data_of_type(unsigned type, struct slice data)
{
    const size_t numbers = type == DNS_TYPE_SRV ? 6 : type == DNS_TYPE_MX ? 2 : 0;
    switch (type) {
    case DNS_TYPE_A:
        return data.len == 4;
    case DNS_TYPE_AAAA:
        return data.len == 16;
    case DNS_TYPE_TXT:
        return are_strings(data);
    case DNS_TYPE_PTR:
    case DNS_TYPE_MX:
    case DNS_TYPE_SRV:
        return data.len > numbers && is_one_name(slice_of(data.ptr + numbers, data.len - numbers));
    default:
        return true;
    }
}

/* ---- Text ---- */

/* Returns whether the text is one line: without control characters. libldns itself refuses an open
 * parenthesis. */
static bool is_one_line(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 127) {
            return false;
        }
    }
    return true;
}

/* Returns the type that the first word names; 0: none. Checked first, since libldns would also take
 * a TTL or a class there. */
static unsigned type_of_text(const char *text)
{
    char word[32];
    const size_t len = strcspn(text, " ");
    if (len == 0 || len >= sizeof(word)) {
        return 0;
    }
    memcpy(word, text, len);
    word[len] = '\0';
    return ldns_get_rr_type_by_name(word);
}

/* Returns whether libldns may read the text. It would look names of WKS's services up in system
 * files, so WKS must be written in RFC 3597's form. */
static bool record_rrs_is_readable(unsigned type, const char *text)
{
    return type != LDNS_RR_TYPE_WKS || strstr(text, "\\#");
}

static bool is_number(const ldns_rdf *field)
{
    switch ((unsigned)ldns_rdf_get_type(field)) {
    case LDNS_RDF_TYPE_INT8:
    case LDNS_RDF_TYPE_INT16:
    case LDNS_RDF_TYPE_INT32:
    case LDNS_RDF_TYPE_ALG:
    case LDNS_RDF_TYPE_CERT_ALG:
    case LDNS_RDF_TYPE_CERTIFICATE_USAGE:
    case LDNS_RDF_TYPE_SELECTOR:
    case LDNS_RDF_TYPE_MATCHING_TYPE:
        return true;
    default:
        return false;
    }
}

/* Returns whether the numbers that data begins with fit their fields: libldns takes them modulo. */
static bool have_numbers_room(const ldns_rr *rr, const char *text)
{
    const char *at = text + strcspn(text, " ");
    if (strstr(at, "\\#")) {
        return true; /* RFC 3597's form, whose length libldns checks */
    }
    for (size_t i = 0; i < ldns_rr_rd_count(rr) && is_number(ldns_rr_rdf(rr, i)); i++) {
        const size_t bits = 8 * ldns_rdf_size(ldns_rr_rdf(rr, i));
        at += strspn(at, " (");
        if (*at == '-' || strtoull(at, NULL, 10) >> bits != 0) {
            return false;
        }
        at += strcspn(at, " ");
    }
    return true;
}

static void record_rrs_append_data(ldns_rr *rr, struct buf *out)
{
    const bool keeps_case = ldns_rr_get_type(rr) == LDNS_RR_TYPE_MX ||
                            ldns_rr_get_type(rr) == LDNS_RR_TYPE_SRV ||
                            ldns_rr_get_type(rr) == LDNS_RR_TYPE_PTR;
    for (size_t i = 0; i < ldns_rr_rd_count(rr); i++) {
        ldns_rdf *field = ldns_rr_rdf(rr, i);
        if (ldns_rdf_get_type(field) == LDNS_RDF_TYPE_DNAME && !keeps_case) {
            ldns_dname2canonical(field);
        }
        buf_append(out, ldns_rdf_data(field), ldns_rdf_size(field));
    }
}

int record_rrs_add(struct slice text, struct buf *packed, struct err *err)
{
    if (!is_one_line(text)) {
        return refuse_text(text, "expected one line without control characters", err);
    }
    CLEANUP_FREE char *copy = xmalloc(text.len + 1);
    memcpy(copy, text.len ? text.ptr : "", text.len);
    copy[text.len] = '\0';
    const unsigned type = type_of_text(copy);
    if (type == 0) {
        return refuse_text(text, "expected a type and its data, like CAA 0 issue \"ca.test\"", err);
    }
    if (!record_rrs_is_readable(type, copy)) {
        return refuse_text(text, "expected the data of WKS as RFC 3597 has them: \\# LENGTH HEX",
                           err);
    }
    if (!is_type_allowed(type)) {
        return refuse_text(text, "a type that may not be set here", err);
    }
    CLEANUP_FREE char *line = xasprintf(". 0 IN %s", copy);
    ldns_rr *rr = NULL;
    const ldns_status status = ldns_rr_new_frm_str(&rr, line, 0, NULL, NULL);
    if (status != LDNS_STATUS_OK || ldns_rr_get_type(rr) != (ldns_rr_type)type) {
        ldns_rr_free(rr);
        return refuse_text(text, ldns_get_errorstr_by_id(status ? status : LDNS_STATUS_ERR), err);
    }
    const bool is_exact = have_numbers_room(rr, copy);
    struct buf data;
    buf_init(&data, RECORD_RRS_MAX);
    record_rrs_append_data(rr, &data);
    ldns_rr_free(rr);
    int r = 0;
    if (!is_exact) {
        r = refuse_text(text, "expected numbers that fit their fields", err);
    } else if (!has_data_of_type(type, buf_slice(&data))) {
        r = refuse_text(text, "expected the data that its type has", err);
    } else if (data.failed || packed->len + 4 + data.len > RECORD_RRS_MAX) {
        r = err_set(err, ERR_TOO_LARGE, "field `rr`: expected at most %d bytes of data",
                    RECORD_RRS_MAX);
    } else {
        buf_append_u16(packed, (uint16_t)type);
        buf_append_u16(packed, (uint16_t)data.len);
        buf_append_slice(packed, buf_slice(&data));
    }
    buf_fini(&data);
    return r;
}

bool record_rrs_are_packed(struct slice bytes)
{
    struct reader r = reader_of(bytes.ptr, bytes.len);
    struct record_rr rr;
    while (record_rrs_next(&r, &rr)) {
        if (!is_type_allowed(rr.type) || !has_data_of_type(rr.type, rr.data)) {
            return false;
        }
    }
    return !r.failed && reader_left(&r) == 0;
}
