#include "common/base/outage.h"

#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/timer.h"

enum { LINES_A_MINUTE = 10, SILENCE_MS = 60000 };

/* ---- Reasons ---- */

enum outage_reason outage_reason_of(int code)
{
    switch (code) {
    case ERR_TIMEOUT:
        return OUTAGE_TIMEOUT;
    case ERR_REFUSED:
    case ERR_SHUT_OUT:
        return OUTAGE_REFUSED;
    case ERR_PROTOCOL:
    case ERR_SYNTAX:
    case ERR_TOO_LARGE:
        return OUTAGE_PROTOCOL;
    case ERR_UNAVAILABLE:
        return OUTAGE_UNAVAILABLE;
    default: /* an errno comes from a socket */
        return code < 0 && code > ERR_SYNTAX ? OUTAGE_UNAVAILABLE : OUTAGE_OTHER;
    }
}

const char *outage_reason_name(enum outage_reason reason)
{
    static const char *const names[OUTAGE_REASON_COUNT] = {
        [OUTAGE_UNAVAILABLE] = "unavailable",
        [OUTAGE_TIMEOUT] = "timeout",
        [OUTAGE_REFUSED] = "refused",
        [OUTAGE_PROTOCOL] = "protocol",
        [OUTAGE_OTHER] = "other",
    };
    return names[reason];
}

/* ---- Lines ---- */

/* Hashes with FNV-1a 64. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) {
        hash = (hash ^ (uint8_t)*text) * 1099511628211u;
    }
    return hash;
}

/* Records a line about to be logged. Returns false if it was logged in this outage or within the
 * last minute. */
static bool is_news(struct outage_source *source, const char *text, int64_t now_ms)
{
    uint64_t hash = hash_text(text);
    for (size_t i = 0; i < OUTAGE_TOLD_MAX; i++) {
        const struct outage_told *told = &source->told[i];
        if (told->hash == hash &&
            (now_ms - told->at_ms < SILENCE_MS || told->at_ms >= source->since_ms)) {
            return false;
        }
    }
    source->told[source->told_next] = (struct outage_told){.hash = hash, .at_ms = now_ms};
    source->told_next = (source->told_next + 1) % OUTAGE_TOLD_MAX;
    return true;
}

/* Has room for the fields of a line about a source. */
enum { SOURCE_FIELDS_MAX = 4 };

/* Sets the fields that name the source; returns their number. */
static size_t fields_of_source(const struct outage_source *source,
                               struct log_field fields[SOURCE_FIELDS_MAX])
{
    size_t count = 0;
    if (source->kind) {
        fields[count++] = LOG_STR("kind", source->kind);
    }
    if (source->ns) {
        fields[count++] = LOG_STR("namespace", source->ns);
    }
    return count;
}

static void outage_report_outage(const struct outage_source *source, int64_t now_ms)
{
    struct log_field fields[SOURCE_FIELDS_MAX];
    size_t count = fields_of_source(source, fields);
    fields[count++] = LOG_STR("reason", source->err.msg);
    if (source->is_told) { /* it has changed */
        fields[count++] = LOG_INT("after_ms", now_ms - source->since_ms);
    }
    if (log_is_on(LOG_LEVEL_WARN)) {
        log_write(LOG_LEVEL_WARN, source->away_line, count, fields);
    }
}

static void tell_back(const struct outage_source *source, int64_t after_ms)
{
    struct log_field fields[SOURCE_FIELDS_MAX];
    size_t count = fields_of_source(source, fields);
    fields[count++] = LOG_INT("after_ms", after_ms);
    if (source->endpoint) {
        fields[count++] = LOG_STR("endpoint", source->endpoint(source->data));
    }
    if (log_is_on(LOG_LEVEL_INFO)) {
        log_write(LOG_LEVEL_INFO, source->back_line, count, fields);
    }
}

/* ---- The outage ---- */

bool outage_is_away(const struct outage *outage)
{
    for (const struct outage_source *s = outage->sources; s; s = s->next) {
        if (s->is_away) {
            return true;
        }
    }
    return false;
}

/* Returns the source away that knows the current reason; NULL: none has reported. A source that
 * does not try, since another one fails, keeps an old reason. */
static const struct outage_source *last_reported(const struct outage *outage)
{
    const struct outage_source *last = NULL;
    for (const struct outage_source *s = outage->sources; s; s = s->next) {
        if (s->is_away && s->err.msg[0] && (!last || s->report > last->report)) {
            last = s;
        }
    }
    return last;
}

const char *outage_why(const struct outage *outage)
{
    const struct outage_source *source = last_reported(outage);
    return source ? source->err.msg : "";
}

/* Returns since when any source has been away. */
static int64_t away_since_ms(const struct outage *outage)
{
    int64_t since_ms = INT64_MAX;
    for (const struct outage_source *s = outage->sources; s; s = s->next) {
        since_ms = s->is_away && s->since_ms < since_ms ? s->since_ms : since_ms;
    }
    return since_ms;
}

