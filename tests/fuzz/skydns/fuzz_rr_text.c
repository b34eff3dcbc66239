/* Records of a message as text: what is printed is short enough, and printable. The first byte says
 * where the records begin. */
#include <assert.h>

#include "common/dns/dns.h"
#include "skydns/wire/rr_text.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > DNS_MESSAGE_MAX) {
        return 0;
    }
    struct reader r = reader_of(data, size);
    reader_seek(&r, data[0]);
    CLEANUP_BUF struct buf text = buf_of(RR_TEXT_MAX);
    for (size_t before = r.pos; !r.failed && rr_text_read(&r, &text); before = r.pos) {
        assert(r.pos > before && r.pos <= size && !text.failed);
        for (size_t i = 0; i < text.len; i++) {
            assert(text.data[i] >= ' ' && text.data[i] <= '~');
        }
        buf_clear(&text);
    }
    return 0;
}
