/* Translates the plugin acl. -allow is one list of those who may query anything: so it has the
 * networks that no acl keeps from any name or type. */
#include <string.h>
#include <strings.h>

#include "skydns/corefile/translate_internal.h"

/* ---- Sets of networks ---- */

static bool network_covers(const struct network *outer, const struct network *inner)
{
    return outer->prefix_bits <= inner->prefix_bits && network_contains(outer, &inner->ip);
}

static void add_network(struct clients *clients, const struct network *network)
{
    if (clients->count == ALLOWED_MAX) {
        clients->is_overflown = true;
        return;
    }
    clients->items[clients->count++] = *network;
}

static void add_everybody(struct clients *clients)
{
    static const struct network all[] = {{.ip = {.family_bytes = 4}}, {.ip = {.family_bytes = 16}}};
    add_network(clients, &all[0]);
    add_network(clients, &all[1]);
}

/* Adds the halves of `outer` on the way to `inner` that do not have it. */
static void add_remainder(struct clients *clients, const struct network *outer,
                          const struct network *inner)
{
    for (unsigned bits = outer->prefix_bits + 1U; bits <= inner->prefix_bits; bits++) {
        struct ip ip = inner->ip;
        ip.bytes[(bits - 1) / 8] ^= (uint8_t)(0x80 >> (bits - 1) % 8);
        struct network sibling = network_of(&ip, (uint8_t)bits);
        add_network(clients, &sibling);
    }
}

static void remove_network(struct clients *clients, const struct network *network)
{
    struct clients before = *clients;
    clients->count = 0;
    for (size_t i = 0; i < before.count; i++) {
        if (network_covers(&before.items[i], network)) {
            add_remainder(clients, &before.items[i], network);
        } else if (!network_covers(network, &before.items[i])) {
            add_network(clients, &before.items[i]);
        }
    }
}

/* Adds what both have. */
static void add_common(struct clients *clients, const struct clients *a, const struct clients *b)
{
    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < b->count; k++) {
            if (network_covers(&b->items[k], &a->items[i])) {
                add_network(clients, &a->items[i]);
            } else if (network_covers(&a->items[i], &b->items[k])) {
                add_network(clients, &b->items[k]);
            }
        }
    }
    clients->is_overflown |= a->is_overflown || b->is_overflown;
}

/* ---- Rules ---- */

/* Lines of one acl so far. */
struct acl {
    struct clients allowed; /* for every type */
    struct clients others;  /* whom no line has named */
    bool blocks;            /* one of them keeps somebody out */
};

/* Line: the clients that it is about, and for which types. */
struct rule {
    struct clients clients;
    bool is_allow;
    bool has_types;       /* not all of them */
    bool has_all_types;   /* but one is * */
    bool is_of_any;       /* ANY alone */
    bool is_of_transfers; /* AXFR and IXFR alone */
    bool is_understood;
};

static void take_source(struct rule *rule, const char *word)
{
    struct network network;
    if (strcmp(word, "*") == 0) {
        add_everybody(&rule->clients);
    } else if (network_parse(slice_str(word), &network, NULL) == 0) {
        add_network(&rule->clients, &network);
    } else {
        rule->is_understood = false;
    }
}

static void take_type(struct rule *rule, const char *word)
{
    rule->has_types = true;
    rule->has_all_types |= strcmp(word, "*") == 0;
    rule->is_of_any &= strcasecmp(word, "ANY") == 0;
    rule->is_of_transfers &= strcasecmp(word, "AXFR") == 0 || strcasecmp(word, "IXFR") == 0;
}

/* Reads "block type A AAAA net 10.0.0.0/8"; without sources, everybody. */
static struct rule read_rule(const struct corefile_line *line)
{
    const char *action = line->words[0], *section = "";
    struct rule rule = {.is_allow = strcasecmp(action, "allow") == 0};
    bool has_net = false;
    rule.is_understood = rule.is_allow || strcasecmp(action, "block") == 0 ||
                         strcasecmp(action, "filter") == 0 || strcasecmp(action, "drop") == 0;
    rule.is_of_any = rule.is_of_transfers = true;
    for (size_t i = 1; i < line->count; i++) {
        const char *word = line->words[i];
        if (strcasecmp(word, "type") == 0 || strcasecmp(word, "net") == 0) {
            section = word;
        } else if (strcasecmp(section, "net") == 0) {
            has_net = true;
            take_source(&rule, word);
        } else if (strcasecmp(section, "type") == 0) {
            take_type(&rule, word);
        } else {
            rule.is_understood = false;
        }
    }
    if (!has_net) {
        add_everybody(&rule.clients);
    }
    rule.has_types = rule.has_types && !rule.has_all_types;
    rule.is_understood &= !rule.clients.is_overflown;
    return rule;
}

