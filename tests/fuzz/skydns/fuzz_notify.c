/* Any bytes as a reply to NOTIFY, and to the question for the SOA: only one with the ID and the
 * zone counts. */
#include "common/dns/dns.h"
#include "skydns/transfer/notifier_internal.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct dname apex = {.len = 15, .wire = "\7cluster\5local"};
    uint16_t id = size >= 2 ? (uint16_t)(data[0] << 8 | data[1]) : 0;
    if (notifier_is_reply(data, size, id, &apex)) {
        fuzz_check(size >= DNS_HEADER_SIZE + apex.len + 2U && (data[2] & 0x80) != 0);
        fuzz_check(!notifier_is_reply(data, size, id ^ 1, &apex));
        fuzz_check(!notifier_is_reply(data, DNS_HEADER_SIZE, id, &apex));
    }
    bool has_serial;
    uint32_t serial;
    if (notifier_is_answer(data, size, id, &apex, &has_serial, &serial)) {
        fuzz_check(!notifier_is_reply(data, size, id, &apex));
        fuzz_check(!has_serial || size >= DNS_HEADER_SIZE + apex.len + 4U + 17U);
    }
    return 0;
}
