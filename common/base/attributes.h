/* Compiler attributes under short names. */
#ifndef COMMON_BASE_ATTRIBUTES_H
#define COMMON_BASE_ATTRIBUTES_H

/* Makes the caller check the result; to ignore it on purpose, write `(void)call(); // why`. */
#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_arg) \
    __attribute__((format(printf, format_index, first_arg)))
#define NORETURN __attribute__((noreturn))
#define UNUSED   __attribute__((unused))
/* Keeps a rarely called function out of its callers, whose stack it would enlarge. */
#define NOINLINE __attribute__((noinline))

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
