/* Any bytes as a label selector: rejected with a message, or accepted, and then still accepted with
 * one more requirement. */
#include <assert.h>

#include "common/base/xalloc.h"
#include "kube2sky/api/label_selector.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    char *text = xmalloc(size + 3);
    if (size > 0) {
        memcpy(text, data, size);
    }
    int rc = label_selector_check(slice_of(text, size), &err);
    assert(rc == 0 || (rc == ERR_SYNTAX && err.msg[0]));
    size_t blanks = 0;
    while (blanks < size && (text[blanks] == ' ' || text[blanks] == '\t')) {
        blanks++;
    }
    if (rc == 0 && blanks < size) {
        memcpy(text + size, ",a", 2);
        assert(label_selector_check(slice_of(text, size + 2), &err) == 0);
    }
    free(text);
    return 0;
}
