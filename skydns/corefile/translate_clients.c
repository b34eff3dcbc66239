/* Translates the plugins about clients: autopath, transfer and tsig. */
#include <string.h>

#include "common/base/addr.h"
#include "skydns/corefile/translate_internal.h"

/* ---- autopath ---- */

/* Translates autopath, which needs the pods' keys, as in CoreDNS. */
void translate_autopath(const struct plugin_use *use)
{
    size_t count = use_argument_count(use);
    if (count == 0 || strcmp(use_argument(use, count - 1), "@kubernetes") != 0) {
        use_note(use, NOTE_MISSING, "none: -autopath knows only the search lists of pods");
        return;
    }
    strings_add_once(&use->t->skydns, "-autopath");
    if (count > 1) {
        use_note(use, NOTE_MISSING, "none: -autopath is for all of -domain");
    }
    use_note(use, NOTE_MISSING, "put what /etc/resolv.conf of its host searches into -search");
}

/* ---- transfer ---- */

static const char all_v4[] = "0.0.0.0/0", all_v6[] = "::/0";

static bool is_everybody(const struct strings *who)
{
    return strings_has(who, all_v4) && strings_has(who, all_v6);
}

/* Returns whether it names who may transfer; an address there gets NOTIFY, too, and may be given
 * with its port. */
static bool is_who(const char *text)
{
    struct network network;
    struct addr addr;
    char scope[IF_NAMESIZE];
    return network_parse(slice_str(text), &network, NULL) == 0 ||
           addr_parse_remote(text, 53, &addr, scope);
}

static void take_to(const struct plugin_use *use, const struct corefile_line *line)
{
    bool is_right = line->count > 1;
    for (size_t i = 1; i < line->count; i++) {
        is_right &= strcmp(line->words[i], "*") == 0 || is_who(line->words[i]);
    }
    if (!is_right) {
        note_line(use->t, NOTE_MISSING, line, "expected addresses, or * for everybody");
    }
}

void translate_transfer(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"to", .take = take_to},
        {"source", MISSING("none: NOTIFY leaves from the address that the system chooses")},
    };
    use->t->has_transfer = true;
    if (!use_options(use, options, ARRAY_LEN(options))) {
        use->t->refuses_transfers = true;
        use_note(use, NOTE_NARROWER, unknown_options);
    }
}

/* Returns the length of the longest of its zones that has this one; 0: none. */
static size_t transfer_match(const struct plugin_use *transfer, const char *zone)
{
    size_t longest = 0;
    bool are_zones; /* of those that are none, nothing is transferred */
    CLEANUP_STRINGS struct strings zones = use_zones(transfer, 1, &are_zones);
    for (const char *candidate = NULL; (candidate = strings_next(&zones, candidate));) {
        if (zone_contains(candidate, zone) && strlen(candidate) > longest) {
            longest = strlen(candidate);
        }
    }
    return longest;
}

/* Returns the plugin in the block of the zone that knows it best. */
static const struct corefile_directive *find_transfer(const struct plugin_use *use,
                                                      const char *zone)
{
    const struct corefile_directive *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < use->block->directive_count; i++) {
        struct plugin_use transfer = *use;
        transfer.directive = &use->block->directives[i];
        size_t match = corefile_line_is(&transfer.directive->head, "transfer")
                           ? transfer_match(&transfer, zone)
                           : 0;
        if (match > longest) {
            longest = match;
            best = transfer.directive;
        }
    }
    return best;
}

static void list_who(struct translation *t, const struct corefile_directive *transfer,
                     struct strings *who)
{
    for (size_t i = 0; i < transfer->line_count; i++) {
        const struct corefile_line *line = &transfer->lines[i];
        for (size_t k = 1; k < line->count && corefile_line_is(line, "to"); k++) {
            if (strcmp(line->words[k], "*") == 0) {
                translation_add(t, who, TRANSFERS_MAX, all_v4, line);
                translation_add(t, who, TRANSFERS_MAX, all_v6, line);
            } else if (is_who(line->words[k])) {
                translation_add(t, who, TRANSFERS_MAX, line->words[k], line);
            }
        }
    }
}

/* Adds those of `list` that are in the other one, too. */
static void add_members(const struct strings *list, const struct strings *other,
                        struct strings *ret_both)
{
    for (const char *who = NULL; (who = strings_next(list, who));) {
        if (strings_has(other, who) || is_everybody(other)) {
            strings_add_once(ret_both, who);
        }
    }
}

void translate_zone_transfers(const struct plugin_use *use, const char *zone, bool can_transfer)
{
    struct translation *t = use->t;
    const struct corefile_directive *transfer =
        can_transfer && t->transfer_zones < DOMAINS_MAX + REVERSE_ZONES_MAX
            ? find_transfer(use, zone)
            : NULL;
    CLEANUP_STRINGS struct strings who = strings_new();
    CLEANUP_STRINGS struct strings both = strings_new();
    if (transfer) {
        list_who(t, transfer, &who);
    }
    if (t->transfer_zones++ == 0) {
        add_members(&who, &who, &both);
    } else {
        add_members(&t->transfers, &who, &both);
        add_members(&who, &t->transfers, &both);
    }
    strings_take(&t->transfers, &both);
}

