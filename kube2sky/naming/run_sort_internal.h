/* A stable merge sort that begins with the runs in which the items already are: one run costs a
 * comparison an item and no memory. Naming adds its records nearly in order of their keys, so
 * sorting 100,000 of them does not hold up the loop. PURE. */
#ifndef KUBE2SKY_NAMING_RUN_SORT_INTERNAL_H
#define KUBE2SKY_NAMING_RUN_SORT_INTERNAL_H

#include <stddef.h>

/* As qsort_r. */
void run_sort(void *items, size_t count, size_t size,
              int (*compare)(const void *a, const void *b, void *data), void *data);

#endif