static void take_allow(const struct plugin_use *use, const struct corefile_line *line,
                       const struct rule *rule, struct acl *acl)
{
    if (rule->has_types) {
        note_line(use->t, NOTE_NARROWER, line, "-allow is for all types: this lets nobody in");
        return;
    }
    if (!rule->is_understood) {
        note_line(use->t, NOTE_NARROWER, line, "expected networks like 10.0.0.0/8, at most 256");
    }
    add_common(&acl->allowed, &rule->clients, &acl->others);
    for (size_t i = 0; i < rule->clients.count; i++) {
        remove_network(&acl->others, &rule->clients.items[i]);
    }
}

/* Takes a line that blocks: a client that may not query some type may not query at all. */
static void translate_acl_take_block(const struct plugin_use *use, const struct corefile_line *line,
                                     const struct rule *rule, struct acl *acl)
{
    struct translation *t = use->t;
    if (rule->is_understood && rule->has_types && rule->is_of_any) {
        t->refuses_any = true;
        note_line(t, NOTE_NEEDLESS, line, "-any=refused is the default");
        return;
    }
    if (rule->is_understood && rule->has_types && rule->is_of_transfers) {
        t->refuses_transfers = true;
        note_line(t, NOTE_NARROWER, line, "-transfer-to has no exceptions: nobody transfers");
        return;
    }
    acl->blocks = true;
    if (!rule->is_understood) {
        note_line(t, NOTE_NARROWER, line,
                  "expected networks like 10.0.0.0/8: it keeps out everybody whom no line before "
                  "it lets in");
        acl->others.count = 0;
    } else if (rule->has_types) {
        note_line(t, NOTE_NARROWER, line, "-allow is for all types: these clients may query none");
    }
    for (size_t i = 0; i < rule->clients.count; i++) {
        remove_network(&acl->others, &rule->clients.items[i]);
    }
}

static bool is_of_all_names(const struct plugin_use *use)
{
    bool are_zones;
    CLEANUP_STRINGS struct strings zones = use_zones(use, 1, &are_zones);
    return are_zones && strings_has(&zones, ".");
}

/* Takes the clients of one acl: a client must be let in by each. */
static void take_clients(struct translation *t, const struct clients *allowed)
{
    struct clients before = t->clients;
    if (!t->has_acl) {
        add_everybody(&before);
    }
    t->has_acl = true;
    t->clients = (struct clients){.count = 0};
    add_common(&t->clients, allowed, &before);
}

void translate_acl(const struct plugin_use *use)
{
    struct acl acl = {.blocks = false};
    add_everybody(&acl.others);
    for (size_t i = 0; i < use->directive->line_count; i++) {
        const struct corefile_line *line = &use->directive->lines[i];
        const struct rule rule = read_rule(line);
        if (rule.is_allow) {
            take_allow(use, line, &rule, &acl);
        } else {
            translate_acl_take_block(use, line, &rule, &acl);
        }
    }
    if (!acl.blocks) {
        use_note(use, NOTE_NEEDLESS, "it keeps nobody out");
        return;
    }
    if (!is_of_all_names(use)) {
        use_note(use, NOTE_NARROWER,
                 "-allow is for all names: clients that this keeps out may query none");
    }
    for (size_t i = 0; i < acl.others.count; i++) {
        add_network(&acl.allowed, &acl.others.items[i]);
    }
    acl.allowed.is_overflown |= acl.others.is_overflown;
    take_clients(use->t, &acl.allowed);
}

/* ---- -allow ---- */

void translate_settle_clients(struct translation *t)
{
    const struct clients *clients = &t->clients;
    if (!strings_is_empty(&t->notes[NOTE_CLOSING]) || (t->has_acl && clients->count == 0)) {
        strings_add(&t->allow, "none");
        return;
    }
    for (size_t i = 0; i < clients->count; i++) {
        const struct network *network = &clients->items[i];
        char ip[INET6_ADDRSTRLEN];
        (void)ip_format(&network->ip, ip);
        if (network->prefix_bits == network->ip.family_bytes * 8) {
            strings_add_once(&t->allow, ip);
        } else {
            translation_flag(&t->allow, "%s/%u", ip, network->prefix_bits);
        }
    }
    if (clients->is_overflown) {
        note_item(t, NOTE_NARROWER, "acl",
                  "more networks than -allow takes: the others may send no query");
    }
}
