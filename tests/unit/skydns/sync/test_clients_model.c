/* Clients beside a model: random pods, keys, reads and domains. */
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/sync/clients_bed.h"

enum { NAMES = 60, HOSTS = 12, MARKS = 8, STEPS = 20000 };

/* Pods that were put, and those committed; hosts from 1, 0: none. */
struct model {
    unsigned put[NAMES], shown[NAMES];
    unsigned marked[2][MARKS], barred[2][MARKS];
    bool is_known[2];
    bool is_on;
};

static const char *const spaces[] = {"x", "y", "z"};
static const char *const node_prefixes[] = {NODES, NODES_B};

/* Name n: of namespace n mod 3, domain n mod 2. */
static void clients_model_text_of(unsigned n, char out[64])
{
    (void)snprintf(out, 64, "h%u.p.%s.pod.%c.test.", n, spaces[n % 3],
                   n % 2 ? 'b' : 'a'); /* fits */
}

static void clients_model_host_of(unsigned host, char out[16])
{
    out[0] = '\0';
    if (host) {
        (void)snprintf(out, 16, "10.0.0.%u", host % 256); /* fits */
    }
}

static const char *clients_model_expected(const struct model *model, unsigned host)
{
    const char *found = "";
    bool is_nobody = !model->is_on;
    for (unsigned n = 0; n < NAMES; n++) {
        if (model->shown[n] == host) {
            is_nobody = is_nobody || !model->is_known[n % 2] || (*found && found != spaces[n % 3]);
            found = spaces[n % 3];
        }
    }
    for (unsigned d = 0; d < 2; d++) {
        for (unsigned m = 0; m < MARKS; m++) {
            is_nobody = is_nobody || (model->is_known[d] && model->barred[d][m] == host);
        }
    }
    return is_nobody ? "" : found;
}

static void clients_model_compare(const struct fixture *f, const struct model *model)
{
    for (unsigned host = 1; host <= HOSTS; host++) {
        char address[16];
        clients_model_host_of(host, address);
        assert_string_equal(who(f, address), clients_model_expected(model, host));
    }
}

static void clients_model_show(struct fixture *f, struct model *model)
{
    publish(f);
    memcpy(model->shown, model->put, sizeof(model->put));
}

static void mark_step(struct model *model, unsigned d)
{
    unsigned m = random_below(MARKS), host = random_below(HOSTS + 1);
    char label[8], address[16], value[40];
    (void)snprintf(label, sizeof(label), "m%u", m); /* fits */
    clients_model_host_of(host, address);
    (void)snprintf(value, sizeof(value), "{\"host\":\"%s\"}", address);
    if (random_below(2)) {
        mark(node_prefixes[d], label, value); /* also one without an address */
        model->marked[d][m] = host;
    } else {
        unmark(node_prefixes[d], label);
        model->marked[d][m] = 0;
    }
}

static void read_marks(struct model *model, unsigned d)
{
    begin(node_prefixes[d], false);
    memset(model->marked[d], 0, sizeof(model->marked[d]));
    for (unsigned n = random_below(MARKS); n > 0; n--) {
        mark_step(model, d);
    }
    end(node_prefixes[d], true);
    memcpy(model->barred[d], model->marked[d], sizeof(model->barred[d]));
    model->is_known[d] = true;
}

static void switch_over(struct fixture *f, struct model *model)
{
    model->is_on = !model->is_on;
    set(f, model->is_on, 2);
    memset(model->marked, 0, sizeof(model->marked));
    memset(model->barred, 0, sizeof(model->barred));
    model->is_known[0] = model->is_known[1] = false;
}

static void clients_model_read_records(struct fixture *f, struct model *model)
{
    clients_read_again(f->clients);
    store_writer_clear(f->writer);
    for (unsigned n = 0; n < NAMES; n++) {
        char name[64], host[16];
        clients_model_text_of(n, name);
        model->put[n] = random_below(3) ? model->put[n] : 0;
        clients_model_host_of(model->put[n], host);
        if (*host) {
            put(f, name, host);
        }
    }
    clients_model_show(f, model);
}

static void clients_model_step(struct fixture *f, struct model *model)
{
    unsigned what = random_below(200), d = random_below(2);
    unsigned n = random_below(NAMES);
    char name[64], host[16];
    if (what < 120) {
        clients_model_text_of(n, name);
        model->put[n] = random_below(2) ? 1 + random_below(HOSTS) : 0;
        clients_model_host_of(model->put[n], host);
        put(f, name, host);
    } else if (what < 160) {
        clients_model_show(f, model);
    } else if (model->is_on && what < 180) {
        mark_step(model, d);
    } else if (model->is_on && what < 194 && model->is_known[d]) {
        end(node_prefixes[d], false);
        memcpy(model->barred[d], model->marked[d], sizeof(model->barred[d]));
    } else if (model->is_on && what < 198) {
        read_marks(model, d);
    } else if (what == 198) {
        clients_model_read_records(f, model);
    } else if (what == 199 && random_below(20) == 0 && started < MIRRORS_MAX - 4) {
        switch_over(f, model);
    }
}

UNIT_TESTS_EACH(setup, teardown)

UNIT_TEST_ON(test_model, struct fixture *f)
{
    static struct model model;
    random_state = 1;
    unsigned identified = 0;
    memset(&model, 0, sizeof(model));
    for (unsigned n = 0; n < STEPS; n++) {
        clients_model_step(f, &model);
        clients_model_compare(f, &model);
        identified += *who(f, "10.0.0.1") != '\0';
    }
    assert_true(identified > STEPS / 50); /* it is about something */
    set(f, false, 2);
}
