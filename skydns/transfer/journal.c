#include "skydns/transfer/journal_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/transfer/serial.h"

static size_t size_of(const struct journal_step *step)
{
    return sizeof(*step) + step->removed.len + step->added.len;
}

/* Frees the step if nobody else holds it, and then the steps that only it held. */
void journal_release(struct journal_step *step)
{
    while (step && --step->references == 0) {
        struct journal_step *next = step->next;
        step->account->all -= size_of(step);
        free(step);
        step = next;
    }
}

struct journal_step *journal_next(struct journal_step *step)
{
    struct journal_step *next = step->next;
    if (next) {
        next->references++;
    }
    journal_release(step);
    return next;
}

/* ---- Dropping ---- */

static void drop_oldest(struct journal *journal)
{
    struct journal_step *step = journal->oldest;
    journal->oldest = step->next;
    journal->newest = step->next ? journal->newest : NULL;
    journal->count--;
    journal->account->kept -= size_of(step);
    if (step->next) {
        step->next->references++; /* now the journal's, too */
    }
    journal_release(step);
}

/* Returns the zone whose oldest step is the oldest of all. */
static struct journal *oldest_of(struct journal_bytes *account)
{
    struct journal *found = NULL;
    for (struct journal *j = account->journals; j; j = j->next_journal) {
        if (j->oldest && (!found || j->oldest->number < found->oldest->number)) {
            found = j;
        }
    }
    return found;
}

static void drop_all(struct journal *journal)
{
    while (journal->oldest) {
        drop_oldest(journal);
    }
}

/* ---- Life ---- */

void journal_init(struct journal *journal, struct journal_bytes *account, uint32_t serial)
{
    *journal =
        (struct journal){.account = account, .next_journal = account->journals, .serial = serial};
    account->journals = journal;
}

void journal_fini(struct journal *journal)
{
    struct journal **place = &journal->account->journals;
    drop_all(journal);
    while (*place != journal) {
        place = &(*place)->next_journal;
    }
    *place = journal->next_journal;
}

void journal_reset(struct journal *journal, uint32_t serial)
{
    drop_all(journal);
    journal->serial = serial;
}

/* ---- Steps ---- */

static struct journal_step *step_new(struct journal *journal, uint32_t serial, struct slice removed,
                                     struct slice added)
{
    struct journal_step *step = xmalloc(sizeof(*step) + removed.len + added.len);
    char *bytes = (char *)(step + 1);
    *step = (struct journal_step){
        .references = 1,
        .from = journal->serial,
        .to = serial,
        .account = journal->account,
        .number = ++journal->account->newest_number,
        .removed = slice_of(bytes, removed.len),
        .added = slice_of(bytes + removed.len, added.len),
    };
    if (removed.len > 0) {
        memcpy(bytes, removed.ptr, removed.len);
    }
    if (added.len > 0) {
        memcpy(bytes + removed.len, added.ptr, added.len);
    }
    return step;
}

void journal_append(struct journal *journal, uint32_t serial, struct slice removed,
                    struct slice added)
{
    struct journal_bytes *account = journal->account;
    struct journal_step *step = step_new(journal, serial, removed, added);
    if (journal->newest) {
        journal->newest->next = step;
    } else {
        journal->oldest = step;
    }
    journal->newest = step;
    journal->serial = serial;
    journal->count++;
    account->kept += size_of(step);
    account->all += size_of(step);
    if (journal->count > JOURNAL_STEPS_MAX) {
        drop_oldest(journal);
    }
    struct journal *oldest;
    while (account->kept > account->limit && (oldest = oldest_of(account))) {
        drop_oldest(oldest);
    }
}

enum journal_result journal_find(const struct journal *journal, uint32_t serial,
                                 struct journal_step **ret_step)
{
    if (!serial_is_after(journal->serial, serial)) {
        return JOURNAL_UP_TO_DATE;
    }
    for (struct journal_step *step = journal->oldest; step; step = step->next) {
        if (step->from == serial) {
            step->references++;
            *ret_step = step;
            return JOURNAL_FOUND;
        }
    }
    return JOURNAL_UNKNOWN;
}
