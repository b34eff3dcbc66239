/* Tests whose client an address is (one pod's, several pods', a node's), beside a model; what
 * readers find while everything changes (most useful under the thread sanitizer); and memory. */
#include <pthread.h>
#include <stdatomic.h>

#include "skydns/clients/client_index.h"
#include "skydns/publish/publisher.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

/* Without readers, so that what is handed over can go at once: a stale use shows under ASan. */
struct fixture {
    struct client_index *index;
    unsigned handed_over;
};

static void retire_at_once(void *data, void *block, void (*fn)(void *block))
{
    struct fixture *f = data;
    f->handed_over++;
    fn(block);
}

static int client_index_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->index = client_index_new(&(struct client_index_config){.retire = retire_at_once, .data = f});
    *state = f;
    return 0;
}

static int client_index_teardown(void **state)
{
    CLEANUP_FREE struct fixture *f = *state;
    client_index_free(f->index);
    return 0;
}

/* "": nobody's. In static storage. */
static const char *clients_client_index_find(const struct fixture *f, const char *address)
{
    static char text[64];
    struct ip ip = ip_from(address);
    struct slice label = client_space_label(client_index_find(f->index, &ip));
    (void)snprintf(text, sizeof(text), "%.*s", (int)label.len, label.ptr); /* fits */
    return text;
}

static void clients_client_index_add(struct fixture *f, const char *address, const char *ns)
{
    struct ip ip = ip_from(address);
    client_index_add(f->index, &ip, slice_str(ns));
}

static void client_index_take(struct fixture *f, const char *address, const char *ns)
{
    struct ip ip = ip_from(address);
    client_index_remove(f->index, &ip, slice_str(ns));
}

static void clients_client_index_bar(struct fixture *f, const char *address)
{
    struct ip ip = ip_from(address);
    client_index_bar(f->index, &ip);
}

static void clients_client_index_unbar(struct fixture *f, const char *address)
{
    struct ip ip = ip_from(address);
    client_index_unbar(f->index, &ip);
}

UNIT_TEST_IN(test_one_pod, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    struct ip none = {0};
    clients_client_index_add(f, "10.0.0.1", "a");
    clients_client_index_add(f, "fd00::1", "b");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "a");
    assert_string_equal(clients_client_index_find(f, "::ffff:10.0.0.1"), "a");
    assert_string_equal(clients_client_index_find(f, "fd00::1"), "b");
    assert_string_equal(clients_client_index_find(f, "10.0.0.2"), "");
    assert_null(client_index_find(f->index, &none));
    client_index_take(f, "10.0.0.1", "a");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "");
    clients_client_index_add(f, "10.0.0.1", "b");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "b");
}

UNIT_TEST_IN(test_equal_namespaces_are_one_block, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    struct ip one = ip_from("10.0.0.1"), two = ip_from("10.0.0.2");
    clients_client_index_add(f, "10.0.0.1", "a");
    clients_client_index_add(f, "10.0.0.2", "a");
    const struct client_space *space = client_index_find(f->index, &one);
    assert_ptr_equal(client_index_find(f->index, &two), space);
    client_index_clear(f->index);
    clients_client_index_add(f, "10.0.0.2", "a");
    client_index_commit(f->index);
    assert_ptr_equal(client_index_find(f->index, &two), space);
    assert_null(client_index_find(f->index, &one));
}

/* Its address identifies it again as soon as one namespace is left. */
UNIT_TEST_IN(test_shared_by_namespaces, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    clients_client_index_add(f, "10.0.0.1", "a");
    clients_client_index_add(f, "10.0.0.1", "b");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "");
    clients_client_index_add(f, "10.0.0.1", "c");
    client_index_take(f, "10.0.0.1", "a");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "");
    client_index_take(f, "10.0.0.1", "c");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "b");
    assert_int_equal(client_index_counts(f->index).shared, 0);
    clients_client_index_add(f, "10.0.0.1", "b"); /* of another domain */
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "b");
    client_index_take(f, "10.0.0.1", "b");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "b");
    client_index_take(f, "10.0.0.1", "b");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "");
    client_index_commit(f->index);
    assert_int_equal(client_index_counts(f->index).spaces, 0);
    assert_int_equal(client_index_counts(f->index).addresses, 0);
}

