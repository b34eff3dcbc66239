/* Checks what clients may see with random trees, clients and questions. The response from all
 * records, for a client with visibility, is byte for byte the one without visibility from the
 * records that the client may see. No response has a hidden record's data or name, unless a visible
 * record names it. The test decides from the text of the keys which records are hidden.
 *
 * Some responses are meant to differ: hidden names are NXDOMAIN (pods of -pods=insecure, domains of
 * ours below a hidden name). The test expects that instead.
 *
 * VISIBILITY_TREES=100000 makes more trees than `make check` has time for; SEED=1234 starts there.
 */
#include "skydns/clients/visibility.h"
#include "skydns/engine/direct_internal.h"
#include "skydns/wire/query_parse.h"
#include "tests/support/from_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

enum { TREES = 150, CLIENTS = 3, QUESTIONS = 90, KEYS_MAX = 90, NAME_SIZE = 200, VALUE_SIZE = 300 };

static const char *const namespaces[] = {"own", "team", "open", "other", "any", "_odd"};
enum { NAMESPACES = ARRAY_LEN(namespaces) };

/* ---- Who may see what ---- */

struct rules {
    enum visibility_unknown unknown;
    bool is_public[NAMESPACES];
    bool is_listed[NAMESPACES];
    bool is_for_all[NAMESPACES];
    bool shows[NAMESPACES][NAMESPACES]; /* [listing][client] */
    char texts[NAMESPACES][100];
};

static void draw_rules(struct rules *r)
{
    *r = (struct rules){.unknown =
                            random_below(4) ? VISIBILITY_UNKNOWN_PUBLIC : VISIBILITY_UNKNOWN_ALL};
    for (unsigned i = 0; i < NAMESPACES; i++) {
        r->is_public[i] =
            strcmp(namespaces[i], "open") == 0 ? random_below(4) > 0 : random_below(8) == 0;
        r->is_listed[i] = random_below(3) == 0;
        for (unsigned n = random_below(4); r->is_listed[i] && n > 0; n--) {
            unsigned to = random_below(NAMESPACES);
            bool is_name = namespaces[to][0] != '_'; /* no namespace is called so */
            r->shows[i][to] = r->shows[i][to] || is_name;
            size_t used = strlen(r->texts[i]);
            (void)snprintf(r->texts[i] + used, sizeof(r->texts[i]) - used, "%s%s%s",
                           used ? RANDOM_PICK(",", " , ", ",,") : "", namespaces[to],
                           RANDOM_PICK("", " "));
        }
        if (r->is_listed[i] && random_below(6) == 0) {
            r->is_for_all[i] = true;
            (void)snprintf(r->texts[i], sizeof(r->texts[i]), "%s", RANDOM_PICK("*", "other, *"));
        }
    }
}

static struct visibility *make_visibility(const struct rules *r)
{
    struct slice names[NAMESPACES];
    struct visible_namespace listed[NAMESPACES];
    size_t name_count = 0, listed_count = 0;
    for (unsigned i = 0; i < NAMESPACES; i++) {
        if (r->is_public[i]) {
            names[name_count++] = slice_str(namespaces[i]);
        }
        if (r->is_listed[i]) {
            listed[listed_count++] =
                (struct visible_namespace){slice_str(namespaces[i]), slice_str(r->texts[i])};
        }
    }
    return visibility_new(r->unknown, names, name_count, listed, listed_count);
}

/* A client, and the namespaces it sees. */
struct client {
    bool has_space;
    struct client_space space;
    bool sees[NAMESPACES];
    bool sees_all;
};

static void draw_client(const struct rules *r, struct client *c)
{
    unsigned own = random_below(NAMESPACES);
    *c = (struct client){.has_space = random_below(4) > 0};
    c->sees_all = !c->has_space && r->unknown == VISIBILITY_UNKNOWN_ALL;
    if (c->has_space) {
        c->space.label_len = (uint8_t)strlen(namespaces[own]);
        memcpy(c->space.label, namespaces[own], c->space.label_len);
    }
    for (unsigned i = 0; i < NAMESPACES; i++) {
        c->sees[i] = c->sees_all || r->is_public[i] || r->is_for_all[i] ||
                     (c->has_space && (i == own || r->shows[i][own]));
    }
}

