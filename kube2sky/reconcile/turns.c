#include "kube2sky/reconcile/turns_internal.h"

#include <assert.h>

static bool is_in_rounds(const struct turn *turn)
{
    return turn->list == TURN_NEW || turn->list == TURN_OLD;
}

static void turns_unlist(struct turns *turns, struct turn *turn)
{
    enum turn_list list = turn->list;
    if (list == TURN_UNLISTED) {
        return;
    }
    turns->ready_count -= is_in_rounds(turn) && turn->has_work;
    *(turn->prev ? &turn->prev->next : &turns->first[list]) = turn->next;
    *(turn->next ? &turn->next->prev : &turns->last[list]) = turn->prev;
    turn->prev = NULL;
    turn->next = NULL;
    turn->list = TURN_UNLISTED;
}

/* Moves the turn to the end of the list. */
static void turns_move(struct turns *turns, struct turn *turn, enum turn_list list)
{
    turns_unlist(turns, turn);
    if (list == TURN_UNLISTED) {
        return;
    }
    turn->list = list;
    turn->prev = turns->last[list];
    *(turn->prev ? &turn->prev->next : &turns->first[list]) = turn;
    turns->last[list] = turn;
    turns->ready_count += is_in_rounds(turn) && turn->has_work;
}

void turns_set_work(struct turns *turns, struct turn *turn, bool has_work)
{
    if (turn->has_work == has_work) {
        return;
    }
    if (is_in_rounds(turn)) {
        turns->ready_count = turns->ready_count + has_work - turn->has_work;
    }
    turn->has_work = has_work;
    if (turn->in_flight) {
        turns_move(turns, turn, has_work ? TURN_FURTHER : TURN_UNLISTED);
    } else if (turn->list == TURN_UNLISTED) {
        turns_move(turns, turn, turn->is_cooling ? TURN_OLD : TURN_NEW);
    }
}

void turns_begin(struct turns *turns, struct turn *turn)
{
    turn->in_flight++;
    turn->is_cooling = true;
    if (turn->list != TURN_FURTHER) {
        turns_move(turns, turn, turn->has_work ? TURN_FURTHER : TURN_UNLISTED);
    }
}

void turns_end(struct turns *turns, struct turn *turn)
{
    assert(turn->in_flight > 0);
    turn->in_flight--;
    if (turn->in_flight == 0) {
        turns_move(turns, turn, TURN_OLD);
    }
}

/* Ends the round of a turn that is first and cannot be served. */
static void turns_end_round(struct turns *turns, struct turn *turn)
{
    if (!turns_has_credit(turns, turn)) {
        turn->debt -= turns->quantum;
        turns_move(turns, turn, TURN_OLD);
    } else {
        turn->debt = 0;
        turn->is_cooling = false;
        turns_move(turns, turn, TURN_UNLISTED);
    }
}

struct turn *turns_next(struct turns *turns)
{
    struct turn *turn = NULL;
    while (turns->ready_count > 0 && !turn) {
        turn = turns->first[TURN_NEW] ? turns->first[TURN_NEW] : turns->first[TURN_OLD];
        if (!turn->has_work || !turns_has_credit(turns, turn)) {
            turns_end_round(turns, turn);
            turn = NULL;
        }
    }
    return turn;
}

struct turn *turns_next_further(struct turns *turns)
{
    struct turn *turn = turns->first[TURN_FURTHER];
    if (turn) {
        turns_move(turns, turn, TURN_FURTHER);
    }
    return turn;
}

void turns_remove(struct turns *turns, struct turn *turn)
{
    assert(turn->in_flight == 0);
    turns_unlist(turns, turn);
}
