#include "kube2sky/api/label_selector.h"

#include <stdbool.h>
#include <string.h>

/* Limits of Kubernetes, from RFC 1035, section 2.3.4. */
enum { NAME_MAX_BYTES = 63, PREFIX_MAX_BYTES = 253 };

struct scanner {
    const char *start;
    const char *at;
    const char *end;
};

/* ---- Characters ---- */

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alphanumeric(char c)
{
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool is_word_char(char c)
{
    return is_alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '/';
}

/* ---- Words ---- */

static bool label_selector_is_name(struct slice text)
{
    if (text.len == 0 || text.len > NAME_MAX_BYTES || !is_alphanumeric(text.ptr[0]) ||
        !is_alphanumeric(text.ptr[text.len - 1])) {
        return false;
    }
    return !memchr(text.ptr, '/', text.len);
}

/* Returns whether the text is labels of lower-case letters, digits and inner hyphens. */
static bool label_selector_is_prefix(struct slice text)
{
    bool is_first = true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_last = i + 1 == text.len || text.ptr[i + 1] == '.';
        if (c == '.' ? is_first : !is_lower_or_digit(c) && (c != '-' || is_first || is_last)) {
            return false;
        }
        is_first = c == '.';
    }
    return text.len > 0 && text.len <= PREFIX_MAX_BYTES && !is_first;
}

static bool is_key(struct slice text)
{
    struct slice name = text;
    const struct slice prefix = slice_cut(&name, '/');
    return prefix.len == text.len
               ? label_selector_is_name(text)
               : label_selector_is_prefix(prefix) && label_selector_is_name(name);
}

static bool is_value(struct slice text)
{
    return text.len == 0 || label_selector_is_name(text);
}

/* ---- The grammar ---- */

static int label_selector_expected(const struct scanner *s, const char *at, const char *what,
                                   struct err *err)
{
    return err_set(err, ERR_SYNTAX, "expected %s at byte %zu", what, (size_t)(at - s->start) + 1);
}

static void label_selector_skip_blanks(struct scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t')) {
        s->at++;
    }
}

static bool label_selector_accept(struct scanner *s, const char *token)
{
    size_t len = strlen(token);
    label_selector_skip_blanks(s);
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, token, len) != 0) {
        return false;
    }
    s->at += len;
    return true;
}

/* Takes a word, which may be empty. */
static struct slice label_selector_take_word(struct scanner *s)
{
    label_selector_skip_blanks(s);
    const char *start = s->at;
    while (s->at < s->end && is_word_char(*s->at)) {
        s->at++;
    }
    return slice_of(start, (size_t)(s->at - start));
}

static int check_value(struct scanner *s, struct err *err)
{
    struct slice value = label_selector_take_word(s);
    return is_value(value) ? 0 : label_selector_expected(s, value.ptr, "a label's value", err);
}

static int check_values(struct scanner *s, struct err *err)
{
    if (!label_selector_accept(s, "(")) {
        return label_selector_expected(s, s->at, "`(`", err);
    }
    label_selector_skip_blanks(s);
    if (s->at < s->end && *s->at == ')') {
        return label_selector_expected(s, s->at, "a label's value", err);
    }
    do {
        int rc = check_value(s, err);
        if (rc < 0) {
            return rc;
        }
    } while (label_selector_accept(s, ","));
    return label_selector_accept(s, ")") ? 0 : label_selector_expected(s, s->at, "`,` or `)`", err);
}

/* Checks the operator that follows a key. */
static int check_operator(struct scanner *s, struct err *err)
{
    if (label_selector_accept(s, "==") || label_selector_accept(s, "!=") ||
        label_selector_accept(s, "=")) {
        return check_value(s, err);
    }
    const char *at = s->at;
    struct slice word = label_selector_take_word(s);
    if (slice_equal(word, slice_str("in")) || slice_equal(word, slice_str("notin"))) {
        return check_values(s, err);
    }
    return word.len == 0 ? 0 : label_selector_expected(s, at, "=, !=, in, notin or `,`", err);
}

static int check_requirement(struct scanner *s, struct err *err)
{
    bool is_absent = label_selector_accept(s, "!");
    struct slice key = label_selector_take_word(s);
    if (!is_key(key)) {
        return label_selector_expected(s, key.ptr, "a label's name", err);
    }
    return is_absent ? 0 : check_operator(s, err);
}

int label_selector_check(struct slice text, struct err *err)
{
    struct scanner s = {.start = text.ptr, .at = text.ptr, .end = text.ptr + text.len};
    label_selector_skip_blanks(&s);
    if (s.at == s.end) {
        return 0;
    }
    do {
        int rc = check_requirement(&s, err);
        if (rc < 0) {
            return rc;
        }
    } while (label_selector_accept(&s, ","));
    label_selector_skip_blanks(&s);
    return s.at == s.end ? 0 : label_selector_expected(&s, s.at, "`,` or the end", err);
}
