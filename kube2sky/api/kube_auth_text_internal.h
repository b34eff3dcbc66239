/* A credential as a text: given in a kubeconfig, or in a file, which is read again when it changes.
 * The inside of kube_auth.c. Main thread. */
#ifndef KUBE2SKY_API_KUBE_AUTH_TEXT_INTERNAL_H
#define KUBE2SKY_API_KUBE_AUTH_TEXT_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* A bundle of all public authorities is 220 KB, a token 1 KB, a large kubeconfig some 10 KB. */
enum { KUBE_AUTH_FILE_BYTES_MAX = 1024 * 1024 };

/* What a text must be; it may shorten it in place. */
typedef int (*kube_auth_check)(char *text, struct err *err);

int kube_auth_check_token(char *text, struct err *err) MUST_CHECK;
int kube_auth_check_certificates(char *text, struct err *err) MUST_CHECK;
int kube_auth_check_key(char *text, struct err *err) MUST_CHECK;

/* All owned. All zero: there is none. */
struct kube_auth_text {
    kube_auth_check check;
    char *where; /* the file it came from, a kubeconfig or one of its own; NULL: there is none */
    bool is_own_file;
    char *text;
    struct stat stat; /* of the own file when it was read last */
};

/* *ret_text (owned) is the file's content, without a NUL in it. Messages do not name the file. */
int kube_auth_read_file(const char *path, char **ret_text, struct stat *ret_stat,
                        struct err *err) MUST_CHECK;

/* Text that was in a kubeconfig, or what is in the file (path is taken over). */
int kube_auth_text_given(struct kube_auth_text *text, kube_auth_check check, const char *where,
                         char *given, struct err *err) MUST_CHECK;
int kube_auth_text_load(struct kube_auth_text *text, kube_auth_check check, char *path,
                        struct err *err) MUST_CHECK;
void kube_auth_text_fini(struct kube_auth_text *text);

/* Reads its file again when that is another one than the last time, or is_forced. What cannot be
 * read or used is said in the log, and what was there before stays. */
void kube_auth_text_refresh(struct kube_auth_text *text, bool is_forced);

/* The same for a certificate and its key, which are taken over together or not at all: one of the
 * files may have been written before the other. */
void kube_auth_text_refresh_pair(struct kube_auth_text *cert, struct kube_auth_text *key,
                                 bool is_forced);

/* An empty slice: there is none. */
struct slice kube_auth_text_slice(const struct kube_auth_text *text);

#endif