UNIT_TEST_IN(test_shared_with_a_node, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    clients_client_index_bar(f, "10.0.0.1");
    clients_client_index_add(f, "10.0.0.1", "a");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "");
    clients_client_index_bar(f, "10.0.0.1");
    clients_client_index_unbar(f, "10.0.0.1");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "");
    clients_client_index_unbar(f, "10.0.0.1");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "a");
    clients_client_index_bar(f, "10.0.0.1");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "");
    client_index_take(f, "10.0.0.1", "a");
    clients_client_index_unbar(f, "10.0.0.1");
    assert_int_equal(client_index_counts(f->index).addresses, 0);
}

UNIT_TEST_IN(test_clear_shows_with_commit, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    clients_client_index_add(f, "10.0.0.1", "a");
    clients_client_index_add(f, "10.0.0.2", "a");
    client_index_clear(f->index);
    clients_client_index_add(f, "10.0.0.3", "x");
    client_index_clear(f->index);
    clients_client_index_add(f, "10.0.0.2", "b");
    clients_client_index_bar(f, "10.0.0.4");
    clients_client_index_add(f, "10.0.0.4", "b");
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "a");
    assert_string_equal(clients_client_index_find(f, "10.0.0.2"), "a");
    client_index_commit(f->index);
    assert_string_equal(clients_client_index_find(f, "10.0.0.1"), "");
    assert_string_equal(clients_client_index_find(f, "10.0.0.2"), "b");
    assert_string_equal(clients_client_index_find(f, "10.0.0.3"), "");
    assert_string_equal(clients_client_index_find(f, "10.0.0.4"), "");
    assert_int_equal(client_index_counts(f->index).spaces, 1);
    client_index_take(f, "10.0.0.2", "b");
    client_index_take(f, "10.0.0.4", "b");
    clients_client_index_unbar(f, "10.0.0.4");
    client_index_commit(f->index);
    assert_int_equal(client_index_counts(f->index).spaces, 0);
}

/* ---- Records ---- */

static struct client_record *new_record(struct fixture *f, const char *address, const char *ns,
                                        const char *pod, const char *node)
{
    struct ip ip = ip_from(address);
    const struct client_description description = {
        .ns = slice_str(ns), .pod = slice_str(pod), .node = slice_str(node), .zone = slice_str("")};
    return client_index_new_record(f->index, &ip, &description);
}

/* "namespace/pod/node"; "" of nobody. In static storage. */
static const char *client_index_described(const struct fixture *f, const char *address)
{
    static char text[256];
    struct ip ip = ip_from(address);
    struct client_description d;
    text[0] = '\0';
    if (client_index_describe(f->index, &ip, &d)) {
        (void)snprintf(text, sizeof(text), "%.*s/%.*s/%.*s", (int)d.ns.len, d.ns.ptr,
                       (int)d.pod.len, d.pod.ptr, (int)d.node.len,
                       d.node.len ? d.node.ptr : ""); /* fits */
    }
    return text;
}