/* ---- Names as text: "web.own.svc.cluster.local." ---- */

struct domains {
    unsigned count;
    const char *names[3];
};

static bool visibility_model_ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);
    return len >= end_len && strcasecmp(name + len - end_len, end) == 0 &&
           (len == end_len || name[len - end_len - 1] == '.');
}

/* Whether the name is <ns>.svc.<domain>, <ns>.pod.<domain> or below one. */
static bool is_name_hidden(const struct client *c, const struct domains *domains, const char *name)
{
    for (unsigned i = 0; i < domains->count && !c->sees_all; i++) {
        for (unsigned tree = 0; tree < 2; tree++) {
            char end[NAME_SIZE];
            (void)snprintf(end, sizeof(end), "%s.%s", tree ? "pod" : "svc", domains->names[i]);
            size_t len = strlen(name), end_len = strlen(end);
            if (len <= end_len || !visibility_model_ends_with(name, end)) {
                continue;
            }
            bool is_seen = false;
            for (unsigned k = 0; k < NAMESPACES; k++) {
                char whole[NAME_SIZE + 16];
                (void)snprintf(whole, sizeof(whole), "%s.%s", namespaces[k], end);
                is_seen = is_seen || (c->sees[k] && visibility_model_ends_with(name, whole));
            }
            if (!is_seen) {
                return true;
            }
        }
    }
    return false;
}

/* ---- The trees ---- */

struct key {
    char key[NAME_SIZE];
    char name[NAME_SIZE];
    char host[NAME_SIZE];
    char value[VALUE_SIZE];
};

struct tree {
    struct domains domains;
    struct key keys[KEYS_MAX];
    unsigned count;
    bool has_pod_targets;
    bool has_many;
};

static bool is_key_hidden(const struct client *c, const struct tree *t, const struct key *key)
{
    bool is_reverse = visibility_model_ends_with(key->name, "in-addr.arpa.") ||
                      visibility_model_ends_with(key->name, "ip6.arpa.");
    return is_name_hidden(c, &t->domains, key->name) ||
           (is_reverse && is_name_hidden(c, &t->domains, key->host));
}

static void draw_name_in(const struct tree *t, bool may_be_pod, char *out)
{
    const char *domain = t->domains.names[random_below(t->domains.count)];
    switch (random_below(8)) {
    case 0:
        (void)snprintf(out, NAME_SIZE, "%s%s.", RANDOM_PICK("", "x.", "web.top."), domain);
        break;
    case 1:
        (void)snprintf(out, NAME_SIZE, "%s.%s.",
                       RANDOM_PICK("top", "a.top", "svc", "pod", "ns1.dns.ns.dns"), domain);
        break;
    case 2:
        if (may_be_pod) {
            (void)snprintf(out, NAME_SIZE, "10-0-0-%u.%s.pod.%s.", random_below(4),
                           namespaces[random_below(NAMESPACES)], domain);
            break;
        }
        /* fall through */
    default:
        (void)snprintf(out, NAME_SIZE, "%s%s%s.svc.%s.",
                       RANDOM_PICK("", "", "h1.", "h2.", "_http._tcp.", "h1._http._tcp."),
                       RANDOM_PICK("web.", "db.", "web.", "any.", ""),
                       namespaces[random_below(NAMESPACES)], domain);
        break;
    }
    out[strlen(out) - 1] = '\0'; /* the domain has its dot */
}

static void name_to_key(const char *name, char *out)
{
    char copy[NAME_SIZE];
    char *labels[40];
    unsigned count = 0;
    size_t used = 0;
    char *rest = NULL;
    (void)snprintf(copy, sizeof(copy), "%s", name);
    for (char *label = strtok_r(copy, ".", &rest); label; label = strtok_r(NULL, ".", &rest)) {
        labels[count++] = label;
    }
    out[0] = '\0';
    while (count > 0) {
        used += (size_t)snprintf(out + used, NAME_SIZE - used, "%s%s", used ? "/" : "",
                                 labels[--count]);
    }
}

/* Random capitals. */
static void draw_case(char *name, unsigned one_in)
{
    for (char *p = name; *p; p++) {
        *p = *p >= 'a' && *p <= 'z' && random_below(one_in) == 0 ? (char)(*p - 32) : *p;
    }
}

