#include "exechealthz/dns_target.h"

#include <string.h>

enum { DNS_PORT = 53 };

static bool is_label_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* False: not letters, digits and _ only, or too long. */
static bool take_label(struct slice text, char out[DNS_LABEL_TEXT_MAX])
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_label_byte(text.ptr[i])) {
            return false;
        }
    }
    if (text.len == 0 || text.len >= DNS_LABEL_TEXT_MAX) {
        return false;
    }
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return true;
}

static void label_of_name(const struct dname *name, char out[DNS_LABEL_TEXT_MAX])
{
    struct slice first = name->len > 1 ? dname_label(name, 0) : slice_str("root");
    for (size_t i = 0; i < first.len; i++) {
        out[i] = first.ptr[i];
        if (!is_label_byte(out[i])) {
            out[i] = '_';
        }
    }
    out[first.len] = '\0'; /* DNAME_LABEL_MAX bytes at most */
}

/* The next part, and the text after its comma. */
static struct slice next_part(const char **text)
{
    struct slice part = slice_of(*text, strcspn(*text, ","));
    *text += part.len;
    *text += **text == ',';
    return part;
}

/* "10.0.0.10", "10.0.0.10:53", "fd00::10", "[fd00::10]:53". */
static bool parse_server(struct slice text, struct addr *ret)
{
    char copy[ADDR_TEXT_MAX];
    struct ip ip;
    if (ip_parse(text, &ip)) {
        *ret = addr_of_ip(&ip, DNS_PORT);
        return true;
    }
    if (text.len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return addr_parse(copy, ret, NULL) == 0;
}

static int parse_name(struct slice text, struct dns_target *t, struct err *err)
{
    const char *equals = text.len ? memchr(text.ptr, '=', text.len) : NULL;
    struct slice name = text;
    if (equals) {
        struct slice label = slice_of(text.ptr, (size_t)(equals - text.ptr));
        name = slice_of(equals + 1, text.len - label.len - 1);
        if (!take_label(label, t->label)) {
            return err_set(err, ERR_USAGE, "label `%.*s`: expected letters, digits and _, 1-%d",
                           (int)label.len, label.ptr, DNS_LABEL_TEXT_MAX - 1);
        }
    }
    if (name.len == 0 || !dname_from_text(name, &t->question.name)) {
        return err_set(err, ERR_USAGE, "name `%.*s`: expected a domain name", (int)name.len,
                       name.ptr);
    }
    if (!equals) {
        label_of_name(&t->question.name, t->label);
    }
    return 0;
}

int dns_target_parse(const char *text, struct dns_target *ret_target, struct err *err)
{
    const struct ip loopback = {.family_bytes = 4, .bytes = {127, 0, 0, 1}};
    struct dns_target t = {
        .question.type = DNS_TYPE_A,
        .server = addr_of_ip(&loopback, DNS_PORT),
    };
    int r = parse_name(next_part(&text), &t, err);
    if (r < 0) {
        return r;
    }
    const char *behind_name = text;
    struct slice part = next_part(&text);
    if (dns_question_type(part, &t.question.type)) {
        part = next_part(&text);
    }
    if ((part.len > 0 && !parse_server(part, &t.server)) || *text != '\0') {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected [TYPE][,SERVER[:PORT]], a type like A or SRV and an IP "
                       "address like 127.0.0.1:53",
                       behind_name);
    }
    *ret_target = t;
    return 0;
}
