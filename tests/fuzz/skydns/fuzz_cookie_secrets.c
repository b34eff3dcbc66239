/* The file of -cookie-secret: secrets, or a message that repeats nothing of it. */
#include "skydns/publish/cookie_secrets.h"
#include "tests/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cookie_secrets secrets = {.count = 0};
    struct err err = {.code = 0};
    int r = cookie_secrets_parse(slice_of(data, size), &secrets, &err);
    bool is_usable = secrets.count > 0 && secrets.count <= COOKIE_SECRETS_MAX &&
                     size >= secrets.count * 2 * COOKIE_SECRET_SIZE;
    if (r == 0 ? !is_usable : secrets.count != 0 || r != ERR_SYNTAX || strlen(err.msg) > 80) {
        abort();
    }
    return 0;
}
