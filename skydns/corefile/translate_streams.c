/* Translates listeners for TLS, HTTPS and gRPC. CoreDNS has a certificate for each block, skydns
 * one for all. So what a URL becomes is known when all blocks have been read. */
#include <string.h>

#include "skydns/corefile/translate_internal.h"

/* ---- The plugin tls ---- */

static bool has_files(const struct corefile_line *line)
{
    return (line->count == 3 || line->count == 4) && *line->words[1] && *line->words[2];
}

/* Takes client_auth. CoreDNS looks at the CAs only where they are demanded. A certificate that it
 * demands without looking at is checked here. */
static void take_client_auth(const struct plugin_use *use, const struct corefile_line *line)
{
    static const char *const optional[] = {"request", "verify_if_given"};
    const struct corefile_line *head = &use->directive->head;
    struct translation *t = use->t;
    const char *kind = line->count == 2 ? line->words[1] : "";
    const char *ca = head->count == 4 ? head->words[3] : "";
    if (strcmp(kind, "nocert") == 0) {
        note_line(t, NOTE_NEEDLESS, line, "clients show no certificate without -client-ca");
    } else if (strcmp(kind, optional[0]) == 0 || strcmp(kind, optional[1]) == 0) {
        note_line(t, NOTE_MISSING, line,
                  "none: clients show a certificate that is checked (-client-ca), or none");
    } else if (!*ca || (t->client_ca && strcmp(t->client_ca, ca) != 0)) {
        t->lacks_tls = true;
        note_line(t, NOTE_NARROWER, line,
                  *ca ? "another block has other CAs: put both in one file, or there is no TLS, "
                        "HTTPS and gRPC"
                      : "expected the file of the CAs: without, there is no TLS, HTTPS and gRPC");
    } else {
        t->client_ca = ca;
    }
}

void translate_tls(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"client_auth", .take = take_client_auth},
        {"keylog", MISSING("none: no file gets the keys of sessions")},
        {"acme", MISSING("none: get the certificate by cert-manager, or an ACME client")},
    };
    const struct corefile_line *head = &use->directive->head;
    struct translation *t = use->t;
    if (!has_files(head)) {
        t->has_broken_tls = true;
        use_note(use, NOTE_MISSING, "expected a certificate and its key");
    } else if (!t->tls) {
        t->tls = head;
    } else if (!corefile_line_equal(t->tls, head)) {
        use_note(use, NOTE_MISSING,
                 "another block has a certificate, which is shown to all: put the names of both "
                 "into it");
    }
    if (!use_options(use, options, ARRAY_LEN(options)) && has_files(head)) {
        t->lacks_tls = true;
        use_note(use, NOTE_NARROWER, unknown_options);
    }
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

/* Returns whether the port is taken: a TCP port speaks one protocol. */
static bool is_taken(const struct strings *taken, const char *listener)
{
    for (const char *other = NULL; (other = strings_next(taken, other));) {
        if (strcmp(scheme_end(other), scheme_end(listener)) == 0) {
            return strcmp(other, listener) != 0;
        }
    }
    return false;
}

bool translate_listener(struct translation *t, const char *listener, struct buf *out)
{
    bool is_https = has_scheme(listener, "https://"), is_stream = scheme_end(listener) != listener;
    bool is_plain = is_https && !t->tls && !t->has_broken_tls; /* as CoreDNS does */
    buf_clear(out);
    buf_printf(out, "%s%s", is_plain ? "http://" : "", is_plain ? scheme_end(listener) : listener);
    if (is_stream && t->lacks_tls) {
        note_item(t, NOTE_NARROWER, listener,
                  "left out: not all clients that have to would show a certificate");
    } else if (is_stream && !t->tls && (t->has_broken_tls || has_scheme(listener, "tls://"))) {
        note_item(t, NOTE_MISSING, listener, "expected the plugin tls, with files");
    } else if (is_taken(&t->taken, buf_cstr(out))) {
        note_item(t, NOTE_MISSING, listener, "another protocol has its port");
    } else if (strings_count(&t->taken) == LISTEN_MAX && !strings_has(&t->taken, buf_cstr(out))) {
        note_item(t, NOTE_MISSING, listener, "left out: more than the flag takes");
    } else {
        strings_add_once(&t->taken, buf_cstr(out));
        return true;
    }
    return false;
}

void translate_settle_tls(struct translation *t)
{
    bool has_stream = false;
    for (const char *listener = NULL; (listener = strings_next(&t->listen, listener));) {
        has_stream |= scheme_end(listener) != listener;
    }
    if (!t->tls) {
        return;
    }
    if (!has_stream) {
        note_line(t, NOTE_NEEDLESS, t->tls, "no address of the file speaks TLS");
        return;
    }
    translation_flag(&t->skydns, "-cert=%s", t->tls->words[1]);
    translation_flag(&t->skydns, "-key=%s", t->tls->words[2]);
    if (t->client_ca) {
        translation_flag(&t->skydns, "-client-ca=%s", t->client_ca);
    }
}
