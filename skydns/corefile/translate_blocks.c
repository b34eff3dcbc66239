/* Translates server blocks and their addresses. CoreDNS answers a block's names at the block's
 * addresses, skydns all names at all addresses. So what it takes over is one server, the addresses
 * that have the same names with the same plugins. The others get notes, as they need a skydns of
 * their own. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"
#include "common/base/xalloc.h"
#include "skydns/corefile/translate_internal.h"

/* Limits the words looked at, of which LISTEN_MAX can count. */
enum { BIND_WORDS_MAX = 100 };

/* Listener that a key of a block asks for. */
struct place {
    const char *scheme; /* "" or "tls://" */
    unsigned port;
};

/* Address as -addr has it, and what is answered there. */
struct listener {
    char *text;
    struct strings served; /* "3 example.org": the zone, and the first block with these plugins */
    size_t weight;         /* of them: each, and each of their plugins that decides something */
};

struct listeners {
    struct listener items[LISTEN_MAX];
    size_t count;
};

/* ---- Addresses of a block ---- */

static bool translate_blocks_is_wildcard(const struct ip *ip)
{
    struct addr addr = addr_of_ip(ip, 53);
    return addr_is_wildcard(&addr);
}

/* Returns whether the lines of a `bind` leave the address out. Those of interfaces are not known
 * here. */
static bool is_excepted(const struct corefile_directive *bind, const struct ip *ip)
{
    bool is_out = bind->line_count > 0 && translate_blocks_is_wildcard(ip);
    for (size_t i = 0; i < bind->line_count && !is_out; i++) {
        const struct corefile_line *line = &bind->lines[i];
        is_out = !corefile_line_is(line, "except");
        for (size_t k = 1; k < line->count && !is_out; k++) {
            struct ip other;
            is_out = !ip_parse(slice_str(line->words[k]), &other) || ip_equal(&other, ip);
        }
    }
    return is_out;
}

static void take_bind(struct translation *t, const struct corefile_directive *bind,
                      struct strings *ips)
{
    struct ip ip;
    for (size_t i = 1; i < bind->head.count && i <= BIND_WORDS_MAX; i++) {
        const char *text = bind->head.words[i];
        if (!ip_parse(slice_str(text), &ip)) {
            note_line(t, NOTE_NARROWER, &bind->head,
                      "expected addresses: put those of the interface");
        } else if (is_excepted(bind, &ip)) {
            note_line(t, NOTE_NARROWER, bind->line_count ? &bind->lines[0] : &bind->head,
                      "not at what it may leave out: list the other addresses");
        } else {
            translation_add(t, ips, LISTEN_MAX, text, &bind->head);
        }
    }
}

/* Lists the addresses: "0.0.0.0" for any, as every node has IPv4. Empty: none that is known. */
static struct strings block_ips(struct translation *t, const struct corefile_block *block)
{
    struct strings ips = strings_new();
    bool has_bind = false;
    for (size_t i = 0; i < block->directive_count; i++) {
        if (corefile_line_is(&block->directives[i].head, "bind")) {
            has_bind = true;
            take_bind(t, &block->directives[i], &ips);
        }
    }
    if (!has_bind) {
        strings_add(&ips, "0.0.0.0");
    }
    return ips;
}

/* ---- Keys ---- */

/* Takes the port after the last colon, else that of the scheme. Cuts it off. Returns false if it is
 * no number. */
static bool translate_blocks_take_port(char *zone, struct place *place)
{
    char *colon = strrchr(zone, ':');
    if (!colon || strchr(colon, '/')) { /* "fd00::/64" */
        return true;
    }
    size_t digits = strspn(colon + 1, "0123456789");
    place->port = digits > 0 && digits <= 5 ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    bool is_port = colon[1 + digits] == '\0' && place->port >= 1 && place->port <= 65535;
    *colon = '\0';
    return is_port;
}

/* Returns what follows the scheme; NULL: it has no counterpart. */
static const char *take_scheme(const char *key, struct place *place)
{
    static const struct {
        const char *prefix;
        struct place place;
    } schemes[] = {
        {"dns://", {"", 53}},
        {"tls://", {"tls://", 853}},
        {"https://", {"https://", 443}},
        {"grpc://", {"grpc://", 443}},
    };
    *place = schemes[0].place;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i].prefix);
        if (strncasecmp(key, schemes[i].prefix, len) == 0) {
            *place = schemes[i].place;
            return key + len;
        }
    }
    return strstr(key, "://") ? NULL : key;
}

