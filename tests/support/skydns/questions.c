#include "tests/support/skydns/questions.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "tests/support/skydns/services.h"

/* Offset and size of the header's section counts. */
enum { COUNTS_AT = 4, COUNTS_SIZE = 8 };

/* Prepended to the Service's name. */
static const char *const labels_of[QUESTION_KINDS][2] = {
    [QUESTION_PORT] = {"_tcp", "_http"},
    [QUESTION_NO_NAME] = {"example"},
};

static const uint16_t type_of[QUESTION_KINDS] = {
    [QUESTION_ADDRESS] = DNS_TYPE_A,
    [QUESTION_NO_DATA] = DNS_TYPE_AAAA,
    [QUESTION_PORT] = DNS_TYPE_SRV,
    [QUESTION_NO_NAME] = DNS_TYPE_A,
};

static const struct {
    uint8_t rcode, counts[COUNTS_SIZE];
} right[QUESTION_KINDS] = {
    [QUESTION_ADDRESS] = {DNS_RCODE_NOERROR, {0, 1, 0, 1, 0, 0, 0, 0}},
    [QUESTION_NO_DATA] = {DNS_RCODE_NOERROR, {0, 1, 0, 0, 0, 1, 0, 0}},
    [QUESTION_PORT] = {DNS_RCODE_NOERROR, {0, 1, 0, 1, 0, 0, 0, 1}},
    [QUESTION_NO_NAME] = {DNS_RCODE_NXDOMAIN, {0, 1, 0, 0, 0, 1, 0, 0}},
};

void question_make(struct asked_question *question, enum question_kind kind, unsigned service,
                   uint16_t id)
{
    struct dname name = services_name(service);
    for (size_t i = 0; i < 2 && labels_of[kind][i]; i++) {
        if (!dname_prepend(&name, slice_str(labels_of[kind][i]))) {
            abort(); /* 51 bytes at most */
        }
    }
    struct writer w = writer_of(question->wire, sizeof(question->wire));
    writer_u16(&w, id);
    writer_u16(&w, DNS_FLAG_RD);
    writer_u16(&w, 1);
    writer_u16(&w, 0);
    writer_u32(&w, 0);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, type_of[kind]);
    writer_u16(&w, DNS_CLASS_IN);
    question->kind = kind;
    question->service = service;
    question->len = w.pos;
}

uint16_t question_id(const uint8_t *wire)
{
    return (uint16_t)(wire[0] << 8 | wire[1]);
}

uint32_t question_address(const uint8_t *wire, size_t len)
{
    uint32_t address;
    memcpy(&address, wire + len - sizeof(address), sizeof(address));
    return address;
}

bool question_is_answered(const struct asked_question *question, const uint8_t *wire, size_t len)
{
    enum question_kind kind = question->kind;
    if (len < question->len || (wire[3] & DNS_MASK_RCODE) != right[kind].rcode ||
        memcmp(wire + COUNTS_AT, right[kind].counts, COUNTS_SIZE) != 0) {
        return false;
    }
    if (kind != QUESTION_ADDRESS && kind != QUESTION_PORT) {
        return true;
    }
    for (unsigned state = 0; state < SERVICE_STATES; state++) {
        if (question_address(wire, len) == services_address(question->service, state)) {
            return true;
        }
    }
    return false;
}