/* A record and pods of its namespace take no more room than the record. */
UNIT_TEST_IN(test_a_record_among_pods, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    struct client_record *a = new_record(f, "10.0.0.1", "a", "p", "n");
    clients_client_index_add(f, "10.0.0.1", "a");
    client_index_set_record(f->index, a);
    assert_string_equal(client_index_described(f, "10.0.0.1"), "a/p/n");
    clients_client_index_add(f, "10.0.0.1", "a");
    assert_int_equal(client_index_counts(f->index).shared, 0);
    clients_client_index_add(f, "10.0.0.1", "b");
    assert_string_equal(client_index_described(f, "10.0.0.1"), "");
    assert_int_equal(client_index_counts(f->index).shared, 1);
    client_index_take(f, "10.0.0.1", "b");
    assert_string_equal(client_index_described(f, "10.0.0.1"), "a/p/n");
    assert_int_equal(client_index_counts(f->index).shared, 0);
    clients_client_index_bar(f, "10.0.0.1");
    assert_string_equal(client_index_described(f, "10.0.0.1"), "");
    clients_client_index_unbar(f, "10.0.0.1");
    client_index_take(f, "10.0.0.1", "a");
    client_index_unset_record(f->index, a);
    assert_string_equal(client_index_described(f, "10.0.0.1"), "a//");
    client_index_set_record(f->index, a);
    client_index_take(f, "10.0.0.1", "a");
    assert_string_equal(client_index_described(f, "10.0.0.1"), "a/p/n"); /* by itself */
    client_index_unset_record(f->index, a);
    client_index_drop_record(f->index, a);
    client_index_commit(f->index);
    assert_int_equal(client_index_counts(f->index).addresses, 0);
    assert_int_equal(client_index_counts(f->index).spaces, 0);
    assert_int_equal(client_index_counts(f->index).records, 0);
}

UNIT_TEST_IN(test_a_record_in_place_of_another, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    struct client_record *a = new_record(f, "10.0.0.1", "a", "p", "n");
    struct client_record *moved = new_record(f, "10.0.0.1", "a", "p", "m");
    struct client_record *b = new_record(f, "10.0.0.1", "b", "q", "m");
    clients_client_index_add(f, "10.0.0.1", "a");
    client_index_set_record(f->index, a);
    client_index_replace_record(f->index, a, moved);
    client_index_drop_record(f->index, a);
    assert_string_equal(client_index_described(f, "10.0.0.1"), "a/p/m");
    clients_client_index_bar(f, "10.0.0.1"); /* also while it is shared */
    client_index_replace_record(f->index, moved, b);
    client_index_drop_record(f->index, moved);
    clients_client_index_unbar(f, "10.0.0.1");
    assert_string_equal(client_index_described(f, "10.0.0.1"), ""); /* the pod's key says a */
    client_index_take(f, "10.0.0.1", "a");
    client_index_commit(f->index);
    assert_string_equal(client_index_described(f, "10.0.0.1"), "b/q/m");
    client_index_unset_record(f->index, b);
    client_index_drop_record(f->index, b);
}

/* The first one describes the client, both count: two domains may have one. */
UNIT_TEST_IN(test_two_records_of_an_address, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    struct client_record *one = new_record(f, "10.0.0.1", "a", "p", "n");
    struct client_record *two = new_record(f, "10.0.0.1", "b", "q", "m");
    client_index_set_record(f->index, one);
    client_index_set_record(f->index, two);
    assert_string_equal(client_index_described(f, "10.0.0.1"), "");
    client_index_unset_record(f->index, one);
    assert_string_equal(client_index_described(f, "10.0.0.1"), "b//");
    client_index_unset_record(f->index, two);
    assert_int_equal(client_index_counts(f->index).addresses, 0);
    client_index_drop_record(f->index, one);
    client_index_drop_record(f->index, two);
}

/* However many namespaces came and went: each handover begins an epoch (publisher.h). */
UNIT_TEST_IN(test_a_batch_is_handed_over_at_once, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 20; i++) {
        char ns[16];
        (void)snprintf(ns, sizeof(ns), "ns-%u", i); /* fits */
        clients_client_index_add(f, "10.0.0.1", ns);
        client_index_take(f, "10.0.0.1", ns);
    }
    assert_int_equal(f->handed_over, 0);
    client_index_commit(f->index);
    assert_int_equal(f->handed_over, 1);
    client_index_commit(f->index);
    assert_int_equal(f->handed_over, 1);
}

/* ---- Beside a model ---- */

enum { ADDRESSES = 200, SPACES = 5, STEPS = 60000 };

