/* Random trees and questions: the answer from the tree of labels against one from the flat list of
 * keys, which scans every key for every question. Addresses, texts, services and mail, with hidden
 * labels, wildcards, duplicates, groups and CNAMEs inside the domain. */
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

/* Few labels and values, so that names collide; 60 trees of 40 keys with 150 questions each. */
enum { TREES = 60, KEYS_MAX = 40, QUESTIONS = 150, DEPTH_MAX = 4, LINES_MAX = 400 };

static const char *const labels[] = {"a", "b", "c", "_t", "_u", "any", "*"};
static const char *const addresses[] = {"10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"};
static const char *const groups[] = {"", "", "", "g", "h"};
enum { CHAIN_MAX = 8, TTL_S = 3600 };

/* ---- The model: keys as paths, "a/b/_t" for _t.b.a.test. ---- */

struct path {
    unsigned count;
    const char *labels[DEPTH_MAX];
};

enum host { HOST_NONE, HOST_A, HOST_AAAA, HOST_NAME };

struct key {
    struct path path;
    enum host host;
    const char *address; /* A, AAAA */
    struct path target;  /* NAME */
    unsigned port, priority, weight, ttl_s;
    const char *text;
    const char *group;
    bool mail;
};

struct model {
    struct key keys[KEYS_MAX];
    size_t count;
};

static bool same_path(const struct path *a, const struct path *b)
{
    for (unsigned i = 0; i < a->count && i < b->count; i++) {
        if (strcmp(a->labels[i], b->labels[i]) != 0) {
            return false;
        }
    }
    return a->count == b->count;
}

static int compare_paths(const struct path *a, const struct path *b)
{
    for (unsigned i = 0; i < a->count && i < b->count; i++) {
        int d = strcmp(a->labels[i], b->labels[i]);
        if (d) {
            return d;
        }
    }
    return (int)a->count - (int)b->count;
}

static int answer_model_compare_keys(const void *a, const void *b)
{
    const struct key *x = *(const struct key *const *)a, *y = *(const struct key *const *)b;
    return compare_paths(&x->path, &y->path);
}

static bool answer_model_is_wildcard(const char *label)
{
    return strcmp(label, "*") == 0 || strcmp(label, "any") == 0;
}

static char *answer_model_name_of(const struct path *path)
{
    char *name = xstrdup("test.");
    for (unsigned i = 0; i < path->count; i++) {
        char *longer = xasprintf("%s.%s", path->labels[i], name);
        free(name);
        name = longer;
    }
    return name;
}

/* How many labels are listed: those before the first wildcard. */
static unsigned answer_model_listed_of(const struct path *pattern)
{
    unsigned listed = 0;
    while (listed < pattern->count && !answer_model_is_wildcard(pattern->labels[listed])) {
        listed++;
    }
    return listed;
}

