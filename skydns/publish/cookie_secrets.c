#include "skydns/publish/cookie_secrets.h"

#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

static bool cookie_secrets_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice cookie_secrets_trim(const char *line, size_t len)
{
    while (len > 0 && cookie_secrets_is_blank(line[len - 1])) {
        len--;
    }
    while (len > 0 && cookie_secrets_is_blank(*line)) {
        line++;
        len--;
    }
    return slice_of(line, len);
}

/* Returns the digit's value; -1: no digit. */
static int cookie_secrets_digit(char c)
{
    const char lower = (char)(c | 0x20);
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool cookie_secrets_read_secret(struct slice text, uint8_t secret[COOKIE_SECRET_SIZE])
{
    if (text.len != 2 * COOKIE_SECRET_SIZE) {
        return false;
    }
    for (size_t i = 0; i < COOKIE_SECRET_SIZE; i++) {
        int high = cookie_secrets_digit(text.ptr[2 * i]),
            low = cookie_secrets_digit(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        secret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

int cookie_secrets_parse(struct slice text, struct cookie_secrets *ret_secrets, struct err *err)
{
    struct cookie_secrets secrets = {0};
    size_t at = 0;
    for (unsigned number = 1; at < text.len; number++) {
        const char *line = text.ptr + at, *end = memchr(line, '\n', text.len - at);
        size_t len = end ? (size_t)(end - line) : text.len - at;
        struct slice item = cookie_secrets_trim(line, len);
        at += len + 1;
        if (item.len == 0) {
            continue;
        }
        if (secrets.count == COOKIE_SECRETS_MAX) {
            return err_set(err, ERR_SYNTAX, "line %u: expected at most %d secrets", number,
                           COOKIE_SECRETS_MAX);
        }
        if (!cookie_secrets_read_secret(item, secrets.items[secrets.count++])) {
            return err_set(err, ERR_SYNTAX, "line %u: expected a secret of 32 hex digits", number);
        }
    }
    if (secrets.count == 0) {
        return err_set(err, ERR_SYNTAX,
                       "expected a secret of 32 hex digits on each line, found none");
    }
    *ret_secrets = secrets;
    return 0;
}

void cookie_secrets_draw(struct cookie_secrets *ret_secrets)
{
    *ret_secrets = (struct cookie_secrets){.count = 1};
    if (getrandom(ret_secrets->items[0], COOKIE_SECRET_SIZE, 0) != COOKIE_SECRET_SIZE) {
        ret_secrets->count = 0; /* rather none than secrets that others can guess */
    }
}
