/* Random trees, settings and questions: what a client gets by its search path against what one that
 * is no pod finds by asking for one name after another, with random nameservers behind them. */
#include "common/base/buf.h"
#include "tests/support/from_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/engine/search_list_bed.h"

enum { TREES = 120, KEYS_MAX = 14, QUESTIONS = 60, PLACES_MAX = 8, NAME_MAX = 200 };

#define ANY_OF(array) (array)[random_below(sizeof(array) / sizeof((array)[0]))]

static const char *const labels[] = {"a",    "b",    "com", "dns", "pod", "svc",   "_t",
                                     "team", "stub", "*",   "any", "ns",  "local", "10-0-0-1"};

/* ---- The world ---- */

static void path_model_put_keys(struct search_list_bed *p)
{
    static const char *const above[] = {"svc/team/", "svc/other/", "svc/", ""};
    static const char *const values[] = {
        "{'host':'10.0.0.1','ttl':30}",    "{'host':'10.0.0.2'}",
        "{'host':'fd00::1','ttl':7}",      "{'host':'a.team.svc.cluster.local'}",
        "{'host':'b.svc.cluster.local.'}", "{'host':'x.com.','port':80}",
        "{'host':'y.com.','ttl':50}",      "{'text':'hello'}",
    };
    unsigned count = random_below(KEYS_MAX);
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_FREE char *key = xasprintf("local/cluster/%s%s%s%s", ANY_OF(above), ANY_OF(labels),
                                           random_below(2) ? "/" : "", random_below(2) ? "" : "k");
        if (key[strlen(key) - 1] != '/') {
            fixture_put(p->f, &(struct fixture_key){key, ANY_OF(values)}, 1);
        }
    }
}

static struct search_list_bed path_model_make_world(void)
{
    static const char *const searches[] = {"corp.test.", "svc.cluster.local.", "acme.test.",
                                           "empty.test.", "com."};
    struct search_list_bed p = path_bed_new(NULL, 0);
    struct engine_config *config = &p.f->config;
    if (random_below(3)) {
        path_bed_without_stub_below(&p);
    }
    if (random_below(4) == 0) {
        fixture_domain(p.f, "b.cluster.local.");
    }
    for (unsigned i = random_below(3); i > 0; i--) {
        path_bed_search(&p, ANY_OF(searches));
    }
    config->settings.schema = random_below(2) ? ENGINE_SCHEMA_KUBERNETES : ENGINE_SCHEMA_SKYDNS;
    config->settings.pods = (enum engine_pods)random_below(3);
    config->settings.ndots = random_below(4);
    config->settings.no_rec = random_below(8) == 0;
    config->zones[0].is_incomplete = random_below(10) == 0;
    path_model_put_keys(&p);
    return p;
}

/* ---- The client that searches by itself ---- */

struct scan {
    struct search_list_bed *p;
    const char *type; /* and the query's options */
    unsigned count;
    char names[PLACES_MAX][NAME_MAX];
    unsigned seen; /* ENGINE_PATH_SAW_... */
};

static void path_model_set_names(struct scan *w, const char *prefix)
{
    static const char *const ours[] = {"team.svc.cluster.local.", "svc.cluster.local.",
                                       "cluster.local."};
    const struct engine_config *config = &w->p->f->config;
    char text[DNAME_TEXT_MAX];
    for (w->count = 0; w->count < 3; w->count++) {
        (void)snprintf(w->names[w->count], NAME_MAX, "%s%s", prefix, ours[w->count]);
    }
    for (size_t i = 0; i < config->settings.search_count; i++) {
        (void)snprintf(w->names[w->count++], NAME_MAX, "%s%.99s", prefix,
                       dname_to_text(&config->settings.search[i], text));
    }
    (void)snprintf(w->names[w->count++], NAME_MAX, "%s", prefix);
}

static const char *path_model_ask(const struct scan *w, unsigned place, bool is_pod)
{
    char question[2 * NAME_MAX];
    (void)snprintf(question, sizeof(question), "%s %s", w->names[place], w->type);
    w->p->f->client = pod_address(is_pod ? 1 : 99);
    return fixture_ask(w->p->f, question);
}

static bool path_model_ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);
    return len >= end_len && strcmp(name + len - end_len, end) == 0 &&
           (len == end_len || name[len - end_len - 1] == '.');
}

