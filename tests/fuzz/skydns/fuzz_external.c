/* A nameserver's reply to an external question: the first byte selects the question, the rest is
 * the reply. */
#include <stdlib.h>

#include "skydns/upstream/external.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct external_question question = {.type = 1};
    struct external_answer *answer = malloc(sizeof(*answer));
    if (answer && size > 0) {
        question.type = data[0] & 1 ? 28 : 1;
        if (dname_from_text(slice_str(data[0] & 2 ? "www.example.com." : "a.b."), &question.name)) {
            (void)external_read(&question, data + 1, size - 1, answer); /* either outcome is fine */
            if (answer->count > EXTERNAL_RRS_MAX) {
                abort();
            }
        }
    }
    free(answer);
    return 0;
}