struct model {
    unsigned pods[ADDRESSES][SPACES], bars[ADDRESSES];
    struct client_record *records[ADDRESSES];
    unsigned record_spaces[ADDRESSES];
};

static const char *const labels[SPACES] = {"a", "b", "default", "kube-system", "x1"};

static struct ip client_index_address_of(unsigned i)
{
    return (struct ip){.family_bytes = i % 3 ? 4 : 16, .bytes = {10, 1, 0, (uint8_t)i}};
}

static const char *client_index_expected(const struct model *model, unsigned i)
{
    const char *found = "";
    unsigned spaces = 0;
    for (unsigned s = 0; s < SPACES; s++) {
        if (model->pods[i][s] > 0 || (model->records[i] && model->record_spaces[i] == s)) {
            spaces++;
            found = labels[s];
        }
    }
    return spaces == 1 && model->bars[i] == 0 ? found : "";
}

static uint32_t client_index_next_random(uint32_t *random)
{
    *random = *random * 1664525 + 1013904223;
    return *random >> 8;
}

/* Sets, replaces or unsets the address's record. */
static void client_index_change_record(struct fixture *f, struct model *model, unsigned i,
                                       unsigned s)
{
    struct ip ip = client_index_address_of(i);
    struct client_record *old = model->records[i];
    const struct client_description description = {.ns = slice_str(labels[s]),
                                                   .pod = slice_str("p"),
                                                   .node = slice_str(i % 2 ? "n" : "m"),
                                                   .zone = slice_str("")};
    model->records[i] =
        old && i % 3 == 0 ? NULL : client_index_new_record(f->index, &ip, &description);
    model->record_spaces[i] = s;
    if (old && model->records[i]) {
        client_index_replace_record(f->index, old, model->records[i]);
    } else if (old) {
        client_index_unset_record(f->index, old);
    } else {
        client_index_set_record(f->index, model->records[i]);
    }
    if (old) {
        client_index_drop_record(f->index, old);
    }
}

static void client_index_step(struct fixture *f, struct model *model, uint32_t *random)
{
    unsigned i = client_index_next_random(random) % ADDRESSES,
             s = client_index_next_random(random) % SPACES;
    struct ip ip = client_index_address_of(i);
    switch (client_index_next_random(random) % 6) {
    case 5:
        client_index_change_record(f, model, i, s);
        break;
    case 0:
        model->bars[i] += model->bars[i] < 2;
        client_index_bar(f->index, &ip);
        if (model->bars[i] == 2) { /* no more than one for long: most would have one */
            client_index_unbar(f->index, &ip);
            model->bars[i] = 1;
        }
        break;
    case 1:
        for (; model->bars[i] > 0; model->bars[i]--) {
            client_index_unbar(f->index, &ip);
        }
        break;
    case 2:
        model->pods[i][s]++;
        client_index_add(f->index, &ip, slice_str(labels[s]));
        break;
    default:
        if (model->pods[i][s] > 0) {
            model->pods[i][s]--;
            client_index_remove(f->index, &ip, slice_str(labels[s]));
        }
        break;
    }
}

static void client_index_rebuild(struct fixture *f, const struct model *model)
{
    client_index_clear(f->index);
    for (unsigned i = 0; i < ADDRESSES; i++) {
        struct ip ip = client_index_address_of(i);
        for (unsigned n = 0; n < model->bars[i]; n++) {
            client_index_bar(f->index, &ip);
        }
        if (model->records[i]) {
            client_index_set_record(f->index, model->records[i]);
        }
        for (unsigned s = 0; s < SPACES; s++) {
            for (unsigned n = 0; n < model->pods[i][s]; n++) {
                client_index_add(f->index, &ip, slice_str(labels[s]));
            }
        }
    }
}

static void client_index_compare(const struct fixture *f, const struct model *model)
{
    for (unsigned i = 0; i < ADDRESSES; i++) {
        struct ip ip = client_index_address_of(i);
        struct slice label = client_space_label(client_index_find(f->index, &ip));
        const char *expected = client_index_expected(model, i);
        struct client_description d;
        assert_true(slice_equal(label, slice_str(expected)));
        assert_int_equal(client_index_describe(f->index, &ip, &d), *expected != '\0');
        assert_int_equal(d.pod.len > 0, *expected && model->records[i]);
    }
}