static bool path_model_has_too_few_dots(const struct scan *w, const char *name)
{
    unsigned dots = 0;
    for (const char *at = name; *at; at++) {
        dots += *at == '.';
    }
    return dots < w->p->f->config.settings.ndots && !path_model_ends_with(name, "cluster.local.") &&
           !path_model_ends_with(name, "acme.test.") && !path_model_ends_with(name, "empty.test.");
}

/* The smallest TTL of a line of an answer, or of a denial's SOA. */
static void note_ttl(const char *line, unsigned long *least)
{
    char kind = line[0];
    const char *at = strchr(line + 2, ' ');
    unsigned long ttl = strtoul(at, NULL, 10), minimum = ttl;
    if (kind == '!') {
        CLEANUP_FREE char *end = xstrndup(line, strcspn(line, "\n"));
        minimum = strtoul(strrchr(end, ' '), NULL, 10);
    }
    if (kind == '=' || (kind == '!' && strstr(line, " SOA "))) {
        *least = ttl < *least ? ttl : *least;
        *least = minimum < *least ? minimum : *least;
    }
}

static char *end_text(struct buf *out)
{
    char *text = xstrdup(buf_cstr(out));
    buf_fini(out);
    return text;
}

/* The reply about the name at a place, as the reply to the client. Freed by the caller. */
static char *path_model_moved(const struct scan *w, unsigned place, const char *text)
{
    struct buf out;
    unsigned long least = UINT32_MAX;
    const char *question = strchr(text, '\n') + 1, *records = strchr(question, '\n');
    buf_init(&out, DNS_TEXT_MAX);
    if (place == 0) {
        buf_printf(&out, "%s", text);
        return end_text(&out);
    }
    for (const char *line = records; line; line = strchr(line + 1, '\n')) {
        if (line[1] == '=' || line[1] == '!') {
            note_ttl(line + 1, &least);
        }
    }
    const char *ad = strstr(text, " ad");
    bool has_ad = ad && ad < question;
    buf_printf(&out, "%.*s", (int)((has_ad ? ad : question) - text), text);
    if (has_ad) {
        ad += strlen(" ad");
        buf_printf(&out, "%.*s", (int)(question - ad), ad);
    }
    buf_printf(&out, "? %s%.*s", w->names[0],
               (int)((records ? records : question + strlen(question)) - strchr(question + 2, ' ')),
               strchr(question + 2, ' '));
    buf_printf(&out, "\n= %s %lu CNAME %s%s", w->names[0], least == UINT32_MAX ? 0 : least,
               w->names[place], records ? records : "");
    return end_text(&out);
}

/* ---- Nameservers ---- */

/* Puts the upstream's response into the response cache, or leaves it on its way. */
static void put_cached(struct scan *w, unsigned place)
{
    static struct bed_reply r;
    char question[2 * NAME_MAX];
    const char *name = w->names[place];
    bool is_address = strncmp(w->type, "A ", 2) == 0;
    (void)snprintf(question, sizeof(question), "%s %s", name, w->type);
    switch (random_below(5)) {
    case 0:
        bed_fail(&w->p->b, question);
        return;
    case 1:
    case 2:
        reply_begin(&r, &w->p->b, question, random_below(2) ? 0x8183 : 0x8180);
        reply_add_soa(&r, ".", 1 + random_below(100));
        break;
    case 3:
        if (is_address) {
            reply_begin(&r, &w->p->b, question, 0x81a0);
            reply_add_cname(&r, name, 1 + random_below(100), "elsewhere.example.");
            reply_add_a(&r, "elsewhere.example.", 1 + random_below(100), 1);
            break;
        }
        return;
    default:
        return;
    }
    (void)bed_put(&w->p->b, question, &r);
}

static size_t path_model_forwarded(const struct scan *w, unsigned place, const struct bed_reply *r,
                                   bool is_pod)
{
    struct fixture *f = w->p->f;
    char question[2 * NAME_MAX];
    (void)snprintf(question, sizeof(question), "%s %s", w->names[is_pod ? 0 : place], w->type);
    enum engine_transport transport = fixture_query(f, question);
    struct addr client = pod_address(is_pod ? 1 : 99);
    struct engine_query query = {.wire = f->query,
                                 .len = f->query_len,
                                 .client = &client,
                                 .local = &f->local,
                                 .transport = transport,
                                 .now_s = FIXTURE_NOW_S,
                                 .now_ms = f->now_ms,
                                 .search_list_at = (uint8_t)(is_pod ? place : 0),
                                 .search_list_serial = f->config.serial};
    if (!engine_forwarded_bytes(f->engine, &query, r->wire, r->w.pos, &f->response)) {
        return 0;
    }
    (void)dns_text(f->reply, f->response.len, f->text, sizeof(f->text));
    return f->response.len;
}