static void draw_host(const struct tree *t, unsigned number, char *out)
{
    switch (random_below(6)) {
    case 0:
        (void)snprintf(out, NAME_SIZE, "fd00::%x", number);
        break;
    case 1:
    case 2:
        draw_name_in(t, t->has_pod_targets, out);
        if (random_below(4) == 0) {
            draw_case(out, 3);
        }
        break;
    case 3:
        (void)snprintf(out, NAME_SIZE, "%s", RANDOM_PICK("www.test.", "10.0.0.1", "", "no name"));
        break;
    default:
        (void)snprintf(out, NAME_SIZE, "10.7.%u.%u", number / 200, number % 200 + 1);
        break;
    }
}

static void draw_reverse(char out[NAME_SIZE])
{
    (void)snprintf(out, NAME_SIZE, "%s%u.%u.%s", RANDOM_PICK("", "", "", "x."), random_below(4),
                   random_below(2),
                   RANDOM_PICK("0.10.in-addr.arpa.", "96.10.in-addr.arpa.", "0.192.in-addr.arpa."));
    if (random_below(8) == 0) {
        (void)snprintf(out, NAME_SIZE,
                       "%u.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
                       "0.d.f.ip6.arpa.",
                       random_below(4));
    }
}

/* A domain among another's namespaces, or above them. */
static bool is_inner(const char *domain)
{
    return strstr(domain, ".svc.") || strncmp(domain, "svc.", 4) == 0;
}

static void draw_key(struct tree *t)
{
    struct key *key = &t->keys[t->count];
    bool is_reverse = random_below(5) == 0;
    is_reverse ? draw_reverse(key->name) : draw_name_in(t, true, key->name);
    if (!is_reverse && random_below(2)) {
        size_t len = strlen(key->name);
        memmove(key->name + 3, key->name, len + 1);
        memcpy(key->name, RANDOM_PICK("c0.", "c1.", "c2.", "c3.", "c4."), 3);
    }
    draw_host(t, t->count, key->host);
    if (is_reverse && random_below(4) > 0) {
        draw_name_in(t, true, key->host);
    }
    for (unsigned i = 0; i < t->domains.count; i++) {
        if (is_inner(t->domains.names[i]) &&
            visibility_model_ends_with(key->host, t->domains.names[i])) {
            return; /* where an alias leads, such a domain's own names make a difference */
        }
    }
    for (unsigned i = 0; i < t->count; i++) {
        if (strcmp(t->keys[i].name, key->name) == 0) {
            return;
        }
    }
    name_to_key(key->name, key->key);
    char host[NAME_SIZE];
    memcpy(host, key->host, sizeof(host));
    (void)snprintf(
        key->value, sizeof(key->value), "{'host':'%s'%s%s%s%s}", host,
        RANDOM_PICK("", ",'ttl':30,'priority':10", ",'ttl':30,'priority':10", ",'ttl':7"),
        RANDOM_PICK("", "", ",'port':80"),
        RANDOM_PICK("", "", "", "", ",'group':'g'", ",'group':'h'"),
        RANDOM_PICK("", "", "", ",'mail':true", ",'weight':3", ",'targetstrip':1"));
    if (random_below(6) == 0) {
        size_t len = strlen(key->value);
        (void)snprintf(key->value + len - 1, sizeof(key->value) - len + 1, ",'text':'t%u'}",
                       t->count);
    }
    t->count++;
}

static void draw_plain_key(struct tree *t, const char *name, const char *host, const char *more)
{
    struct key *key = &t->keys[t->count];
    for (unsigned i = 0; i < t->count; i++) {
        if (strcmp(t->keys[i].name, name) == 0) {
            return;
        }
    }
    (void)snprintf(key->name, sizeof(key->name), "%s", name);
    (void)snprintf(key->host, sizeof(key->host), "%s", host);
    (void)snprintf(key->value, sizeof(key->value), "{'host':'%s','ttl':30,'priority':10%s}", host,
                   more);
    name_to_key(key->name, key->key);
    t->count++;
}