/* Makes an entry of each client with each key; of everybody with a key, the key alone. */
static void sign_transfers(struct translation *t)
{
    CLEANUP_STRINGS struct strings signed_ones = strings_new();
    for (const char *key = NULL; (key = strings_next(&t->tsig_names, key));) {
        if (is_everybody(&t->transfers)) {
            translation_flag(&signed_ones, "key:%s", key);
            continue;
        }
        for (const char *who = NULL; (who = strings_next(&t->transfers, who));) {
            translation_flag(&signed_ones, "%s+key:%s", who, key);
        }
    }
    strings_take(&t->transfers, &signed_ones);
    if (!t->tsig && !strings_is_empty(&t->transfers)) {
        translation_flag(&t->skydns, "-tsig-keys=tsig-keys");
    }
}

void translate_settle_transfers(struct translation *t)
{
    bool is_possible = t->kubernetes && t->pods != PODS_INSECURE;
    bool is_signed = t->wants_signed && !strings_is_empty(&t->transfers);
    if (t->has_transfer && !is_possible) {
        note_item(t, NOTE_MISSING, "transfer",
                  "-transfer-to needs the plugin kubernetes, and pods verified or disabled: other "
                  "names cannot be listed");
    } else if (t->has_transfer && strings_is_empty(&t->transfers)) {
        note_item(
            t, NOTE_NARROWER, "transfer",
            "-transfer-to is for all domains and reverse zones, each of which nobody may transfer");
    } else if (is_signed && strings_is_empty(&t->tsig_names)) {
        note_item(t, NOTE_NARROWER, "transfer",
                  "it must be signed, and the names of the keys are in their file: say "
                  "-transfer-to=key:NAME");
    }
    if (!is_possible || t->refuses_transfers) {
        strings_clear(&t->transfers);
    }
    if (t->wants_signed) {
        sign_transfers(t);
    }
    if (strings_count(&t->transfers) > TRANSFERS_MAX) {
        note_item(t, NOTE_NARROWER, "transfer", "more than -transfer-to takes: nobody transfers");
        strings_clear(&t->transfers);
    }
}

/* ---- tsig ---- */

/* Takes secrets; CoreDNS's file, too, has what tsig-keygen prints. */
static void take_secrets(const struct plugin_use *use, const struct corefile_line *line)
{
    struct translation *t = use->t;
    if (line->count != 2) {
        note_line(t, NOTE_MISSING, line, "expected a file of keys");
    } else if (!t->tsig) {
        t->tsig = line;
        translation_flag(&t->skydns, "-tsig-keys=%s", line->words[1]);
    } else if (strcmp(t->tsig->words[1], line->words[1]) != 0) {
        note_line(t, NOTE_MISSING, line, "-tsig-keys is one file: put all keys into it");
    }
}

/* Takes a key without its secret, which the note need not show. */
static void take_secret(const struct plugin_use *use, const struct corefile_line *line)
{
    struct corefile_line shown = *line;
    CLEANUP_BUF struct buf name = buf_of(COREFILE_BYTES_MAX);
    shown.count = line->count < 2 ? line->count : 2;
    note_line(use->t, NOTE_MISSING, &shown,
              "put it into the file of -tsig-keys, as tsig-keygen prints it");
    if (line->count > 2 && zone_text(line->words[1], &name) && buf_cstr(&name)[0] != '.') {
        translation_add(use->t, &use->t->tsig_names, TRANSFERS_MAX, buf_cstr(&name), line);
    }
}

static bool is_of_transfers(const struct corefile_line *line)
{
    for (size_t i = 1; i < line->count; i++) {
        if (strcmp(line->words[i], "AXFR") != 0 && strcmp(line->words[i], "IXFR") != 0) {
            return false;
        }
    }
    return line->count > 1;
}

static void take_require(const struct plugin_use *use, const struct corefile_line *line)
{
    if (line->count > 1 && strcmp(line->words[1], "none") == 0) {
        note_line(use->t, NOTE_NEEDLESS, line, "no signature is required");
    } else if (is_of_transfers(line)) {
        use->t->wants_signed = true;
        note_line(use->t, NOTE_NEEDLESS, line, "secondaries have a key in -transfer-to");
    } else {
        note_line(use->t, NOTE_CLOSING, line, "queries without a signature are answered, too");
    }
}

/* Takes opcodes; queries are the only operation that is answered. */
static void take_require_opcode(const struct plugin_use *use, const struct corefile_line *line)
{
    bool is_none = line->count > 1 && strcmp(line->words[1], "none") == 0;
    bool is_query = line->count == 1;
    for (size_t i = 1; i < line->count; i++) {
        is_query |= strcmp(line->words[i], "QUERY") == 0 || strcmp(line->words[i], "all") == 0;
    }
    if (is_query && !is_none) {
        note_line(use->t, NOTE_CLOSING, line, "queries without a signature are answered, too");
    } else {
        note_line(use->t, NOTE_NEEDLESS, line, "other operations than queries are NOTIMP");
    }
}

void translate_tsig(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"secrets", .take = take_secrets},
        {"secret", .take = take_secret},
        {"require", .take = take_require},
        {"require_opcode", .take = take_require_opcode},
    };
    if (!use_options(use, options, ARRAY_LEN(options))) {
        use_note(use, NOTE_CLOSING, unknown_options);
    }
}