UNIT_TEST_IN(test_model, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    static struct model model;
    uint32_t random = 1;
    for (unsigned n = 0; n < STEPS; n++) {
        client_index_step(f, &model, &random);
        if (n % 100 == 0) {
            client_index_compare(f, &model);
        }
        if (n % 1000 == 0) {
            client_index_rebuild(f, &model);
        }
        if (n % 7 == 0) {
            client_index_commit(f->index);
        }
    }
    client_index_commit(f->index);
    client_index_compare(f, &model);
    assert_int_equal(client_index_counts(f->index).spaces, SPACES);
    for (unsigned i = 0; i < ADDRESSES; i++) {
        if (model.records[i]) {
            client_index_drop_record(f->index, model.records[i]);
        }
    }
}

/* ---- Threads ---- */

enum { READERS = 3, CHANGES = 30000, SETTLED = 64 };

struct threads {
    struct publisher *publisher;
    struct client_index *index;
    struct publisher_reader *readers[READERS];
    atomic_bool is_over;
    atomic_uint looks, wrong;
};

static void retire_by_publisher(void *data, void *block, void (*fn)(void *block))
{
    struct threads *t = data;
    publisher_retire(t->publisher, block, fn);
}

struct reading {
    struct threads *threads;
    unsigned which;
};

/* Address i has a namespace "n<i mod 8>", or nobody. */
static bool client_index_is_possible(const struct client_space *space, unsigned i)
{
    return !space || (space->label_len == 2 && space->label[0] == 'n' &&
                      space->label[1] == (char)('0' + i % 8));
}

static void *client_index_check(void *data)
{
    const struct reading *reading = data;
    struct threads *t = reading->threads;
    struct publisher_reader *reader = t->readers[reading->which];
    uint32_t random = reading->which;
    while (!atomic_load(&t->is_over)) {
        (void)publisher_enter(reader);
        for (unsigned n = 0; n < 16; n++) {
            unsigned i = client_index_next_random(&random) % ADDRESSES;
            struct ip ip = client_index_address_of(i);
            const struct client_space *space = client_index_find(t->index, &ip);
            bool is_wrong = !client_index_is_possible(space, i) || (i < SETTLED && !space);
            atomic_fetch_add(&t->wrong, is_wrong);
            atomic_fetch_add(&t->looks, 1);
        }
        publisher_leave(reader);
    }
    return NULL;
}

static void client_index_label_of(unsigned i, char out[3])
{
    (void)snprintf(out, 3, "n%u", i % 8); /* fits */
}

static void client_index_change(struct threads *t, bool is_there[ADDRESSES], uint32_t *random)
{
    unsigned i = SETTLED + client_index_next_random(random) % (ADDRESSES - SETTLED);
    struct ip ip = client_index_address_of(i);
    char label[3];
    client_index_label_of(i, label);
    (is_there[i] ? client_index_remove : client_index_add)(t->index, &ip, slice_str(label));
    is_there[i] = !is_there[i];
}

static void client_index_fill(struct threads *t, const bool is_there[ADDRESSES])
{
    for (unsigned i = 0; i < ADDRESSES; i++) {
        struct ip ip = client_index_address_of(i);
        char label[3];
        client_index_label_of(i, label);
        if (is_there[i]) {
            client_index_add(t->index, &ip, slice_str(label));
        }
    }
}

static void client_index_churn(struct threads *t, bool is_there[ADDRESSES])
{
    uint32_t random = 1;
    for (unsigned n = 0; n < CHANGES; n++) {
        client_index_change(t, is_there, &random);
        if (n % 500 == 0) {
            client_index_clear(t->index);
            client_index_fill(t, is_there);
        }
        if (n % 3 == 0) {
            client_index_commit(t->index);
        }
    }
}