static bool starts_with(const struct path *path, const struct path *start, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (i >= path->count || strcmp(path->labels[i], start->labels[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool answer_model_is_shown(const struct path *path, unsigned listed)
{
    for (unsigned i = listed; i < path->count; i++) {
        if (path->labels[i][0] == '_') {
            return false;
        }
    }
    return true;
}

/* Below the listed labels, anything starting with `_` is hidden; the rest is matched label by
 * label. A listed key with nothing shown below it matches whatever the pattern. */
static bool answer_model_matches(const struct model *model, const struct key *key,
                                 const struct path *pattern)
{
    unsigned listed = answer_model_listed_of(pattern);
    if (!starts_with(&key->path, pattern, listed)) {
        return false;
    }
    if (key->path.count == listed && listed < pattern->count) {
        for (size_t i = 0; i < model->count; i++) {
            const struct path *other = &model->keys[i].path;
            if (other->count > listed && starts_with(other, pattern, listed) &&
                answer_model_is_shown(other, listed)) {
                return false;
            }
        }
        return true;
    }
    if (key->path.count < pattern->count) {
        return false;
    }
    for (unsigned i = listed; i < key->path.count; i++) {
        const char *label = key->path.labels[i];
        bool is_picked = i >= pattern->count || answer_model_is_wildcard(pattern->labels[i]) ||
                         strcmp(label, pattern->labels[i]) == 0;
        if (label[0] == '_' || !is_picked) {
            return false;
        }
    }
    return true;
}

static bool answer_model_exists(const struct model *model, const struct path *pattern)
{
    unsigned listed = answer_model_listed_of(pattern);
    for (size_t i = 0; i < model->count; i++) {
        if (starts_with(&model->keys[i].path, pattern, listed)) {
            return true;
        }
    }
    return false;
}

static bool same_data(const struct key *a, const struct key *b)
{
    bool same_host =
        a->host == b->host &&
        (a->host == HOST_NONE || (a->host == HOST_NAME ? same_path(&a->target, &b->target)
                                                       : strcmp(a->address, b->address) == 0));
    return same_host && a->port == b->port && a->priority == b->priority &&
           a->weight == b->weight && strcmp(a->text, b->text) == 0;
}

struct found {
    const struct key *keys[KEYS_MAX];
    size_t count;
};

static void keep_group(struct found *f)
{
    const char *group = f->count ? f->keys[0]->group : "";
    unsigned closest = f->count ? f->keys[0]->path.count : 0;
    size_t cached = 0;
    for (size_t i = 1; i < f->count; i++) {
        if (f->keys[i]->path.count < closest) {
            if (!*f->keys[i]->group) {
                break;
            }
            closest = f->keys[i]->path.count;
            group = f->keys[i]->group;
        }
    }
    for (size_t i = 0; i < f->count; i++) {
        if (*f->keys[i]->group && f->keys[i]->path.count == closest &&
            strcmp(f->keys[i]->group, group) != 0) {
            return;
        }
    }
    for (size_t i = 0; i < f->count && *group; i++) {
        if (!*f->keys[i]->group || strcmp(f->keys[i]->group, group) == 0) {
            f->keys[cached++] = f->keys[i];
        }
    }
    f->count = *group ? cached : f->count;
}

static void answer_model_find(const struct model *model, const struct path *pattern,
                              bool want_groups, struct found *f)
{
    const struct key *all[KEYS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < model->count; i++) {
        if (answer_model_matches(model, &model->keys[i], pattern)) {
            all[count++] = &model->keys[i];
        }
    }
    qsort(all, count, sizeof(all[0]), answer_model_compare_keys);
    f->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < f->count; k++) {
            is_new = is_new && !same_data(f->keys[k], all[i]);
        }
        if (is_new) {
            f->keys[f->count++] = all[i];
        }
    }
    if (want_groups) {
        keep_group(f);
    }
}

/* ---- Its answers, as lines "owner type data" ---- */

struct answer {
    char *lines[LINES_MAX];
    size_t count;
};

static void answer_model_add_line(struct answer *answer, char *line)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (strcmp(answer->lines[i], line) == 0) {
            free(line);
            return;
        }
    }
    assert_true(answer->count < LINES_MAX);
    answer->lines[answer->count++] = line;
}

static void answer_model_forget(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        free(answer->lines[i]);
    }
    answer->count = 0;
}

/* The names of a CNAME chain; the first is the question's. */
struct chain {
    struct path names[CHAIN_MAX + 1];
    unsigned count;
};

/* Only addresses, since any one of a name's CNAMEs may be shown. */
static void answer_model_add_addresses(const struct model *model, struct chain *chain,
                                       enum host family, struct answer *out)
{
    struct found f;
    struct path at = chain->names[chain->count - 1];
    answer_model_find(model, &at, true, &f);
    for (size_t i = 0; i < f.count; i++) {
        const struct key *key = f.keys[i];
        if (key->host == family) {
            CLEANUP_FREE char *owner = answer_model_name_of(&at);
            answer_model_add_line(
                out, xasprintf("%s %s %s", owner, family == HOST_A ? "A" : "AAAA", key->address));
        } else if (key->host == HOST_NAME && chain->count <= CHAIN_MAX) {
            bool is_loop = false;
            for (unsigned k = 0; k < chain->count; k++) {
                is_loop = is_loop || same_path(&chain->names[k], &key->target);
            }
            if (!is_loop) {
                chain->names[chain->count++] = key->target;
                answer_model_add_addresses(model, chain, family, out);
                chain->count--;
            }
        }
    }
}

static unsigned weight_of(const struct key *key)
{
    return key->weight ? key->weight : 100;
}

/* The share of 100, at least 1. */
static unsigned share_of(const struct key *key, unsigned sum)
{
    unsigned share = 100 * weight_of(key) / sum;
    return share ? share : 1;
}

