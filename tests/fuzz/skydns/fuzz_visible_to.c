/* The text of an annotation: whatever it contains, exactly the namespaces it names may see the one
 * that has it, and each namespace is told once. */
#include "skydns/clients/visibility.h"
#include "tests/fuzz/fuzz_target.h"

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

static bool visible_to_is_name(struct slice part)
{
    for (size_t i = 0; i < part.len; i++) {
        if (!is_name_byte(part.ptr[i])) {
            return false;
        }
    }
    return part.len > 0 && part.len <= 63 && part.ptr[0] != '-' && part.ptr[part.len - 1] != '-';
}

static struct slice visible_to_trim(struct slice part)
{
    while (part.len > 0 && memchr(" \t\r\n", part.ptr[0], 4)) {
        part = slice_of(part.ptr + 1, part.len - 1);
    }
    while (part.len > 0 && memchr(" \t\r\n", part.ptr[part.len - 1], 4)) {
        part.len--;
    }
    return part;
}

static bool find_star(struct slice text, unsigned *ret_names)
{
    bool has_star = false;
    *ret_names = 0;
    for (size_t at = 0; at <= text.len;) {
        const char *comma = at < text.len ? memchr(text.ptr + at, ',', text.len - at) : NULL;
        size_t end = comma ? (size_t)(comma - text.ptr) : text.len;
        struct slice part = visible_to_trim(slice_of(text.ptr + at, end - at));
        *ret_names += visible_to_is_name(part);
        has_star = has_star || (part.len == 1 && part.ptr[0] == '*');
        at = end + 1;
    }
    return has_star;
}

static bool count_shop(void *data, struct slice ns)
{
    *(unsigned *)data += slice_equal(ns, slice_str("shop"));
    return true;
}

static void check_client(const struct visibility *v, struct slice part, bool want)
{
    struct client_space client = {.label_len = (uint8_t)part.len};
    unsigned told = 0;
    if (part.len == 0 || part.len > sizeof(client.label) || slice_equal(part, slice_str("shop"))) {
        return;
    }
    memcpy(client.label, part.ptr, part.len);
    fuzz_check(visibility_each(v, &client, count_shop, &told) && told == want &&
               visibility_shows(v, slice_str("shop"), &client) == want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = slice_of(data, size);
    unsigned names;
    bool has_star = find_star(text, &names);
    const struct visible_namespace listed = {slice_str("shop"), text};
    struct visibility *v = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, NULL, 0, &listed, 1);
    for (size_t at = 0; at < size && names <= VISIBILITY_NAMES_MAX;) {
        const char *comma = memchr(text.ptr + at, ',', size - at);
        size_t end = comma ? (size_t)(comma - text.ptr) : size;
        struct slice part = visible_to_trim(slice_of(text.ptr + at, end - at));
        check_client(v, part, has_star || visible_to_is_name(part));
        at = end + 1;
    }
    fuzz_check(names > VISIBILITY_NAMES_MAX ||
               visibility_shows(v, slice_str("shop"), NULL) == has_star);
    visibility_unref(v);
    return 0;
}
