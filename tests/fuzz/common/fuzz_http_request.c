/* Any bytes as the head of a request: rejected, or parsed into strings within them, whatever
 * follows; the result is the same for every length that includes the complete head. Its Host is
 * judged from any bytes, too. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/http_hosts.h"
#include "common/http/http_request_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_string(const char *string, const uint8_t *bytes, size_t len)
{
    const uint8_t *start = (const uint8_t *)string;
    assert(start >= bytes && start < bytes + len);
    assert(memchr(start, '\0', len - (size_t)(start - bytes)));
}

/* Gets names of several labels alone. */
static bool is_ours(const void *data, struct slice name)
{
    (void)data;
    assert(name.len > 2 && memchr(name.ptr, '.', name.len));
    assert(*name.ptr != '.' && name.ptr[name.len - 1] != '.');
    return name.len % 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct http_hosts hosts = {.names = "a.example,b.example.", .is_ours = is_ours};
    size_t len = http_head_length(data, size);
    assert(len <= size);
    if (len == 0) {
        return 0;
    }
    assert(http_head_length(data, len) == len);
    assert(http_head_length(data, len - 1) == 0);
    uint8_t *bytes = malloc(len); /* exact size, so that a sanitizer catches reads past the end */
    struct http_head head;
    memcpy(bytes, data, len);
    if (http_head_parse(bytes, len, &head) == 0) {
        check_string(head.method, bytes, len);
        check_string(head.path, bytes, len);
        assert(*head.path == '/' || *head.path == '*');
        (void)http_hosts_allow(&hosts, head.host);
        assert(head.argument_count <= HTTP_ARGUMENTS_MAX);
        for (size_t i = 0; i < head.argument_count; i++) {
            check_string(head.arguments[i].name, bytes, len);
            check_string(head.arguments[i].value, bytes, len);
            assert(http_head_argument(&head, head.arguments[i].name));
        }
    }
    free(bytes);
    return 0;
}