/* Reads "tls://a.org:8853" as where, and "a.org". Returns false, with a note, for another text. */
static bool translate_blocks_read_key(struct translation *t, const struct corefile_line *keys,
                                      const char *key, struct place *place, struct buf *zone)
{
    key = take_scheme(key, place);
    if (!key) {
        note_line(t, NOTE_MISSING, keys, "none: no DNS over QUIC or HTTP/3");
        return false;
    }
    CLEANUP_BUF struct buf copy = buf_of(COREFILE_BYTES_MAX + 1);
    buf_append(&copy, key, strlen(key) + 1);
    char *text = (char *)copy.data;
    bool is_key =
        translate_blocks_take_port(text, place) && zone_or_network_text(*text ? text : ".", zone);
    if (!is_key) {
        note_line(t, NOTE_MISSING, keys, "expected a zone and a port, like example.org:53");
        translate_keep_zone(t, "."); /* there is no telling which */
    }
    return is_key;
}

/* ---- Listeners ---- */

/* Adds a listener; translate_listener bounds how many there are. */
static struct listener *add_listener(struct listeners *x, const char *text)
{
    struct listener *listener = x->items;
    while (listener < x->items + x->count && strcmp(listener->text, text) != 0) {
        listener++;
    }
    if (listener == x->items + x->count) {
        x->count++;
        listener->text = xstrdup(text);
        listener->served = strings_new();
    }
    return listener;
}

static void serve_zone(struct listeners *x, struct translation *t, const char *ip,
                       const struct place *place, const char *served, size_t weight)
{
    bool is_v6 = strchr(ip, ':') != NULL;
    CLEANUP_BUF struct buf text = buf_of(COREFILE_BYTES_MAX);
    CLEANUP_BUF struct buf listener = buf_of(COREFILE_BYTES_MAX);
    buf_printf(&text, "%s%s%s%s:%u", place->scheme, is_v6 ? "[" : "", ip, is_v6 ? "]" : "",
               place->port);
    if (translate_listener(t, buf_cstr(&text), &listener)) {
        struct listener *at = add_listener(x, buf_cstr(&listener));
        at->weight += strings_has(&at->served, served) ? 0 : weight;
        strings_add_once(&at->served, served);
    }
}

/* ---- Equal blocks ---- */

bool corefile_line_equal(const struct corefile_line *a, const struct corefile_line *b)
{
    bool are_same = a->count == b->count;
    for (size_t i = 0; i < a->count && are_same; i++) {
        are_same = strcmp(a->words[i], b->words[i]) == 0;
    }
    return are_same;
}

bool corefile_lines_equal(const struct corefile_directive *a, const struct corefile_directive *b)
{
    bool are_same = a->line_count == b->line_count;
    for (size_t i = 0; i < a->line_count && are_same; i++) {
        are_same = corefile_line_equal(&a->lines[i], &b->lines[i]);
    }
    return are_same;
}

/* Returns the next directive that decides what is answered, from *at on; NULL: no more. */
static const struct corefile_directive *next_deciding(const struct corefile_block *block,
                                                      size_t *at)
{
    while (*at < block->directive_count) {
        const struct corefile_directive *directive = &block->directives[(*at)++];
        if (plugin_decides(directive->head.words[0])) {
            return directive;
        }
    }
    return NULL;
}

static bool same_plugins(const struct corefile_block *a, const struct corefile_block *b)
{
    size_t at_a = 0, at_b = 0;
    const struct corefile_directive *of_a, *of_b;
    do {
        of_a = next_deciding(a, &at_a);
        of_b = next_deciding(b, &at_b);
    } while (of_a && of_b && corefile_line_equal(&of_a->head, &of_b->head) &&
             corefile_lines_equal(of_a, of_b));
    return !of_a && !of_b;
}

/* Returns the index of the first block with the same plugins. */
static size_t block_class(const struct corefile *corefile, size_t i)
{
    size_t first = 0;
    while (!same_plugins(&corefile->blocks[first], &corefile->blocks[i])) {
        first++;
    }
    return first;
}

/* ---- Which of them ---- */

/* Writes an item of a listener's `served`. */
static void served_text(size_t class, const char *zone, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%zu %s", class, zone);
}

static void list_block(struct listeners *x, struct translation *t,
                       const struct corefile_block *block, size_t class)
{
    const struct corefile_line *keys = &block->keys;
    CLEANUP_STRINGS struct strings ips = block_ips(t, block);
    CLEANUP_BUF struct buf zone = buf_of(COREFILE_BYTES_MAX);
    CLEANUP_BUF struct buf served = buf_of(COREFILE_BYTES_MAX + 32);
    size_t at = 0, weight = 1;
    while (next_deciding(block, &at)) {
        weight++;
    }
    for (size_t i = 0; i < keys->count; i++) {
        struct place place;
        if (translate_blocks_read_key(t, keys, keys->words[i], &place, &zone)) {
            served_text(class, buf_cstr(&zone), &served);
            for (const char *ip = NULL; (ip = strings_next(&ips, ip));) {
                serve_zone(x, t, ip, &place, buf_cstr(&served), weight);
            }
        }
    }
}