int64_t outage_away_ms(const struct outage *outage)
{
    return outage_is_away(outage) ? clock_monotonic_ms() - away_since_ms(outage) : 0;
}

void outage_explain(const struct outage *outage, struct buf *out)
{
    const struct outage_source *source = last_reported(outage);
    if (!source) {
        return;
    }
    int64_t now_ms = clock_monotonic_ms();
    int64_t reason_s = (now_ms - source->reason_since_ms) / 1000;
    int64_t outage_s = (now_ms - away_since_ms(outage)) / 1000;
    buf_printf(out, ": %s (for %lld s", source->err.msg, (long long)reason_s);
    if (outage_s > reason_s) {
        buf_printf(out, ", %lld s in all", (long long)outage_s);
    }
    buf_append_char(out, ')');
}

bool outage_explain_overdue(const struct outage *outage, struct buf *out)
{
    if (outage->is_overdue) {
        buf_printf(out, "%s has been failing for more than %lld ms", outage->name,
                   (long long)outage->timeout_ms);
        outage_explain(outage, out);
    }
    return outage->is_overdue;
}

/* Logs that an outage is overdue, once, and only with a reason: without one it may just be slow, as
 * a long list is. */
static void tell_overdue(struct outage *outage)
{
    const char *why = outage_why(outage);
    if (!outage->is_overdue || outage->is_overdue_told || !*why) {
        return;
    }
    outage->is_overdue_told = true;
    log_error(outage->overdue_line, LOG_INT("timeout_ms", outage->timeout_ms),
              LOG_STR("reason", why));
    if (outage->overdue) {
        outage->overdue(outage->data);
    }
}

static void outage_on_report_due(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct outage *outage = timer->data;
    outage->is_overdue = true;
    tell_overdue(outage);
}

static void outage_update(struct outage *outage)
{
    if (!outage_is_away(outage)) {
        ev_timer_stop(outage->loop, &outage->timeout);
        outage->is_overdue = false;
        outage->is_overdue_told = false;
    } else if (!ev_is_active(&outage->timeout) && !outage->is_overdue) {
        ev_now_update(outage->loop);
        timer_arm_ms(outage->loop, &outage->timeout, outage->timeout_ms);
    }
    tell_overdue(outage);
}

void outage_init(struct outage *outage, struct ev_loop *loop, const char *name, int64_t timeout_ms,
                 const char *overdue_line)
{
    *outage = (struct outage){
        .loop = loop, .name = name, .timeout_ms = timeout_ms, .overdue_line = overdue_line};
    timer_init(&outage->timeout, outage_on_report_due, outage);
}

void outage_fini(struct outage *outage)
{
    ev_timer_stop(outage->loop, &outage->timeout);
}

void outage_when_overdue(struct outage *outage, void (*overdue)(void *data), void *data)
{
    outage->overdue = overdue;
    outage->data = data;
}

/* ---- Sources ---- */

void outage_join(struct outage *outage, struct outage_source *source, bool starts_away)
{
    *source = (struct outage_source){
        .away_line = source->away_line,
        .back_line = source->back_line,
        .kind = source->kind,
        .ns = source->ns,
        .endpoint = source->endpoint,
        .data = source->data,
        .outage = outage,
        .is_away = starts_away,
        .was_there = !starts_away,
        .since_ms = clock_monotonic_ms(),
        .limit = {.burst = LINES_A_MINUTE},
    };
    struct outage_source **end = &outage->sources;
    while (*end) {
        end = &(*end)->next;
    }
    *end = source;
    outage_update(outage);
}

void outage_leave(struct outage_source *source)
{
    struct outage *outage = source->outage;
    struct outage_source **at = &outage->sources;
    while (*at != source) {
        at = &(*at)->next;
    }
    *at = source->next;
    outage_update(outage);
}

void outage_away(struct outage_source *source, const struct err *err)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!source->is_away) {
        source->is_away = true;
        source->is_told = false;
        source->since_ms = now_ms;
        source->began_with = outage_reason_of(err->code);
    }
    bool may_repeat = !source->is_told; /* the first line of an outage is always logged */
    bool is_new = is_news(source, err->msg, now_ms);
    if (strcmp(source->err.msg, err->msg) != 0) {
        source->reason_since_ms = now_ms;
    }
    source->err = *err;
    source->report = ++source->outage->reports;
    if ((is_new || may_repeat) && log_limit_pass(&source->limit)) {
        outage_report_outage(source, now_ms);
        source->is_told = true;
    }
    outage_update(source->outage);
}

void outage_back(struct outage_source *source)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!source->is_away) {
        return;
    }
    source->is_away = false;
    source->err.msg[0] = '\0';
    if (source->was_there) {
        source->returns[source->began_with]++;
    }
    if (source->is_told || !source->was_there) {
        tell_back(source, now_ms - source->since_ms);
    }
    source->was_there = true;
    source->since_ms = now_ms;
    outage_update(source->outage);
}
