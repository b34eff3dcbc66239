/* Any bytes as the head of a request: rejected, or parsed into strings within them, whatever
 * follows; the result is the same for every length that includes the complete head. Its Host is
 * judged from any bytes, too. */
#include <assert.h>

#include "common/http/http_admission.h"
#include "common/http/http_request_internal.h"
#include "tests/fuzz/fuzz_target.h"

static void check_string(const char *string, const uint8_t *bytes, size_t len)
{
    const uint8_t *start = (const uint8_t *)string;
    assert(start >= bytes && start < bytes + len);
    assert(memchr(start, '\0', len - (size_t)(start - bytes)));
}

/* Gets names of several labels alone. */
static bool http_request_is_ours(const void *data, struct slice name)
{
    (void)data;
    assert(name.len > 2 && memchr(name.ptr, '.', name.len));
    assert(*name.ptr != '.' && name.ptr[name.len - 1] != '.');
    return name.len % 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct http_hosts hosts = {.names = "a.example,b.example.",
                                     .is_ours = http_request_is_ours};
    const struct http_head new = {.takes_bare_lf = size % 2};
    struct http_head head = new;
    if (http_head_parse(&head, data, size) != 0) {
        return 0;
    }
    size_t len = head.at;
    uint8_t *bytes = malloc(len); /* exact size, so that a sanitizer catches reads past the end */
    struct http_head same = new;
    struct http_request request;
    memcpy(bytes, data, len);
    assert(len <= size && http_head_parse(&same, bytes, len - 1) == HTTP_HEAD_MORE);
    assert(http_head_parse(&same, bytes, len) == 0 && same.at == len &&
           same.body_len == head.body_len);
    (void)http_hosts_allow(&hosts, http_head_text(bytes, head.host));
    if (http_request_parse(bytes, &head, &request) == 0) {
        check_string(request.method, bytes, len);
        check_string(request.path, bytes, len);
        assert(*request.path == '/' || *request.path == '*');
        assert(request.argument_count <= HTTP_ARGUMENTS_MAX);
        for (size_t i = 0; i < request.argument_count; i++) {
            check_string(request.arguments[i].name, bytes, len);
            check_string(request.arguments[i].value, bytes, len);
            assert(http_request_arg(&request, request.arguments[i].name));
        }
    }
    free(bytes);
    return 0;
}