static unsigned answer_model_priority_of(const struct key *key)
{
    return key->priority ? key->priority : 10;
}

static char *target_of(const struct key *key)
{
    return answer_model_name_of(key->host == HOST_NAME ? &key->target : &key->path);
}

static void answer_model_add_services(const struct found *f, const char *owner, struct answer *out)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct key *key = f->keys[i];
        unsigned sum = 0;
        for (size_t k = 0; k < f->count; k++) {
            bool counts = f->keys[k]->host != HOST_NONE &&
                          answer_model_priority_of(f->keys[k]) == answer_model_priority_of(key);
            sum += counts ? weight_of(f->keys[k]) : 0;
        }
        if (key->host != HOST_NONE) {
            CLEANUP_FREE char *target = target_of(key);
            answer_model_add_line(out, xasprintf("%s SRV %u %u %u %s", owner,
                                                 answer_model_priority_of(key), share_of(key, sum),
                                                 key->port, target));
        }
    }
}

static void add_mail(const struct found *f, const char *owner, struct answer *out)
{
    for (size_t i = 0; i < f->count; i++) {
        if (f->keys[i]->mail && f->keys[i]->host != HOST_NONE) {
            CLEANUP_FREE char *target = target_of(f->keys[i]);
            answer_model_add_line(
                out, xasprintf("%s MX %u %s", owner, answer_model_priority_of(f->keys[i]), target));
        }
    }
}

static void add_texts(const struct found *f, const char *owner, struct answer *out)
{
    for (size_t i = 0; i < f->count; i++) {
        if (*f->keys[i]->text) {
            answer_model_add_line(out, xasprintf("%s TXT \"%s\"", owner, f->keys[i]->text));
        }
    }
}

static void answer_naively(const struct model *model, const struct path *path, const char *type,
                           struct answer *out)
{
    struct found f;
    CLEANUP_FREE char *owner = answer_model_name_of(path);
    answer_model_find(model, path, strcmp(type, "MX") != 0, &f);
    if (strcmp(type, "A") == 0 || strcmp(type, "AAAA") == 0) {
        struct chain chain = {.names = {*path}, .count = 1};
        answer_model_add_addresses(model, &chain, strcmp(type, "A") == 0 ? HOST_A : HOST_AAAA, out);
    } else if (strcmp(type, "SRV") == 0) {
        answer_model_add_services(&f, owner, out);
    } else if (strcmp(type, "MX") == 0) {
        add_mail(&f, owner, out);
    } else {
        add_texts(&f, owner, out);
    }
}

/* ---- The answers under test, in the same format ---- */

/* "= owner TTL type data"; CNAMEs left out. Returns the rcode. */
static const char *answer_really(struct fixture *fixture, const struct path *path, const char *type,
                                 struct answer *out)
{
    static char rcode[16];
    char *name = answer_model_name_of(path), *question = xasprintf("%s %s tcp", name, type);
    char *text = xstrdup(fixture_ask(fixture, question)), *rest = NULL;
    assert_int_equal(sscanf(text, "%15s", rcode), 1);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char owner[256], rr_type[16];
        int at = 0;
        if (sscanf(line, "= %255s %*u %15s %n", owner, rr_type, &at) == 2 &&
            strcmp(rr_type, "CNAME") != 0) {
            answer_model_add_line(out, xasprintf("%s %s %s", owner, rr_type, line + at));
        }
    }
    free(text);
    free(question);
    free(name);
    return rcode;
}

/* ---- The trees ---- */

static struct path random_path(unsigned least)
{
    struct path path = {.count = least + random_below(DEPTH_MAX + 1 - least)};
    for (unsigned i = 0; i < path.count; i++) {
        path.labels[i] = labels[random_below(ARRAY_LEN(labels))];
    }
    return path;
}

/* No wildcard labels in keys: such a name would be asked for with the wildcard, which matches
 * itself. */
static struct path random_key_path(void)
{
    struct path path = random_path(1);
    for (unsigned i = 0; i < path.count; i++) {
        path.labels[i] = answer_model_is_wildcard(path.labels[i]) ? "a" : path.labels[i];
    }
    return path;
}

