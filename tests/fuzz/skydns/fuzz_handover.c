/* A message of another process at the Unix socket of -reuse-port: what is read is what was written.
 */
#include "skydns/handover/handover_message.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct handover_message message;
    uint8_t bytes[HANDOVER_MESSAGE_MAX];
    int r = handover_message_read(slice_of(data, size), &message);
    fuzz_check(r == 0 || r == ERR_SYNTAX);
    fuzz_check(r != 0 ||
               (handover_message_write(&message, bytes) == size && memcmp(bytes, data, size) == 0));
    fuzz_check(r != 0 || message.type != HANDOVER_REFUSED ||
               strlen(handover_refusal_text(message.refusal)) != 0);
    return 0;
}
