#include "kube2sky/api/kube_auth_text_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_pem.h"

/* ---- Files ---- */

static int kube_auth_text_read_all(int fd, struct buf *out, struct err *err)
{
    for (;;) {
        uint8_t chunk[4096];
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0) {
            return err_set(err, -errno, "%s", strerror(errno));
        }
        if (n == 0) {
            return 0;
        }
        buf_append(out, chunk, (size_t)n);
        if (out->failed) {
            return err_set(err, ERR_TOO_LARGE, "longer than %d bytes", KUBE_AUTH_FILE_BYTES_MAX);
        }
    }
}

int kube_auth_read_file(const char *path, char **ret_text, struct stat *ret_stat, struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct buf content;
    if (fd < 0 || fstat(fd, ret_stat) < 0) {
        return err_set(err, -errno, "%s", strerror(errno));
    }
    buf_init(&content, KUBE_AUTH_FILE_BYTES_MAX);
    int rc = kube_auth_text_read_all(fd, &content, err);
    if (rc == 0 && content.len > 0 && memchr(content.data, '\0', content.len)) {
        rc = err_set(err, ERR_SYNTAX, "not a text file");
    }
    if (rc == 0) {
        *ret_text = xstrdup(buf_cstr(&content));
    }
    buf_fini(&content);
    return rc;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* ---- Checks ---- */

int kube_auth_check_certificates(char *text, struct err *err)
{
    return tls_pem_check_certificates(text, err);
}

int kube_auth_check_key(char *text, struct err *err)
{
    return tls_pem_check_key(text, err);
}

/* Validates a token, which becomes a header line and must not contain a line end. */
int kube_auth_check_token(char *text, struct err *err)
{
    size_t blanks = strspn(text, " \t\r\n");
    size_t len = strlen(text);
    while (len > blanks && strchr(" \t\r\n", text[len - 1])) {
        len--;
    }
    memmove(text, text + blanks, len - blanks);
    text[len - blanks] = '\0';
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c >= 0x7f) {
            return err_set(err, ERR_SYNTAX, "expected a token: one word of printable ASCII");
        }
    }
    return *text ? 0 : err_set(err, ERR_SYNTAX, "expected a token, found nothing");
}

/* ---- Texts ---- */

/* Reads the file's text and validates it; the result is owned. */
static int read_checked(const struct kube_auth_text *text, char **ret_text, struct stat *ret_stat,
                        struct err *err)
{
    char *fresh = NULL;
    int rc = kube_auth_read_file(text->where, &fresh, ret_stat, err);
    if (rc == 0) {
        rc = text->check(fresh, err);
    }
    if (rc < 0) {
        free(fresh);
        return err_wrap(err, rc, "%s", text->where);
    }
    *ret_text = fresh;
    return 0;
}

int kube_auth_text_given(struct kube_auth_text *text, kube_auth_check check, const char *where,
                         char *given, struct err *err)
{
    text->check = check;
    text->where = xstrdup(where);
    text->text = given;
    return check(given, err);
}

int kube_auth_text_load(struct kube_auth_text *text, kube_auth_check check, char *path,
                        struct err *err)
{
    text->check = check;
    text->where = path;
    text->is_own_file = true;
    return read_checked(text, &text->text, &text->stat, err);
}

void kube_auth_text_fini(struct kube_auth_text *text)
{
    free(text->where);
    free(text->text);
}

static void tell_kept(const struct err *err)
{
    static struct log_limit limit = {.burst = 2};
    if (log_limit_pass(&limit)) {
        log_warn("credential file cannot be used, keeping its previous content",
                 LOG_STR("reason", err->msg));
    }
}

static bool has_changed(const struct kube_auth_text *text)
{
    struct stat now;
    return text->is_own_file && stat(text->where, &now) == 0 && !is_same_file(&now, &text->stat);
}

void kube_auth_text_refresh(struct kube_auth_text *text, bool is_forced)
{
    char *fresh = NULL;
    struct err err = {0};
    if (!text->is_own_file || (!is_forced && !has_changed(text))) {
        return;
    }
    if (read_checked(text, &fresh, &text->stat, &err) < 0) {
        tell_kept(&err);
        return;
    }
    free(text->text);
    text->text = fresh;
}

/* Rereads the file's text; an inline text never changes. */
static int read_half(const struct kube_auth_text *text, char **ret_text, struct stat *ret_stat,
                     struct err *err)
{
    if (!text->is_own_file) {
        *ret_text = xstrdup(text->text);
        return 0;
    }
    return read_checked(text, ret_text, ret_stat, err);
}

void kube_auth_text_refresh_pair(struct kube_auth_text *cert, struct kube_auth_text *key,
                                 bool is_forced)
{
    char *new_cert = NULL;
    char *new_key = NULL;
    struct stat cert_stat = cert->stat;
    struct stat key_stat = key->stat;
    struct err err = {0};
    bool is_any_file = cert->is_own_file || key->is_own_file;
    if (!is_any_file || (!is_forced && !has_changed(cert) && !has_changed(key))) {
        return;
    }
    int rc = read_half(cert, &new_cert, &cert_stat, &err);
    if (rc == 0) {
        rc = read_half(key, &new_key, &key_stat, &err);
    }
    if (rc == 0 && (rc = tls_pem_check_pair(new_cert, new_key, &err)) < 0) {
        err_wrap(&err, rc, "%s, %s", cert->where, key->where);
    }
    /* Notes the files' state even after a failure, to wait for the next change of either. */
    cert->stat = cert_stat;
    key->stat = key_stat;
    if (rc < 0) {
        tell_kept(&err);
        free(new_cert);
        free(new_key);
        return;
    }
    free(cert->text);
    free(key->text);
    cert->text = new_cert;
    key->text = new_key;
}

struct slice kube_auth_text_slice(const struct kube_auth_text *text)
{
    return text->text ? slice_str(text->text) : slice_of(NULL, 0);
}
