/* A message of another process at the Unix socket of -reuse-port: what is read is what was written.
 */
#include <stdlib.h>
#include <string.h>

#include "skydns/handover/handover_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct handover_message message;
    uint8_t bytes[HANDOVER_MESSAGE_MAX];
    int r = handover_message_read(slice_of(data, size), &message);
    if (r != 0 && r != ERR_SYNTAX) {
        abort();
    }
    if (r == 0 &&
        (handover_message_write(&message, bytes) != size || memcmp(bytes, data, size) != 0)) {
        abort();
    }
    if (r == 0 && message.type == HANDOVER_REFUSED &&
        strlen(handover_refusal_text(message.refusal)) == 0) {
        abort();
    }
    return 0;
}