/* A domain of -search, whose NODATA ends no search. */
static bool passes_no_data(const struct scan *w, unsigned place)
{
    return place >= 3 && place + 1 < w->count;
}

/* The nameserver replies to the question for the name at a place. True: that is the answer. */
static bool path_model_take_reply(struct scan *w, unsigned place)
{
    static struct bed_reply r;
    char question[2 * NAME_MAX];
    bool is_found = random_below(3) == 0, is_failure = !is_found && random_below(3) == 0;
    bool is_no_data = !is_found && !is_failure && random_below(2) == 0;
    (void)snprintf(question, sizeof(question), "%s %s", w->names[place], w->type);
    reply_begin(&r, &w->p->b, question, is_found || is_no_data ? 0x8180 : 0x8183);
    if (is_found) {
        reply_add_cname(&r, w->names[place], 20 + random_below(20), "elsewhere.example.");
    } else {
        reply_add_soa(&r, ".", 60);
    }
    if (is_failure) {
        w->seen |= ENGINE_PATH_SAW_FAILURE;
        return false;
    }
    w->seen |= is_no_data && passes_no_data(w, place) ? ENGINE_PATH_SAW_NO_DATA : 0;
    is_found = is_found || (is_no_data && !passes_no_data(w, place));
    size_t len = path_model_forwarded(w, place, &r, false);
    assert_int_not_equal(len, 0);
    CLEANUP_FREE char *right = path_model_moved(w, place, w->p->f->text);
    if (is_found) {
        assert_int_not_equal(path_model_forwarded(w, place, &r, true), 0);
        assert_string_equal(w->p->f->text, right);
    } else {
        assert_int_equal(path_model_forwarded(w, place, &r, true), 0);
    }
    return is_found;
}

/* ---- Both ---- */

static struct external_answer told[ENGINE_EXTERNAL_MAX];

/* Reports the outcomes of the last deferral's questions. */
static void path_model_report(struct fixture *f)
{
    enum external_outcome outcome = random_below(2) ? EXTERNAL_DENIED : EXTERNAL_FAILED;
    f->externals = (struct external_answers){f->deferral.question_count, told};
    f->has_externals = true;
    for (size_t i = 0; i < f->deferral.question_count; i++) {
        told[i] =
            (struct external_answer){.question = f->deferral.questions[i], .outcome = outcome};
    }
}

static void go_to(struct scan *w, unsigned place)
{
    w->p->f->search_list_at = (unsigned char)place;
    w->p->f->search_list_seen = (uint8_t)w->seen;
    w->p->f->has_externals = false;
}

/* The searching client asks for the name at a place; sets *ret_text to what it gets, freed by the
 * caller. False: it goes on. True with NULL: the answer came from a nameserver, and was compared.
 */
