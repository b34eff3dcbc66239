/* WHEN of -at: a revision or a time that is not to come, or a message that says what was expected.
 */
#include "skydns/past/past_job_internal.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t now_ms = INT64_C(1777636800000);
    struct moment moment;
    struct err err = {.code = 0};
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    int r = moment_parse(text, now_ms, &moment, &err);
    bool is_one = (moment.revision > 0) != (moment.time_ms > 0) && moment.time_ms <= now_ms;
    if (r == 0 ? !is_one : r != ERR_USAGE || !strstr(err.msg, "expected")) {
        abort();
    }
    free(text);
    return 0;
}
