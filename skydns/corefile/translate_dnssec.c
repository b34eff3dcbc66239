/* Translates the plugin dnssec. The names that dnssec-keygen gives files tell whose keys they are;
 * once all blocks have been read, it is known which names are signed. */
#include <stdlib.h>
#include <string.h>

#include "skydns/corefile/translate_internal.h"

/* Writes the part of a file's name that -dnssec takes, with a NUL behind; false: none is left, or
 * -dnssec would take it for two. */
static bool key_base(const char *file, struct buf *out)
{
    static const char *const endings[] = {".key", ".private"};
    size_t n = strlen(file);
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        size_t m = strlen(endings[i]);
        if (n >= m && strcmp(file + n - m, endings[i]) == 0) {
            n -= m;
            break;
        }
    }
    buf_clear(out);
    buf_append(out, file, n);
    return n > 0 && memchr(file, ',', n) == NULL;
}

static void translate_dnssec_take_key(const struct plugin_use *use,
                                      const struct corefile_line *line)
{
    if (line->count < 3 || strcmp(line->words[1], "file") != 0) {
        note_line(use->t, NOTE_MISSING, line, "none: keys are files, key file K<zone>+<n>+<n>");
        return;
    }
    CLEANUP_BUF struct buf base = buf_of(COREFILE_BYTES_MAX);
    for (size_t i = 2; i < line->count; i++) {
        if (key_base(line->words[i], &base)) {
            translation_add(use->t, &use->t->keys, KEYS_MAX, buf_cstr(&base), line);
        } else {
            note_line(use->t, NOTE_MISSING, line, "expected the name of a key's files");
        }
    }
}

/* Takes the capacity; CoreDNS counts signatures, too. */
static void translate_dnssec_take_capacity(const struct plugin_use *use,
                                           const struct corefile_line *line)
{
    char *end = NULL;
    long count = line->count == 2 ? strtol(line->words[1], &end, 10) : 0;
    if (!end || *end || count < 1) {
        note_line(use->t, NOTE_MISSING, line, "expected a number of signatures");
    } else {
        use->t->scache = count > SIGNATURES_MAX ? SIGNATURES_MAX : count;
    }
}

void translate_dnssec(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"key", .take = translate_dnssec_take_key},
        {"cache_capacity", .take = translate_dnssec_take_capacity},
    };
    if (!use_option(use, "key")) {
        use_note(use, NOTE_MISSING, "expected keys, to sign with");
    }
    use_options(use, options, ARRAY_LEN(options));
}

/* Writes the owner, "cluster.local" of "/keys/Kcluster.local.+013+12345". Returns false for a name
 * of another form. */
static bool key_owner(const char *base, struct buf *out)
{
    const char *slash = strrchr(base, '/'), *name = slash ? slash + 1 : base;
    const char *end = strstr(name, ".+");
    if (name[0] != 'K' || !end) {
        return false;
    }
    CLEANUP_BUF struct buf owner = buf_of(COREFILE_BYTES_MAX);
    buf_append(&owner, name + 1, (size_t)(end - name - 1));
    return zone_text(buf_cstr(&owner), out);
}

void translate_settle_keys(struct translation *t)
{
    CLEANUP_STRINGS struct strings settled = strings_new();
    CLEANUP_BUF struct buf owner = buf_of(COREFILE_BYTES_MAX);
    for (const char *base = NULL; (base = strings_next(&t->keys, base));) {
        if (!key_owner(base, &owner) || translation_has_zone(t, buf_cstr(&owner)) ||
            translation_has_reverse_zone(t, buf_cstr(&owner))) {
            strings_add(&settled, base);
        } else {
            note_item(t, NOTE_MISSING, base,
                      "none: only names of the zones answered here are signed");
        }
    }
    strings_take(&t->keys, &settled);
}