/* The settled ones are found all the time, also while the table grows and while it is rebuilt; of
 * the others, nothing else than what they had. */
UNIT_TEST(test_readers)
{
    struct threads t = {.publisher = publisher_new()};
    pthread_t threads[READERS];
    struct reading readings[READERS];
    bool is_there[ADDRESSES] = {false};
    t.index =
        client_index_new(&(struct client_index_config){.retire = retire_by_publisher, .data = &t});
    memset(is_there, true, SETTLED);
    client_index_fill(&t, is_there);
    for (unsigned i = 0; i < READERS; i++) {
        t.readers[i] = publisher_reader_new(t.publisher);
        readings[i] = (struct reading){.threads = &t, .which = i};
    }
    for (unsigned i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, client_index_check, &readings[i]), 0);
    }
    do {
        client_index_churn(&t, is_there);
    } while (atomic_load(&t.looks) < CHANGES);
    atomic_store(&t.is_over, true);
    for (unsigned i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&t.wrong), 0);
    client_index_free(t.index);
    publisher_free(t.publisher);
}

/* ---- Memory ---- */

static struct ip pod_address(unsigned i)
{
    return (struct ip){.family_bytes = 4,
                       .bytes = {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i}};
}

/* Also when each address is another one than before. */
UNIT_TEST_IN(test_memory, client_index_setup, client_index_teardown)
{
    enum { PODS = 100000, BYTES_EACH = 50 };
    struct fixture *f = *state;
    for (unsigned i = 0; i < 3 * PODS; i++) {
        struct ip ip = pod_address(i);
        client_index_add(f->index, &ip, slice_str(i % 2 ? "a" : "b"));
        if (i >= PODS) {
            ip = pod_address(i - PODS);
            client_index_remove(f->index, &ip, slice_str((i - PODS) % 2 ? "a" : "b"));
        }
    }
    struct client_index_counts counts = client_index_counts(f->index);
    assert_int_equal(counts.addresses, PODS);
    assert_true(counts.bytes < (size_t)PODS * BYTES_EACH);
}

/* "pods spaces bars" */
static const char *clients_client_index_entry(const struct fixture *f, const char *address)
{
    static char text[64];
    struct ip ip = ip_from(address);
    struct client_index_entry entry = client_index_entry(f->index, &ip);
    (void)snprintf(text, sizeof(text), "%zu %zu %zu", entry.pods, entry.spaces,
                   entry.bars); /* fits */
    return text;
}

/* Why an address identifies nobody. */
UNIT_TEST_IN(test_entries, client_index_setup, client_index_teardown)
{
    struct fixture *f = *state;
    const struct ip none = {.family_bytes = 0};
    assert_string_equal(clients_client_index_entry(f, "10.0.0.1"), "0 0 0");
    clients_client_index_add(f, "10.0.0.1", "a");
    assert_string_equal(clients_client_index_entry(f, "10.0.0.1"), "1 1 0");
    clients_client_index_add(f, "10.0.0.1", "a");
    assert_string_equal(clients_client_index_entry(f, "10.0.0.1"), "2 1 0");
    clients_client_index_add(f, "10.0.0.1", "b");
    assert_string_equal(clients_client_index_entry(f, "::ffff:10.0.0.1"), "3 2 0");
    clients_client_index_bar(f, "10.0.0.2");
    assert_string_equal(clients_client_index_entry(f, "10.0.0.2"), "0 0 1");
    clients_client_index_add(f, "10.0.0.2", "a");
    assert_string_equal(clients_client_index_entry(f, "10.0.0.2"), "1 1 1");
    client_index_take(f, "10.0.0.1", "b");
    client_index_take(f, "10.0.0.1", "a");
    client_index_take(f, "10.0.0.1", "a");
    assert_string_equal(clients_client_index_entry(f, "10.0.0.1"), "0 0 0");
    assert_int_equal(client_index_entry(f->index, &none).pods, 0);
}
