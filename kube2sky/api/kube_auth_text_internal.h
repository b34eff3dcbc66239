/* Holds a credential's text: inline in a kubeconfig, or from a file, which is reread when it
 * changes. Part of kube_auth.c. Main thread. */
#ifndef KUBE2SKY_API_KUBE_AUTH_TEXT_INTERNAL_H
#define KUBE2SKY_API_KUBE_AUTH_TEXT_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* A bundle of all public authorities is 220 KB, a token 1 KB, a large kubeconfig some 10 KB. */
enum { KUBE_AUTH_FILE_BYTES_MAX = 1024 * 1024 };

/* Validates a text; may shorten it in place. */
typedef int (*kube_auth_check)(char *text, struct err *err);

int kube_auth_check_token(char *text, struct err *err) MUST_CHECK;
int kube_auth_check_certificates(char *text, struct err *err) MUST_CHECK;
int kube_auth_check_key(char *text, struct err *err) MUST_CHECK;

/* Holds a text and its source, all owned. All zero: there is none. */
struct kube_auth_text {
    kube_auth_check check;
    char *where; /* the file with the text, the kubeconfig or its own; NULL: none */
    bool is_own_file;
    char *text;
    struct stat stat; /* state of its own file at the last read */
};

/* Reads a file's content into *ret_text, owned, and fails on a NUL. Messages do not name the
 * file. */
int kube_auth_read_file(const char *path, char **ret_text, struct stat *ret_stat,
                        struct err *err) MUST_CHECK;

/* Set the text: inline text of a kubeconfig, or the content of a file (takes path). */
int kube_auth_text_given(struct kube_auth_text *text, kube_auth_check check, const char *where,
                         char *given, struct err *err) MUST_CHECK;
int kube_auth_text_load(struct kube_auth_text *text, kube_auth_check check, char *path,
                        struct err *err) MUST_CHECK;
void kube_auth_text_fini(struct kube_auth_text *text);

/* Rereads the text's file if that has changed, or if is_forced. An unusable file is logged, and the
 * previous content stays. */
void kube_auth_text_refresh(struct kube_auth_text *text, bool is_forced);

/* Does the same for a certificate and its key. They are replaced together or not at all, since one
 * file may be written before the other. */
void kube_auth_text_refresh_pair(struct kube_auth_text *cert, struct kube_auth_text *key,
                                 bool is_forced);

/* Returns the text; an empty slice: there is none. */
struct slice kube_auth_text_slice(const struct kube_auth_text *text);

#endif
