/* Sorts items that are nearly in order, stably: a merge sort of the runs in which they already are.
 * One run costs a comparison an item and no memory. Naming adds its records nearly in order of
 * their keys, so sorting 100,000 of them does not block the loop. PURE. */
#ifndef KUBE2SKY_NAMING_RUN_SORT_INTERNAL_H
#define KUBE2SKY_NAMING_RUN_SORT_INTERNAL_H

#include <stddef.h>

/* Sorts like qsort_r, but stably. */
void run_sort(void *items, size_t count, size_t size,
              int (*compare)(const void *a, const void *b, void *data), void *data);

#endif