/* A service as kube2sky writes it, but for the target of its port, which may be another. */
static void visibility_model_draw_service(struct tree *t)
{
    char service[80], name[NAME_SIZE], host[NAME_SIZE];
    const char *domain = t->domains.names[0];
    (void)snprintf(service, sizeof(service), "%s.%s.svc.%s", RANDOM_PICK("web", "db"),
                   namespaces[random_below(NAMESPACES)], domain);
    (void)snprintf(name, sizeof(name), "k%u.%s", random_below(2), service);
    (void)snprintf(host, sizeof(host), "10.7.8.%u", t->count + 1);
    draw_plain_key(t, name, host, "");
    (void)snprintf(name, sizeof(name), "k%u._http._tcp.%s", random_below(2), service);
    (void)snprintf(host, sizeof(host), "%s.%s.svc.%s", RANDOM_PICK("web", "db"),
                   namespaces[random_below(NAMESPACES)], domain);
    draw_plain_key(t, name, random_below(2) ? host : service, ",'port':80");
}

/* A service with more addresses than are prepared, or than fit. */
static void draw_many(struct tree *t)
{
    const char *ns = namespaces[random_below(NAMESPACES)], *domain = t->domains.names[0];
    for (unsigned n = 33 + random_below(20); n > 0 && t->count < KEYS_MAX; n--) {
        struct key *key = &t->keys[t->count];
        (void)snprintf(key->name, sizeof(key->name), "m%u.many.%s.svc.%s", n, ns, domain);
        (void)snprintf(key->host, sizeof(key->host), "10.8.0.%u", n);
        (void)snprintf(key->value, sizeof(key->value), "{'host':'10.8.0.%u','ttl':30}", n);
        name_to_key(key->name, key->key);
        t->count++;
    }
}

static void draw_tree(struct tree *t)
{
    static const struct domains kinds[] = {
        {1, {"cluster.local."}},
        {1, {"cluster.local."}},
        {2, {"cluster.local.", "other.test."}},
        {2, {"cluster.local.", "local."}},
        {2, {"cluster.local.", "own.svc.cluster.local."}},
        {2, {"cluster.local.", "10.in-addr.arpa."}},
        {3, {"cluster.local.", "svc.cluster.local.", "a.b.other.test."}},
    };
    t->domains = kinds[random_below(ARRAY_LEN(kinds))];
    t->count = 0;
    for (unsigned n = 1 + random_below(45); n > 0; n--) {
        draw_key(t);
    }
    for (unsigned n = random_below(8); n > 0; n--) {
        visibility_model_draw_service(t);
    }
    t->has_many = random_below(6) == 0;
    if (t->has_many) {
        draw_many(t);
    }
}

/* ---- Questions ---- */

static void draw_labels(const struct tree *t, char *out)
{
    (void)snprintf(out, NAME_SIZE, "%s", t->domains.names[random_below(t->domains.count)]);
    for (unsigned n = random_below(6); n > 0; n--) {
        char longer[NAME_SIZE + 20];
        (void)snprintf(longer, sizeof(longer), "%s.%s",
                       RANDOM_PICK("svc", "svc", "pod", "*", "any", "own", "team", "other", "web",
                                   "_tcp", "_http", "nothing", "10-0-0-1", "top", "dns", "ns"),
                       out);
        memcpy(out, longer, strlen(longer) + 1); /* 6 labels of 8 bytes */
    }
}

/* A key's name, or one above, with wildcards in place of some labels. */
static void draw_known(const struct client *c, const struct tree *t, char *out)
{
    const struct key *key = &t->keys[t->count ? random_below(t->count) : 0];
    for (unsigned tries = random_below(4); t->count && tries > 0 && is_key_hidden(c, t, key);
         tries--) {
        key = &t->keys[random_below(t->count)];
    }
    const char *name = t->count ? key->name : "cluster.local.";
    size_t used = 0;
    for (unsigned n = random_below(2) ? 0 : random_below(4); n > 0 && strchr(name, '.')[1]; n--) {
        name = strchr(name, '.') + 1;
    }
    bool has_wildcards = random_below(4) == 0;
    out[0] = '\0';
    for (const char *at = name; *at; at = strchr(at, '.') + 1) {
        size_t len = strcspn(at, ".");
        bool is_wildcard = has_wildcards && random_below(4) == 0 && strlen(at) > 14;
        used += (size_t)snprintf(out + used, NAME_SIZE - used, "%.*s.", is_wildcard ? 1 : (int)len,
                                 is_wildcard ? "*" : at);
    }
}

