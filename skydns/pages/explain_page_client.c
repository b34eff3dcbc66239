/* Prints the client that asks, and the search list of a short name. */

#include "common/base/json_text.h"
#include "skydns/pages/explain_page.h"

static const struct explain_word identities[] = {
    [EXPLAIN_ANYBODY] = {"", ""},
    [EXPLAIN_NOT_WANTED] = {"not-wanted",
                            "namespace not looked for: none of -autopath, -visibility=own, "
                            "-topology, -rate-namespace, -query-log and -dnstap"},
    [EXPLAIN_BY_POD] = {"pod", ""},
    [EXPLAIN_OF_NODE] = {"node", "namespace not known: pods share this address with their node"},
    [EXPLAIN_SHARED] = {"shared", "namespace not known: pods of several have this address"},
    [EXPLAIN_NO_POD] = {"none", "namespace not known: no pod has this address"},
};

static const struct explain_word outcomes[] = {
    [EXPLAIN_ANSWERS] = {"answers", "answers"},
    [EXPLAIN_NO_DATA] = {"no-data", "exists, but has no such record"},
    [EXPLAIN_NO_NAME] = {"no-name", "does not exist"},
    [EXPLAIN_FAILED] = {"failed", "could not be answered: passed over"},
    [EXPLAIN_ASKED] = {"asked", "an upstream decides: if it does not exist, the search goes on"},
    [EXPLAIN_TOO_SHORT] = {"too-short", "fewer labels than -ndots: counts as not existing"},
    [EXPLAIN_TOO_LONG] = {"too-long", "too long for a name: passed over"},
};

/* Returns the text of an outcome. For a resolver, each candidate name is a question of its own. */
static const char *resolver_text(enum explain_outcome outcome)
{
    switch (outcome) {
    case EXPLAIN_ASKED:
        return "an upstream decides";
    case EXPLAIN_TOO_SHORT:
        return "not forwarded: fewer labels than -ndots";
    case EXPLAIN_FAILED:
        return "could not be answered";
    case EXPLAIN_ANSWERS:
    case EXPLAIN_NO_DATA:
    case EXPLAIN_NO_NAME:
    case EXPLAIN_TOO_LONG:
        break;
    }
    return outcomes[outcome].text;
}

static void who_put_outcome(const struct explain_page *p, enum explain_outcome outcome,
                            const char *text)
{
    json_text_string_field(p->out, "outcome", outcomes[outcome].word);
    if (p->is_for_text) {
        json_text_string_field(p->out, "text", text);
    }
    buf_append_char(p->out, '}');
}

static void who_put_path(const struct explain_page *p)
{
    const struct explain_asking_client *who = &p->x->who;
    for (size_t i = 0; i < who->tried; i++) {
        char name[DNAME_TEXT_MAX];
        bool has_name = who->path.names[i].len > 0;
        if (i == 0) {
            json_text_open(p->out, "path", '[');
        }
        json_text_open(p->out, NULL, '{');
        json_text_string_field(p->out, "name",
                               has_name ? dname_to_text(&who->path.names[i], name) : "");
        who_put_outcome(p, who->outcomes[i], outcomes[who->outcomes[i]].text);
    }
    buf_append_str(p->out, who->tried ? "]" : "");
}

static void who_put_network(const char *field, const struct network *network, struct buf *out)
{
    char address[INET6_ADDRSTRLEN];
    json_text_open(out, field, '"');
    buf_printf(out, "%s/%u\"", ip_format(&network->ip, address), network->prefix_bits);
}

/* Prints the search list. The first name that exists ends the search; if none does, the last
 * response counts. */
void explain_page_put_search(const struct explain_page *p)
{
    const struct explain_search *search = &p->x->search;
    if (search->count == 0) {
        return;
    }
    json_text_open_row(p->out, "search", '{');
    json_text_slice_field(p->out, "namespace", search->space);
    json_text_flag_field(p->out, "assumed", search->is_assumed);
    json_text_open(p->out, "names", '[');
    for (size_t i = 0; i < search->count; i++) {
        json_text_open(p->out, NULL, '{');
        dname_json_field(p->out, "name", &search->names[i]);
        who_put_outcome(p, search->outcomes[i], resolver_text(search->outcomes[i]));
    }
    buf_append_str(p->out, "]}");
}

/* Prints what is known of the client's pod. */
static void who_put_known(struct buf *out, const char *field, struct slice text)
{
    if (text.len > 0) {
        json_text_slice_field(out, field, text);
    }
}

void explain_page_put_client(const struct explain_page *p)
{
    const struct explain_asking_client *who = &p->x->who;
    struct buf *out = p->out;
    char address[INET6_ADDRSTRLEN];
    if (who->identity == EXPLAIN_ANYBODY) {
        return;
    }
    json_text_open_row(out, "client", '{');
    json_text_string_field(out, "address", ip_format(&who->ip, address));
    json_text_string_field(out, "identity", identities[who->identity].word);
    if (p->is_for_text) {
        json_text_string_field(out, "identity_text", identities[who->identity].text);
    }
    json_text_flag_field(out, "allowed", !who->is_refused);
    if (who->network) {
        who_put_network("allowed_by", who->network, out);
    }
    if (who->recursion != EXPLAIN_RECURSION_NOT_ASKED) {
        json_text_flag_field(out, "recursion", who->recursion != EXPLAIN_RECURSION_REFUSED);
    }
    if (who->recursion == EXPLAIN_RECURSION_ALLOWED_BY) {
        who_put_network("recursion_by", who->recursion_network, out);
    }
    if (who->view.space) {
        json_text_slice_field(out, "namespace", client_space_label(who->view.space));
        who_put_known(out, "pod", who->description.pod);
        who_put_known(out, "node", who->description.node);
        who_put_known(out, "zone", who->description.zone);
    }
    if (who->rate > 0) {
        json_text_number_field(out, "rate", who->rate);
        json_text_number_field(out, "burst", who->burst);
    }
    if (who->has_left) {
        json_text_number_field(out, "left", who->left);
    }
    if (who->namespace_rate.per_s > 0) {
        json_text_number_field(out, "namespace_rate", who->namespace_rate.per_s);
        json_text_number_field(out, "namespace_burst", who->namespace_rate.burst);
    }
    if (who->has_namespace_left) {
        json_text_number_field(out, "namespace_left", who->namespace_left);
    }
    if (who->has_near) {
        json_text_slice_field(out, "near", who->description.zone);
        json_text_number_field(out, "left_out", (int64_t)who->far_count);
    }
    if (who->hidden_len > 0) {
        json_text_slice_field(out, "hidden", slice_of(who->hidden, who->hidden_len));
    }
    who_put_path(p);
    buf_append_char(out, '}');
}
