/* Listeners for TLS, HTTPS and gRPC. CoreDNS has a certificate for each block, skydns one for all:
 * so what a URL becomes is known when all blocks have been read. */
#include <string.h>

#include "skydns/corefile/translate_internal.h"

/* ---- The plugin tls ---- */

static bool has_files(const struct corefile_line *line)
{
    return (line->count == 3 || line->count == 4) && *line->words[1] && *line->words[2];
}

static bool same_words(const struct corefile_line *a, const struct corefile_line *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = strcmp(a->words[i], b->words[i]) == 0;
    }
    return same;
}

/* CoreDNS looks at the CAs only where they are demanded. */
static void take_client_auth(const struct plugin_use *use, const struct corefile_line *line)
{
    const struct corefile_line *head = &use->directive->head;
    const char *kind = line->count == 2 ? line->words[1] : "";
    if (strcmp(kind, "nocert") == 0) {
        translation_needless(use->t, line, "clients show no certificate without -client-ca");
    } else if (strcmp(kind, "require_and_verify") != 0) {
        translation_missing(use->t, line,
                            "none: clients show a certificate that is checked (-client-ca), or "
                            "none");
    } else if (head->count != 4 || !*head->words[3]) {
        translation_missing(use->t, line, "expected the file of the CAs");
    } else {
        use->t->wants_client_ca = true;
    }
}

void translate_tls(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"client_auth", .take = take_client_auth},
        {"keylog", .missing = "none: no file gets the keys of sessions"},
        {"acme", .missing = "none: get the certificate by cert-manager, or an ACME client"},
    };
    const struct corefile_line *head = &use->directive->head;
    if (!has_files(head)) {
        translation_missing(use->t, head, "expected a certificate and its key");
    } else if (!use->t->tls) {
        use->t->tls = head;
    } else if (!same_words(use->t->tls, head)) {
        translation_missing(use->t, head,
                            "another block has a certificate, which is shown to all: put the names "
                            "of both into it");
    }
    use_options(use, options, ARRAY_LEN(options));
}

/* ---- Addresses ---- */

static const char *scheme_end(const char *listener)
{
    const char *end = strstr(listener, "://");
    return end ? end + strlen("://") : listener;
}

static bool has_scheme(const char *listener, const char *scheme)
{
    return strncmp(listener, scheme, strlen(scheme)) == 0;
}

/* A TCP port speaks one protocol. */
static bool is_taken(const struct strings *taken, const char *listener)
{
    const char *other = NULL;
    while ((other = strings_next(taken, other))) {
        if (strcmp(scheme_end(other), scheme_end(listener)) == 0) {
            return true;
        }
    }
    return false;
}

static void settle(struct translation *t, const char *listener, struct strings *settled)
{
    bool is_https = has_scheme(listener, "https://");
    if (has_scheme(listener, "tls://") && !t->tls) {
        translation_missing_item(t, listener, "expected the plugin tls, with files");
    } else if (is_taken(settled, listener)) {
        translation_missing_item(t, listener, "another protocol has its port");
    } else if (is_https && !t->tls) { /* as CoreDNS does */
        translation_flag(settled, "http://%s", scheme_end(listener));
    } else {
        strings_add(settled, listener);
        t->has_tls_listener |= scheme_end(listener) != listener;
    }
}

void translate_settle_listeners(struct translation *t)
{
    const char *listener = NULL;
    struct strings settled;
    strings_init(&settled);
    while ((listener = strings_next(&t->listen, listener))) {
        settle(t, listener, &settled);
    }
    strings_fini(&t->listen);
    t->listen = settled;
    if (!t->tls) {
        return;
    }
    if (!t->has_tls_listener) {
        translation_needless(t, t->tls, "no address of the file speaks TLS");
        return;
    }
    translation_flag(&t->skydns, "-cert=%s", t->tls->words[1]);
    translation_flag(&t->skydns, "-key=%s", t->tls->words[2]);
    if (t->wants_client_ca) {
        translation_flag(&t->skydns, "-client-ca=%s", t->tls->words[3]);
    }
}
