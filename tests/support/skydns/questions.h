/* Questions about the synthetic Services (services.h), and a check of the answers: no more DNS than
 * that takes. Any thread. */
#ifndef TESTS_SUPPORT_SKYDNS_QUESTIONS_H
#define TESTS_SUPPORT_SKYDNS_QUESTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest: a header, 51 bytes of name, type and class. */
enum { QUESTION_MAX = 80, ANSWER_MAX = 1232 };

enum question_kind {
    QUESTION_ADDRESS, /* A: one address */
    QUESTION_NO_DATA, /* AAAA: nothing */
    QUESTION_PORT,    /* SRV: the port, and the address as additional record */
    QUESTION_NO_NAME, /* A of a name that does not exist */
    QUESTION_KINDS,
};

struct asked_question {
    enum question_kind kind;
    unsigned service;
    uint8_t wire[QUESTION_MAX];
    size_t len;
};

void question_make(struct asked_question *question, enum question_kind kind, unsigned service,
                   uint16_t id);

uint16_t question_id(const uint8_t *wire);

/* Whether it is the right answer, with either of the Service's addresses. */
bool question_is_answered(const struct asked_question *question, const uint8_t *wire, size_t len);

/* The address at the end of a right answer. */
uint32_t question_address(const uint8_t *wire, size_t len);

#endif
