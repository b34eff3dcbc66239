/* A process without any descriptor left, for a while. */
#ifndef TESTS_SUPPORT_FEW_DESCRIPTORS_H
#define TESTS_SUPPORT_FEW_DESCRIPTORS_H

/* From now on, none can be opened. */
void few_descriptors_begin(void);

/* Allows as many as before. */
void few_descriptors_end(void);

#endif
