/* Chooses who is next: deficit round robin among users of a shared resource. PURE; single-threaded.
 *
 * Each user has a credit of one quantum. It is served while that is positive, pays for what it got,
 * and is in debt if that was more. Each round adds another quantum. So a user that takes much waits
 * as many rounds as it took, and only while others wait. A user without work for a round is new
 * when it has work again, and comes before all that were served (as in fq_codel, RFC 8290).
 *
 * A user that is being served, that is, has work in flight, is out of the rounds until that ends.
 * It may get more only by turns_next_further. */
#ifndef KUBE2SKY_RECONCILE_TURNS_INTERNAL_H
#define KUBE2SKY_RECONCILE_TURNS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum turn_list {
    TURN_UNLISTED,
    TURN_NEW,     /* has not been served in this round */
    TURN_OLD,     /* has been served in this round */
    TURN_FURTHER, /* is being served, and has more work */
    TURN_LISTS,
};

/* The state of one user; zeroed at first. */
struct turn {
    void *who; /* the caller's */
    struct turn *prev;
    struct turn *next;
    int64_t debt; /* the quantum minus the credit */
    unsigned in_flight;
    enum turn_list list;
    bool has_work;
    bool is_cooling; /* was served in the current round, or is in debt for it */
};

struct turns {
    int64_t quantum;
    struct turn *first[TURN_LISTS];
    struct turn *last[TURN_LISTS];
    size_t ready_count; /* with work, and not being served */
};

/* Notes whether the user has work. */
void turns_set_work(struct turns *turns, struct turn *turn, bool has_work);

/* Note that it is being served, and no longer. Call them once for each thing in flight. */
void turns_begin(struct turns *turns, struct turn *turn);
void turns_end(struct turns *turns, struct turn *turn);

static inline void turns_charge(struct turn *turn, int64_t cost)
{
    turn->debt += cost;
    turn->is_cooling = true;
}

static inline bool turns_has_credit(const struct turns *turns, const struct turn *turn)
{
    return turn->debt < turns->quantum;
}

/* Returns the next user with work that is not being served; NULL: none. It stays next until it is
 * charged, begins, or has no more work. */
struct turn *turns_next(struct turns *turns);

/* Does the same among users being served; each call returns another one. */
struct turn *turns_next_further(struct turns *turns);

static inline bool turns_has_further(const struct turns *turns)
{
    return turns->first[TURN_FURTHER] != NULL;
}

/* Removes the user before it is freed. Requires that it has nothing in flight. */
void turns_remove(struct turns *turns, struct turn *turn);

#endif