static void visibility_model_draw_question(const struct client *c, const struct tree *t, char *name,
                                           char *question, size_t size)
{
    switch (random_below(9)) {
    case 3:
        (void)snprintf(name, NAME_SIZE, "_http._tcp.%s.%s.svc.%s", RANDOM_PICK("web", "db"),
                       namespaces[random_below(NAMESPACES)], t->domains.names[0]);
        break;
    case 0:
        draw_labels(t, name);
        break;
    case 1:
        draw_name_in(t, true, name);
        break;
    case 2:
        draw_reverse(name);
        for (unsigned n = random_below(4); n > 0; n--) {
            memmove(name, strchr(name, '.') + 1, strlen(strchr(name, '.')));
        }
        break;
    default:
        draw_known(c, t, name);
        break;
    }
    if (random_below(8) == 0) {
        (void)snprintf(name, NAME_SIZE, "%s",
                       RANDOM_PICK("local.dns.cluster.local.", "svc.cluster.local.",
                                   "pod.cluster.local.", "cluster.local.", "*.svc.cluster.local.",
                                   "ns.dns.cluster.local.", "any.any.svc.cluster.local."));
    }
    char typed[NAME_SIZE];
    (void)snprintf(typed, sizeof(typed), "%s", name);
    if (random_below(6) == 0) {
        draw_case(typed, 3);
    }
    const char *type =
        strncmp(name, "_http", 5) == 0 && random_below(4) ? "SRV"
        : strstr(name, "arpa") && random_below(4)
            ? "PTR"
            : RANDOM_PICK("A", "A", "A", "A", "AAAA", "SRV", "SRV", "SRV", "TXT", "MX", "CNAME",
                          "NS", "SOA", "PTR", "ANY", "TYPE65", "TYPE257");
    (void)snprintf(question, size, "%s %s%s%s", typed, type, random_below(6) ? "" : " tcp",
                   RANDOM_PICK("", "", " edns=1232", " edns=512 do"));
}

/* ---- Both sides ---- */

struct side {
    struct fixture *f;
    struct direct *direct;
    struct client_view view;
    enum engine_verdict verdict;
    struct engine_deferral deferral;
    uint8_t reply[ENGINE_REPLY_MAX];
    size_t len;
};

struct bed {
    struct tree tree;
    struct rules rules;
    struct client client;
    struct visibility *visibility, *open; /* what hides nothing */
    struct side all, visible;
    unsigned long asked, same, hidden, denied, shown;
    unsigned long seed;
};

static void visibility_model_draw_config(struct engine_config *config, const struct tree *t)
{
    config->zone_count = 0;
    for (unsigned i = 0; i < t->domains.count; i++) {
        struct dname domain = dname_from(t->domains.names[i]);
        assert_true(engine_config_add_domain(config, &domain, NULL));
    }
    config->settings.schema = random_below(2) ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
    config->settings.pods = t->has_pod_targets ? ENGINE_PODS_VERIFIED
                            : random_below(2)  ? ENGINE_PODS_INSECURE
                                               : ENGINE_PODS_DISABLED;
    config->settings.any_is_hinfo = random_below(2);
    config->settings.round_robin = random_below(2);
    config->has_nameservers = random_below(4) == 0;
    config->settings.max_udp_size = 1232;
    if (random_below(3) == 0) {
        char name[NAME_SIZE];
        draw_name_in(t, true, name);
        config->settings.local = dname_from(name);
    }
    if (random_below(2)) {
        config->settings.reverse_zone_count = 1;
        config->settings.reverse_zones[0] = (struct network){{.family_bytes = 4, .bytes = {10}},
                                                             (uint8_t)(random_below(2) ? 8 : 12)};
    }
}

static void side_make(struct side *side, const struct engine_config *config,
                      struct visibility *visibility)
{
    struct engine_config *own = &side->f->config;
    memcpy(own, config, sizeof(*own));
    own->visibility = visibility;
    own->serial = 1;
    side->direct = direct_new(own);
    side->view = (struct client_view){.visibility = visibility};
}

static void side_put(struct side *side, const struct key *key)
{
    fixture_put(side->f, &(struct fixture_key){key->key, key->value}, 1);
}

