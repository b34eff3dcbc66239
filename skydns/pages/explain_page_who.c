#include <inttypes.h>

#include "common/base/json_text.h"
#include "skydns/pages/explain_page_internal.h"

/* The word for programs and the text for people. */
static const struct {
    const char *word;
    const char *text;
} identities[] = {
    [EXPLAIN_ANYBODY] = {"", ""},
    [EXPLAIN_NOT_WANTED] = {"not-wanted",
                            "namespace not looked for: neither -autopath nor -visibility=own"},
    [EXPLAIN_BY_POD] = {"pod", ""},
    [EXPLAIN_OF_NODE] = {"node", "namespace not known: pods share this address with their node"},
    [EXPLAIN_SHARED] = {"shared", "namespace not known: pods of several have this address"},
    [EXPLAIN_NO_POD] = {"none", "namespace not known: no pod has this address"},
};

static const struct {
    const char *word;
    const char *text;
} outcomes[] = {
    [EXPLAIN_ANSWERS] = {"answers", "answers"},
    [EXPLAIN_NO_DATA] = {"no-data", "exists, but has no such record"},
    [EXPLAIN_NO_NAME] = {"no-name", "does not exist"},
    [EXPLAIN_FAILED] = {"failed", "could not be answered: passed over"},
    [EXPLAIN_ASKED] = {"asked", "a nameserver decides: if it does not exist, the search goes on"},
    [EXPLAIN_TOO_SHORT] = {"too-short", "fewer labels than -ndots: counts as not existing"},
    [EXPLAIN_TOO_LONG] = {"too-long", "too long for a name: passed over"},
};

static int label_len(const struct explain_who *who)
{
    return (int)client_space_label(who->view.space).len;
}

/* ---- Text ---- */

static void text_path(const struct explain_who *who, struct buf *out)
{
    for (size_t i = 0; i < who->tried; i++) {
        char name[DNAME_TEXT_MAX];
        bool has_name = who->path.names[i].len > 0;
        buf_printf(out, "%s%zu. %s%s%s\n", i == 0 ? "search     " : "           ", i + 1,
                   has_name ? dname_to_text(&who->path.names[i], name) : "", has_name ? " " : "",
                   outcomes[who->outcomes[i]].text);
    }
}

static void append_network(const struct network *network, struct buf *out)
{
    char address[INET6_ADDRSTRLEN];
    buf_printf(out, "%s/%u", ip_format(&network->ip, address), network->prefix_bits);
}

static void text_recursion(const struct explain_who *who, struct buf *out)
{
    switch (who->recursion) {
    case EXPLAIN_RECURSION_NOT_ASKED:
        break;
    case EXPLAIN_RECURSION_FOR_ALL:
        buf_append_str(out, "allowed    about other domains: -allow-recursion lets everybody\n");
        break;
    case EXPLAIN_RECURSION_ALLOWED_BY:
        buf_append_str(out, "allowed    about other domains: by the network ");
        append_network(&who->recursion_network, out);
        buf_append_str(out, " of -allow-recursion, or of its default\n");
        break;
    case EXPLAIN_RECURSION_REFUSED:
        buf_append_str(out, "limit      its address is in no network of -allow-recursion, or of "
                            "its default: REFUSED for names of other domains\n");
        break;
    }
}

static void text_limits(const struct explain_who *who, struct buf *out)
{
    if (who->is_refused) {
        buf_append_str(out, "limit      its address is in no network of -allow: REFUSED\n");
    } else if (who->has_network) {
        buf_append_str(out, "allowed    by the network ");
        append_network(&who->network, out);
        buf_append_str(out, " of -allow\n");
    } else {
        buf_append_str(out, "allowed    everybody: -allow is not set\n");
    }
    text_recursion(who, out);
    if (who->rate > 0) {
        buf_printf(out,
                   "limit      %" PRIu32 " UDP queries a second, %" PRIu32
                   " at once; none with a cookie of this server",
                   who->rate, who->burst);
        if (who->has_left) {
            buf_printf(out, "; %" PRIu32 " are left now", who->left);
        }
        buf_append_char(out, '\n');
    }
}

