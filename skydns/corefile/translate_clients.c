/* The plugins about clients: acl, autopath, transfer and tsig. */
#include <string.h>

#include "common/base/network.h"
#include "skydns/corefile/translate_internal.h"

/* ---- acl ---- */

/* What the lines of one acl say so far. */
struct acl {
    struct strings networks; /* that may ask */
    bool is_closed;          /* all others may not */
    bool is_odd;             /* something has no counterpart */
};

static bool is_everybody(const char *source)
{
    return strcmp(source, "*") == 0 || strcmp(source, "0.0.0.0/0") == 0 ||
           strcmp(source, "::/0") == 0;
}

/* "allow net A B": the networks from the third word on. */
static bool take_networks(const struct plugin_use *use, const struct corefile_line *line,
                          struct acl *acl)
{
    for (size_t i = 2; i < line->count; i++) {
        struct network network;
        if (network_parse(slice_str(line->words[i]), &network, NULL) < 0) {
            return false;
        }
        translation_add(use->t, &acl->networks, ALLOWED_MAX, line->words[i], line);
    }
    return line->count > 2;
}

/* "block", "block net *": the end of a list of those who may. */
static bool is_rest(const struct corefile_line *line)
{
    bool is_all = line->count == 1 || line->count > 2;
    for (size_t i = 2; i < line->count; i++) {
        is_all = is_all && is_everybody(line->words[i]);
    }
    return is_all;
}

static void take_acl_line(const struct plugin_use *use, const struct corefile_line *line,
                          struct acl *acl)
{
    const char *why = NULL;
    bool has_net = line->count > 1 && strcmp(line->words[1], "net") == 0;
    if (acl->is_closed) {
        why = "none: it comes after the rule for everybody";
    } else if (line->count > 1 && !has_net) {
        why = "none: -allow is for all types";
    } else if (strcmp(line->words[0], "allow") == 0) {
        why = take_networks(use, line, acl) ? NULL : "expected networks like 10.0.0.0/8";
    } else if (strcmp(line->words[0], "block") == 0 && is_rest(line)) {
        acl->is_closed = true;
    } else {
        why = "none: -allow lists who may ask, and refuses all others";
    }
    if (why) {
        acl->is_odd = true;
        translation_missing(use->t, line, why);
    }
}

static void give_acl(const struct plugin_use *use, const struct acl *acl)
{
    const struct corefile_line *head = &use->directive->head;
    const char *network = NULL, *separator = "";
    struct buf list;
    if (!acl->is_closed || strings_is_empty(&acl->networks)) {
        translation_missing(use->t, head,
                            acl->is_odd ? "none: its rules are no list of who may ask"
                                        : "none: it lets everybody ask, or nobody");
        return;
    }
    if (use->t->has_acl) {
        translation_missing(use->t, head, "none: -allow is one list, for all names");
        return;
    }
    buf_init(&list, COREFILE_BYTES_MAX);
    while ((network = strings_next(&acl->networks, network))) {
        buf_printf(&list, "%s%s", separator, network);
        separator = ",";
    }
    use->t->has_acl = true;
    translation_flag(&use->t->skydns, "-allow=%s", buf_cstr(&list));
    buf_fini(&list);
}

/* Networks that may ask, then everybody else who may not: of all names. */
void translate_acl(const struct plugin_use *use)
{
    struct acl acl = {.is_odd = false};
    bool is_whole = use_argument_count(use) == 0
                        ? strings_has(use->zones, ".")
                        : use_argument_count(use) == 1 && strcmp(use_argument(use, 0), ".") == 0;
    if (!is_whole) {
        translation_missing(use->t, &use->directive->head, "none: -allow is for all names");
        return;
    }
    strings_init(&acl.networks);
    for (size_t i = 0; i < use->directive->line_count; i++) {
        take_acl_line(use, &use->directive->lines[i], &acl);
    }
    give_acl(use, &acl);
    strings_fini(&acl.networks);
}

/* ---- autopath ---- */

/* It needs the pods' keys, as in CoreDNS. */
void translate_autopath(const struct plugin_use *use)
{
    const struct corefile_line *head = &use->directive->head;
    size_t count = use_argument_count(use);
    if (count == 0 || strcmp(use_argument(use, count - 1), "@kubernetes") != 0) {
        translation_missing(use->t, head, "none: -autopath knows only the search lists of pods");
        return;
    }
    strings_add_once(&use->t->skydns, "-autopath");
    if (count > 1) {
        translation_missing(use->t, head, "none: -autopath is for all of -domain");
    }
    translation_missing(use->t, head,
                        "put what /etc/resolv.conf of its host searches into -search");
}

/* ---- transfer ---- */

static void take_to(const struct plugin_use *use, const struct corefile_line *line)
{
    struct translation *t = use->t;
    if (line->count < 2) {
        translation_missing(t, line, "expected addresses, or * for everybody");
    }
    for (size_t i = 1; i < line->count; i++) {
        if (strcmp(line->words[i], "*") == 0) {
            translation_add(t, &t->transfers, TRANSFERS_MAX, "0.0.0.0/0", line);
            translation_add(t, &t->transfers, TRANSFERS_MAX, "::/0", line);
        } else {
            translation_add(t, &t->transfers, TRANSFERS_MAX, line->words[i], line);
        }
    }
}

/* There, an address gets NOTIFY, too, and may be given with its port. */
void translate_transfer(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"to", .take = take_to},
    };
    if (use_argument_count(use) > 0) {
        translation_missing(use->t, &use->directive->head,
                            "none: -transfer-to is for all domains and reverse zones");
    }
    use_options(use, options, ARRAY_LEN(options));
}

/* ---- tsig ---- */

static bool same_file(const struct corefile_line *a, const struct corefile_line *b)
{
    return strcmp(a->words[1], b->words[1]) == 0;
}

/* CoreDNS's file, too, has what tsig-keygen prints. */
static void take_secrets(const struct plugin_use *use, const struct corefile_line *line)
{
    struct translation *t = use->t;
    if (line->count != 2) {
        translation_missing(t, line, "expected a file of keys");
    } else if (!t->tsig) {
        t->tsig = line;
        translation_flag(&t->skydns, "-tsig-keys=%s", line->words[1]);
    } else if (!same_file(t->tsig, line)) {
        translation_missing(t, line, "-tsig-keys is one file: put all keys into it");
    }
}

void translate_tsig(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"secrets", .take = take_secrets},
        {"secret", .missing = "put it into the file of -tsig-keys, as tsig-keygen prints it"},
        {"require", .missing = "none: queries without a signature are answered, too"},
    };
    use_options(use, options, ARRAY_LEN(options));
}