static void side_ask(struct side *side, const char *question, uint32_t random, bool may_scan)
{
    static const struct addr nobody;
    struct query parsed;
    struct engine_query query = {.client = &nobody,
                                 .local = &nobody,
                                 .transport = fixture_query(side->f, question),
                                 .now_s = FIXTURE_NOW_S,
                                 .random = random,
                                 .may_scan = may_scan,
                                 .view = side->view};
    query.wire = side->f->query;
    query.len = side->f->query_len;
    query_parse(query.wire, query.len, &parsed);
    query.parsed = &parsed;
    const struct fast_query *ahead = parsed.is_ordinary ? &parsed.fast : NULL;
    if (random % 2) {
        direct_look_ahead(side->direct, side->f->store, &ahead, 1);
        query.ahead = 1;
    }
    side->len = 0;
    memset(&side->deferral, 0, sizeof(side->deferral));
    struct response response = {.bytes = side->reply};
    side->verdict =
        direct_answer(side->direct, side->f->store, &query, NULL, &response, &side->deferral);
    side->len = response.len;
}

static bool is_scan(const struct side *side)
{
    return side->verdict == ENGINE_DEFER && side->deferral.kind == ENGINE_DEFER_SCAN;
}

static const char *visibility_model_text_of(const struct side *side, char *out)
{
    return side->verdict == ENGINE_REPLY  ? dns_text(side->reply, side->len, out, DNS_TEXT_MAX)
           : side->verdict == ENGINE_DROP ? "drop"
           : is_scan(side)                ? "walk"
           : side->deferral.kind == ENGINE_DEFER_FORWARD ? "forward"
                                                         : "lookup";
}

static bool visibility_model_is_same(const struct side *a, const struct side *b)
{
    if (a->verdict != b->verdict) {
        return false;
    }
    if (a->verdict == ENGINE_REPLY) {
        return a->len == b->len && memcmp(a->reply, b->reply, a->len) == 0;
    }
    bool is_same_kind = a->verdict == ENGINE_DROP || a->deferral.kind == b->deferral.kind;
    for (size_t i = 0; is_same_kind && i < a->deferral.question_count; i++) {
        is_same_kind =
            a->deferral.question_count == b->deferral.question_count &&
            dname_equal(&a->deferral.questions[i].name, &b->deferral.questions[i].name) &&
            a->deferral.questions[i].type == b->deferral.questions[i].type;
    }
    return is_same_kind;
}

static char text_all[DNS_TEXT_MAX], text_visible[DNS_TEXT_MAX];

static int visibility_model_compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static unsigned sort_lines(char *text, char **lines, unsigned max)
{
    unsigned count = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line && count < max;
         line = strtok_r(NULL, "\n", &rest)) {
        lines[count++] = line;
    }
    qsort(lines, count, sizeof(lines[0]), visibility_model_compare_lines);
    return count;
}

/* Returns whether both chose alike among more addresses than are prepared. A name with nothing
 * hidden below it takes some, and in another order than one that must look at each. So both
 * responses are cut, or have the same records. */
static bool is_same_choice(const struct side *a, const struct side *b)
{
    static char *lines_a[200], *lines_b[200];
    if (a->verdict != ENGINE_REPLY || b->verdict != ENGINE_REPLY ||
        memcmp(a->reply, b->reply, 4) != 0) {
        return false;
    }
    if (a->reply[2] & DNS_FLAG_TC >> 8) {
        return true;
    }
    (void)dns_text(a->reply, a->len, text_all, sizeof(text_all));
    (void)dns_text(b->reply, b->len, text_visible, sizeof(text_visible));
    unsigned count = sort_lines(text_all, lines_a, ARRAY_LEN(lines_a));
    bool is_same = count == sort_lines(text_visible, lines_b, ARRAY_LEN(lines_b));
    for (unsigned i = 0; is_same && i < count; i++) {
        is_same = strcmp(lines_a[i], lines_b[i]) == 0;
    }
    return is_same;
}