/* For a resolver, each name is a question of its own. */
static const char *outcome_text(enum explain_outcome outcome)
{
    switch (outcome) {
    case EXPLAIN_ASKED:
        return "a nameserver decides";
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

/* The first that exists ends the search; none: the last reply counts. */
void explain_text_search(const struct explanation *x, struct buf *out)
{
    const struct explain_search *search = &x->search;
    char name[DNAME_TEXT_MAX];
    if (search->count == 0) {
        return;
    }
    buf_printf(out, "search     %s of namespace %.*s asks for these, until one answers:\n",
               search->is_assumed ? "a pod" : "this pod", (int)search->space.len,
               search->space.ptr);
    for (size_t i = 0; i < search->count; i++) {
        buf_printf(out, "           %zu. %s %s\n", i + 1, dname_to_text(&search->names[i], name),
                   outcome_text(search->outcomes[i]));
    }
}

void explain_text_who(const struct explanation *x, struct buf *out)
{
    const struct explain_who *who = &x->who;
    char address[INET6_ADDRSTRLEN];
    if (who->identity == EXPLAIN_ANYBODY) {
        return;
    }
    buf_printf(out, "client     %s: ", ip_format(&who->ip, address));
    if (who->identity == EXPLAIN_BY_POD) {
        buf_printf(out, "namespace %.*s, as the pod with this address\n", label_len(who),
                   client_space_label(who->view.space).ptr);
    } else {
        buf_printf(out, "%s\n", identities[who->identity].text);
    }
    text_limits(who, out);
    text_path(who, out);
    if (who->hidden_len > 0) {
        buf_printf(
            out,
            "hidden     namespace %.*s: not the client's, not in -public-namespaces, and its "
            "annotation dns.kube2sky/visible-to, if any, does not name the client's\n",
            (int)who->hidden_len, who->hidden);
    }
}

/* ---- JSON ---- */

static void json_path(const struct explain_who *who, struct buf *out)
{
    buf_append_str(out, who->tried ? ",\"path\":[" : "");
    for (size_t i = 0; i < who->tried; i++) {
        char name[DNAME_TEXT_MAX];
        bool has_name = who->path.names[i].len > 0;
        buf_append_str(out, i ? ",{\"name\":" : "{\"name\":");
        json_text_string(out, slice_str(has_name ? dname_to_text(&who->path.names[i], name) : ""));
        buf_printf(out, ",\"outcome\":\"%s\"}", outcomes[who->outcomes[i]].word);
    }
    buf_append_str(out, who->tried ? "]" : "");
}

static void json_recursion(const struct explain_who *who, struct buf *out)
{
    if (who->recursion != EXPLAIN_RECURSION_NOT_ASKED) {
        buf_printf(out, ",\"recursion\":%s",
                   who->recursion == EXPLAIN_RECURSION_REFUSED ? "false" : "true");
    }
    if (who->recursion == EXPLAIN_RECURSION_ALLOWED_BY) {
        buf_append_str(out, ",\"recursion_by\":\"");
        append_network(&who->recursion_network, out);
        buf_append_char(out, '"');
    }
}

void explain_json_search(const struct explanation *x, struct buf *out)
{
    const struct explain_search *search = &x->search;
    char name[DNAME_TEXT_MAX];
    if (search->count == 0) {
        return;
    }
    buf_append_str(out, ",\n\"search\":{\"namespace\":");
    json_text_string(out, search->space);
    buf_printf(out, ",\"assumed\":%s,\"names\":[", search->is_assumed ? "true" : "false");
    for (size_t i = 0; i < search->count; i++) {
        buf_append_str(out, i ? ",{\"name\":" : "{\"name\":");
        json_text_string(out, slice_str(dname_to_text(&search->names[i], name)));
        buf_printf(out, ",\"outcome\":\"%s\"}", outcomes[search->outcomes[i]].word);
    }
    buf_append_str(out, "]}");
}

void explain_json_who(const struct explanation *x, struct buf *out)
{
    const struct explain_who *who = &x->who;
    char address[INET6_ADDRSTRLEN];
    if (who->identity == EXPLAIN_ANYBODY) {
        return;
    }
    buf_printf(out, ",\n\"client\":{\"address\":\"%s\",\"identity\":\"%s\",\"allowed\":%s",
               ip_format(&who->ip, address), identities[who->identity].word,
               who->is_refused ? "false" : "true");
    if (who->has_network) {
        buf_append_str(out, ",\"allowed_by\":\"");
        append_network(&who->network, out);
        buf_append_char(out, '"');
    }
    json_recursion(who, out);
    if (who->view.space) {
        buf_append_str(out, ",\"namespace\":");
        json_text_string(out, client_space_label(who->view.space));
    }
    if (who->rate > 0) {
        buf_printf(out, ",\"rate\":%" PRIu32 ",\"burst\":%" PRIu32, who->rate, who->burst);
    }
    if (who->has_left) {
        buf_printf(out, ",\"left\":%" PRIu32, who->left);
    }
    if (who->hidden_len > 0) {
        buf_append_str(out, ",\"hidden\":");
        json_text_string(out, slice_of(who->hidden, who->hidden_len));
    }
    json_path(who, out);
    buf_append_char(out, '}');
}