static struct key random_key(void)
{
    static const unsigned some[] = {0, 0, 0, 5}, weights[] = {0, 0, 5, 20000};
    struct key key = {
        .path = random_key_path(),
        .host = (enum host)random_below(4),
        .port = random_below(2),
        .priority = some[random_below(ARRAY_LEN(some))],
        .weight = weights[random_below(ARRAY_LEN(weights))],
        .text = random_below(4) ? "" : "text",
        .group = groups[random_below(ARRAY_LEN(groups))],
        .mail = random_below(3) == 0,
    };
    if (key.host == HOST_A || key.host == HOST_AAAA) {
        key.address = addresses[random_below(2) + (key.host == HOST_AAAA ? 2 : 0)];
    } else if (key.host == HOST_NAME) {
        key.target = random_key_path();
    }
    return key;
}

static void answer_model_put_key(struct fixture *fixture, const struct key *key)
{
    char path[128] = "test", value[256];
    size_t n = strlen(path);
    CLEANUP_FREE char *target = key->host == HOST_NAME ? answer_model_name_of(&key->target) : NULL;
    for (unsigned i = 0; i < key->path.count; i++) {
        n += (size_t)snprintf(path + n, sizeof(path) - n, "/%s", key->path.labels[i]);
    }
    (void)snprintf(value, sizeof(value),
                   "{'host':'%s','port':%u,'priority':%u,'weight':%u,'text':'%s','group':'%s',"
                   "'mail':%s}",
                   target                   ? target
                   : key->host == HOST_NONE ? ""
                                            : key->address,
                   key->port, key->priority, key->weight, key->text, key->group,
                   key->mail ? "true" : "false");
    fixture_put(fixture, &(struct fixture_key){path, value}, 1);
}

static void answer_model_make_tree(struct model *model, struct fixture *fixture)
{
    for (uint32_t n = random_below(KEYS_MAX); n > 0; n--) {
        struct key key = random_key();
        bool is_new = true;
        for (size_t i = 0; i < model->count; i++) {
            is_new = is_new && !same_path(&model->keys[i].path, &key.path);
        }
        if (is_new) {
            model->keys[model->count++] = key;
            answer_model_put_key(fixture, &key);
        }
    }
}

static int answer_model_compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void compare_answers(const struct path *path, const char *type, struct answer *got,
                            struct answer *want)
{
    bool same = got->count == want->count;
    qsort(got->lines, got->count, sizeof(got->lines[0]), answer_model_compare_lines);
    qsort(want->lines, want->count, sizeof(want->lines[0]), answer_model_compare_lines);
    for (size_t i = 0; same && i < got->count; i++) {
        same = strcmp(got->lines[i], want->lines[i]) == 0;
    }
    if (!same) {
        char *name = answer_model_name_of(path);
        for (size_t i = 0; i < want->count; i++) {
            print_message("want %s\n", want->lines[i]);
        }
        for (size_t i = 0; i < got->count; i++) {
            print_message("got  %s\n", got->lines[i]);
        }
        fail_msg("%s %s", name, type);
    }
}

static size_t answer_model_ask_both(struct model *model, struct fixture *fixture)
{
    static const char *const types[] = {"A", "AAAA", "SRV", "MX", "TXT"};
    struct answer got = {.count = 0}, want = {.count = 0};
    struct path path = random_path(0);
    const char *type = types[random_below(ARRAY_LEN(types))];
    const char *rcode = answer_really(fixture, &path, type, &got);
    answer_naively(model, &path, type, &want);
    compare_answers(&path, type, &got, &want);
    size_t count = got.count;
    assert_string_equal(rcode, answer_model_exists(model, &path) || path.count == 0 ? "NOERROR"
                                                                                    : "NXDOMAIN");
    answer_model_forget(&got);
    answer_model_forget(&want);
    return count;
}

UNIT_TEST(test_indexed_answers_equal_naive_ones)
{
    size_t records = 0;
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        struct model model = {.count = 0};
        struct fixture *fixture = fixture_new(NULL, 0);
        fixture_domain(fixture, "test.");
        fixture->config.settings.ttl_s = TTL_S;
        random_state = seed;
        print_message("seed %llu\n", (unsigned long long)seed);
        answer_model_make_tree(&model, fixture);
        for (int i = 0; i < QUESTIONS; i++) {
            records += answer_model_ask_both(&model, fixture);
        }
        fixture_free(fixture);
    }
    assert_true(records > (size_t)TREES * QUESTIONS / 2); /* most answers are not empty */
}