static void visibility_model_report(const struct bed *b, const char *why, const char *question)
{
    for (unsigned i = 0; i < b->tree.count; i++) {
        const struct key *key = &b->tree.keys[i];
        print_message("%s %s %s\n",
                      is_key_hidden(&b->client, &b->tree, key) ? "hidden " : "visible", key->key,
                      key->value);
    }
    print_message("client `%.*s`, %u domains, schema %d, pods %d, %zu reverse zones\n",
                  b->client.space.label_len, b->client.space.label, b->tree.domains.count,
                  (int)b->all.f->config.settings.schema, (int)b->all.f->config.settings.pods,
                  b->all.f->config.settings.reverse_zone_count);
    fail_msg("SEED=%lu: %s: `%s`\n%s\nexpected:\n%s", b->seed, why, question,
             visibility_model_text_of(&b->all, text_all),
             visibility_model_text_of(&b->visible, text_visible));
}

/* ---- What is meant to differ ---- */

/* The name that local.dns.<domain> stands for, as typed in the configuration. */
static const char *real_name(const struct bed *b, const char *name, char out[DNAME_TEXT_MAX])
{
    const struct engine_config *config = &b->all.f->config;
    bool is_local = strncmp(name, "local.dns.", 10) == 0 && config->settings.local.len > 0;
    for (unsigned i = 0; is_local && i < b->tree.domains.count; i++) {
        if (strcmp(name + 10, b->tree.domains.names[i]) == 0) {
            return dname_to_text(&config->settings.local, out);
        }
    }
    return name;
}

/* Hidden names that the configuration, and no record, would make exist. */
static bool is_made_by_config(const struct bed *b, const char *name)
{
    const struct engine_config *config = &b->all.f->config;
    const char *listed = name; /* behind the last wildcard */
    for (const char *at = name; *at && config->settings.schema == ENGINE_SCHEMA_SKYDNS;
         at = strchr(at, '.') + 1) {
        bool is_wildcard = strncmp(at, "*.", 2) == 0 || strncmp(at, "any.", 4) == 0;
        listed = is_wildcard ? strchr(at, '.') + 1 : listed;
    }
    bool is_hidden = is_name_hidden(&b->client, &b->tree.domains, listed);
    bool is_pod = config->settings.pods == ENGINE_PODS_INSECURE && strstr(name, ".pod.");
    bool is_nested = false; /* in such a domain, or above it */
    for (unsigned i = 0; i < b->tree.domains.count; i++) {
        const char *domain = b->tree.domains.names[i];
        is_nested = is_nested || (is_inner(domain) && (visibility_model_ends_with(name, domain) ||
                                                       visibility_model_ends_with(domain, name)));
    }
    return is_hidden && (is_pod || is_nested);
}

static bool is_nothing(const struct side *side)
{
    const uint8_t *h = side->reply;
    return side->verdict == ENGINE_REPLY && (h[3] & DNS_MASK_RCODE) == DNS_RCODE_NXDOMAIN &&
           h[6] + h[7] == 0 && h[8] + h[9] == 1;
}

static bool visibility_model_is_refused(const struct side *side)
{
    return side->verdict == ENGINE_REPLY && (side->reply[3] & DNS_MASK_RCODE) == DNS_RCODE_REFUSED;
}

/* The data of a hidden record, or its name, without a visible record that has it, too. */
static void check_leaks(struct bed *b, const char *name, const char *question)
{
    const struct tree *t = &b->tree;
    const char *text = visibility_model_text_of(&b->all, text_all);
    const char *from = strstr(text, "\n= ");
    char *soa = strstr(text_all, "\n! "); /* owned by a domain */
    if (from && soa) {
        memset(soa + 1, ' ', strcspn(soa + 1, "\n"));
    }
    for (unsigned i = 0; i < t->count && from; i++) {
        const struct key *key = &t->keys[i];
        bool is_known = strcmp(name, key->name) == 0; /* an owner as asked, if it has a wildcard */
        if (!is_key_hidden(&b->client, t, key)) {
            continue;
        }
        for (unsigned k = 0; k < t->count; k++) {
            bool is_visible = !is_key_hidden(&b->client, t, &t->keys[k]);
            is_known = is_known || (is_visible && (strcasecmp(t->keys[k].host, key->name) == 0 ||
                                                   strstr(t->keys[k].value, "targetstrip")));
        }
        char owner[NAME_SIZE + 4];
        (void)snprintf(owner, sizeof(owner), " %s", key->name);
        bool is_owner = strncmp(key->host, "10.7.", 5) == 0 && strstr(from, key->host) &&
                        strstr(from, key->host)[strlen(key->host)] == '\n';
        if ((!is_known && strstr(from, owner)) || is_owner) {
            visibility_model_report(b, key->name, question);
        }
    }
}