static bool path_model_try_place(struct scan *w, unsigned place, unsigned *waits_at,
                                 char **ret_text)
{
    struct fixture *f = w->p->f;
    unsigned char search_list_at = f->search_list_at;
    f->search_list_at = 0;
    const char *text = path_model_ask(w, place, false);
    if (f->verdict == ENGINE_DEFER && f->deferral.kind == ENGINE_DEFER_LOOKUP) {
        CLEANUP_FREE char *lookup = xstrdup(text);
        f->search_list_at = search_list_at;
        assert_string_equal(path_model_ask(w, 0, true), lookup);
        assert_int_equal(f->deferral.search_list_at, place);
        *waits_at = place;
        path_model_report(f);
        f->search_list_at = 0;
        text = path_model_ask(w, place, false);
        search_list_at = (unsigned char)place;
    } else if (f->verdict == ENGINE_DEFER && f->deferral.kind == ENGINE_DEFER_FORWARD) {
        f->search_list_at = search_list_at;
        assert_string_equal(path_model_ask(w, 0, true), "forward");
        assert_int_equal(f->deferral.search_list_at, place);
        struct dname name = dname_from(w->names[place]);
        assert_int_equal(f->deferral.forward.len, name.len);
        assert_memory_equal(f->deferral.forward.wire, name.wire, name.len);
        *waits_at = place + 1;
        *ret_text = NULL;
        return path_model_take_reply(w, place);
    }
    f->search_list_at = search_list_at;
    assert_int_equal(f->verdict, ENGINE_REPLY);
    unsigned rcode = f->reply[3] & DNS_MASK_RCODE;
    const bool is_no_data = rcode == DNS_RCODE_NOERROR && passes_no_data(w, place) &&
                            f->reply[7] == 0 && (f->reply[2] & DNS_FLAG_TC >> 8) == 0;
    const bool is_answer = rcode == DNS_RCODE_NOERROR && !is_no_data;
    *ret_text = is_answer ? path_model_moved(w, place, text) : NULL;
    if (!(place >= 3 && path_model_has_too_few_dots(w, w->names[place]))) {
        w->seen |= is_no_data                                  ? ENGINE_PATH_SAW_NO_DATA
                   : !is_answer && rcode != DNS_RCODE_NXDOMAIN ? ENGINE_PATH_SAW_FAILURE
                                                               : 0;
    }
    return is_answer;
}

static void path_model_search(struct scan *w)
{
    struct fixture *f = w->p->f;
    static const char no_name[] = "NXDOMAIN ";
    char *right = NULL;
    w->seen = 0;
    go_to(w, 0);
    for (unsigned place = 0; place < w->count; place++) {
        unsigned waits_at = 0;
        const unsigned had_seen = w->seen;
        bool is_found = path_model_try_place(w, place, &waits_at, &right);
        if (is_found && !right) {
            return; /* a nameserver's reply */
        }
        if (waits_at == place && place > 0) { /* with externals from here on, once */
            f->search_list_at = (unsigned char)place;
            f->search_list_seen = (uint8_t)had_seen;
        } else if (waits_at > place) {
            go_to(w, waits_at);
        }
        if (is_found) {
            break;
        }
        if (f->has_externals) { /* the engine may pass it only with them; then they are not for it
                                 */
            go_to(w, place + 1);
        }
    }
    const char *text = path_model_ask(w, 0, true);
    if (right) {
        assert_string_equal(text, right);
    } else if (w->seen & ENGINE_PATH_SAW_FAILURE) {
        assert_int_equal(f->verdict, ENGINE_REPLY);
        assert_int_equal(f->reply[3] & DNS_MASK_RCODE, DNS_RCODE_SERVFAIL);
    } else if (f->verdict == ENGINE_REPLY) {
        CLEANUP_FREE char *got = xstrdup(text);
        go_to(w, 0);
        const char *plain = path_model_ask(w, 0, false);
        if (w->seen & ENGINE_PATH_SAW_NO_DATA && strncmp(plain, no_name, strlen(no_name)) == 0) {
            assert_memory_equal(got, "NOERROR ", strlen("NOERROR "));
            assert_string_equal(got + strlen("NOERROR "), plain + strlen(no_name));
        } else {
            assert_string_equal(plain, got);
        }
    }
    free(right);
}

UNIT_TEST(searches)
{
    static const char *const types[] = {
        "A edns=4096",      "A tcp",  "AAAA edns=4096 do", "SRV tcp",
        "TXT edns=4096 cd", "MX tcp", "A edns=4096 ad",    "CNAME tcp"};
    for (unsigned tree = 0; tree < TREES; tree++) {
        random_state = tree;
        CLEANUP(search_list_bed_free) struct search_list_bed p = path_model_make_world();
        struct scan w = {.p = &p};
        for (unsigned i = 0; i < QUESTIONS; i++) {
            char prefix[NAME_MAX / 2] = "";
            size_t len = 0;
            for (unsigned n = 1 + random_below(3); n > 0; n--) {
                len += (size_t)snprintf(prefix + len, sizeof(prefix) - len, "%s.", ANY_OF(labels));
            }
            if (i % 20 == 19) {
                path_model_put_keys(&p);
            }
            w.type = ANY_OF(types);
            path_model_set_names(&w, prefix);
            for (unsigned place = 3; place < w.count; place++) {
                put_cached(&w, place);
            }
            path_model_search(&w);
        }
    }
}