/* Returns the listener that answers most, of several the first; NULL: there is none. */
static const struct listener *main_listener(const struct listeners *x)
{
    const struct listener *best = NULL;
    for (size_t i = 0; i < x->count; i++) {
        if (!best || x->items[i].weight > best->weight) {
            best = &x->items[i];
        }
    }
    return best;
}

static bool serves_same(const struct listener *a, const struct listener *b)
{
    const char *served = NULL;
    bool do_same = strings_count(&a->served) == strings_count(&b->served);
    while (do_same && (served = strings_next(&a->served, served))) {
        do_same = strings_has(&b->served, served);
    }
    return do_same;
}

static void choose_listeners(const struct listeners *x, const struct listener *best,
                             struct translation *t)
{
    for (size_t i = 0; i < x->count; i++) {
        if (serves_same(&x->items[i], best)) {
            strings_add(&t->listen, x->items[i].text);
        } else {
            note_item(t, NOTE_NARROWER, x->items[i].text,
                      "what is answered there differs: it takes a skydns of its own");
        }
    }
}

/* Chooses the block's zones that the listeners serve. */
static void choose_zones(const struct corefile_block *block, size_t class,
                         const struct listener *best, struct translation *t,
                         struct strings *ret_zones)
{
    struct place place;
    CLEANUP_BUF struct buf zone = buf_of(COREFILE_BYTES_MAX);
    CLEANUP_BUF struct buf served = buf_of(COREFILE_BYTES_MAX + 32);
    for (size_t i = 0; i < block->keys.count; i++) {
        if (translate_blocks_read_key(t, &block->keys, block->keys.words[i], &place, &zone)) {
            served_text(class, buf_cstr(&zone), &served);
            if (best && strings_has(&best->served, buf_cstr(&served))) {
                strings_add_once(ret_zones, buf_cstr(&zone));
            }
        }
    }
    if (strings_is_empty(ret_zones)) {
        note_line(t, NOTE_NARROWER, &block->keys,
                  "not answered at the addresses of -addr: left out");
    }
}

/* Takes certificates before the listeners, some of which need one. */
static void take_certificates(const struct corefile *corefile, struct translation *t)
{
    for (size_t i = 0; i < corefile->block_count; i++) {
        const struct corefile_block *block = &corefile->blocks[i];
        for (size_t k = 0; k < block->directive_count; k++) {
            const struct plugin_use use = {
                .t = t, .block = block, .directive = &block->directives[k]};
            if (corefile_line_is(&use.directive->head, "tls")) {
                translate_tls(&use);
            }
        }
    }
}

static int count_zones(const struct corefile *corefile, struct err *err)
{
    size_t count = 0;
    for (size_t i = 0; i < corefile->block_count; i++) {
        count += corefile->blocks[i].keys.count;
        if (count > ZONES_MAX) {
            return err_set(err, ERR_TOO_LARGE, "%u: expected at most %d zones of server blocks",
                           corefile->blocks[i].keys.number, ZONES_MAX);
        }
    }
    return 0;
}

int translate_blocks(const struct corefile *corefile, struct translation *t,
                     struct block_zones *ret_zones, struct err *err)
{
    struct listeners x = {.count = 0};
    *ret_zones = (struct block_zones){.count = 0};
    int r = count_zones(corefile, err);
    if (r < 0) {
        return r;
    }
    take_certificates(corefile, t);
    for (size_t i = 0; i < corefile->block_count; i++) {
        list_block(&x, t, &corefile->blocks[i], block_class(corefile, i));
    }
    const struct listener *best = main_listener(&x);
    if (best) {
        choose_listeners(&x, best, t);
    } else if (corefile->block_count > 0) {
        note_line(t, NOTE_CLOSING, &corefile->blocks[0].keys, "no address is left to answer at");
    }
    ret_zones->zones = xcalloc(corefile->block_count + 1, sizeof(*ret_zones->zones));
    ret_zones->count = corefile->block_count;
    for (size_t i = 0; i < corefile->block_count; i++) {
        ret_zones->zones[i] = strings_new();
        choose_zones(&corefile->blocks[i], block_class(corefile, i), best, t, &ret_zones->zones[i]);
    }
    for (size_t i = 0; i < x.count; i++) {
        strings_fini(&x.items[i].served);
        free(x.items[i].text);
    }
    return 0;
}

void block_zones_fini(struct block_zones *zones)
{
    for (size_t i = 0; i < zones->count; i++) {
        strings_fini(&zones->zones[i]);
    }
    free(zones->zones);
}