static void visibility_model_ask_both(struct bed *b)
{
    char name[NAME_SIZE], question[NAME_SIZE + 40], local[DNAME_TEXT_MAX];
    uint32_t random = random_below(UINT32_MAX);
    visibility_model_draw_question(&b->client, &b->tree, name, question, sizeof(question));
    side_ask(&b->all, question, random, false);
    side_ask(&b->visible, question, random, false);
    if (is_scan(&b->all) || is_scan(&b->visible)) {
        side_ask(&b->all, question, random, true);
        side_ask(&b->visible, question, random, true);
    }
    b->asked++;
    const char *real = real_name(b, name, local);
    b->hidden += is_name_hidden(&b->client, &b->tree.domains, real);
    b->shown += b->all.verdict == ENGINE_REPLY && b->all.reply[7] > 0;
    check_leaks(b, name, question);
    if (!visibility_model_is_refused(&b->all) && is_made_by_config(b, real)) {
        b->denied++;
        if (!is_nothing(&b->all)) {
            visibility_model_report(b, "not NXDOMAIN", question);
        }
    } else if (!visibility_model_is_same(&b->all, &b->visible) &&
               !(b->tree.has_many && is_same_choice(&b->all, &b->visible))) {
        visibility_model_report(b, "not the same", question);
    } else {
        b->same++;
    }
}

/* ---- The test ---- */

static void ask_as_client(struct bed *b, const struct engine_config *config)
{
    draw_client(&b->rules, &b->client);
    b->visible.f = fixture_new(NULL, 0);
    side_make(&b->visible, config, b->open);
    for (unsigned i = 0; i < b->tree.count; i++) {
        if (!is_key_hidden(&b->client, &b->tree, &b->tree.keys[i])) {
            side_put(&b->visible, &b->tree.keys[i]);
        }
    }
    b->all.view.space = b->client.has_space ? &b->client.space : NULL;
    for (unsigned i = 0; i < QUESTIONS; i++) {
        visibility_model_ask_both(b);
    }
    direct_free(b->visible.direct);
    fixture_free(b->visible.f);
}

static void ask_tree(struct bed *b, unsigned long seed)
{
    struct fixture *f = fixture_new(NULL, 0);
    random_state = b->seed = seed;
    b->tree.has_pod_targets = random_below(3) > 0;
    draw_tree(&b->tree);
    draw_rules(&b->rules);
    visibility_model_draw_config(&f->config, &b->tree);
    b->visibility = make_visibility(&b->rules);
    b->all.f = fixture_new(NULL, 0);
    side_make(&b->all, &f->config, b->visibility);
    for (unsigned i = 0; i < b->tree.count; i++) {
        side_put(&b->all, &b->tree.keys[i]);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        ask_as_client(b, &f->config);
    }
    direct_free(b->all.direct);
    fixture_free(b->all.f);
    fixture_free(f);
    visibility_unref(b->visibility);
}

static unsigned long visibility_model_number_of(const char *variable, unsigned long otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

UNIT_TEST(test_hidden_records_might_as_well_not_exist)
{
    static struct bed b;
    unsigned long first = visibility_model_number_of("SEED", 1),
                  trees = visibility_model_number_of("VISIBILITY_TREES", TREES);
    b.open = visibility_new(VISIBILITY_UNKNOWN_ALL, NULL, 0, NULL, 0);
    for (unsigned long seed = first; seed < first + trees; seed++) {
        ask_tree(&b, seed);
    }
    visibility_unref(b.open);
    print_message("%lu questions: %lu alike, %lu of hidden names, %lu denied, %lu with answers\n",
                  b.asked, b.same, b.hidden, b.denied, b.shown);
    if (trees >= TREES) { /* each kind is asked often enough to mean something */
        assert_true(b.hidden > b.asked / 10);
        assert_true(b.shown > b.asked / 10);
        assert_true(b.denied > b.asked / 200);
    }
}
