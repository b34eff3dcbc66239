#include "common/etcd/etcd_auth_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/backoff.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/file_stamp.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_codec_internal.h"
#include "common/etcd/etcd_counts_internal.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_unary_internal.h"
#include "common/grpc/grpc.h"

/* etcd hashes passwords with bcrypt, which uses 72 bytes; a larger file is no password. */
enum { PASSWORD_MAX = 4096 };

/* etcd's simple tokens have 20 bytes, a JWT a few hundred; gRPC servers accept 8 KiB of headers. */
enum { TOKEN_MAX = 8000 };

struct etcd_auth {
    struct etcd *etcd;
    char *username;
    char *password;
    char *password_file; /* or NULL */

    enum { NONE, ASKING, HAVE, FAILED } state;
    char *token; /* HAVE: NULL when authentication is off */
    uint64_t generation;
    struct etcd_counts *counts;

    /* FAILED */
    struct err failure;
    struct backoff backoff;
    int64_t not_before_ms;
    struct file_stamp file_read; /* the password file when last read */

    /* ASKING: the response so far */
    struct arena arena;
    const char *reply_token;
};

/* ---- Password ---- */

static int read_fd(int fd, char out[PASSWORD_MAX + 1], size_t *ret_len)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = read(fd, out + len, PASSWORD_MAX + 1 - len);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n == 0) {
            break;
        }
        len += n > 0 ? (size_t)n : 0;
        if (len > PASSWORD_MAX) {
            return -EFBIG;
        }
    }
    *ret_len = len;
    return 0;
}

/* Reads only the first line, which drops an editor's trailing newline. */
static int read_password(struct etcd_auth *auth, char out[PASSWORD_MAX + 1], struct err *err)
{
    size_t len = 0;
    CLEANUP_CLOSE int fd = open(auth->password_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    int rc = fd < 0 || fstat(fd, &st) < 0 ? -errno : read_fd(fd, out, &len);
    if (rc != 0) {
        return err_set(err, ERR_REFUSED, "read password file `%s`: %s", auth->password_file,
                       err_code_text(rc));
    }
    auth->file_read = file_stamp_of(&st);
    out[len] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return 0;
}

static bool is_file_changed(const struct etcd_auth *auth)
{
    static const struct file_stamp none;
    const struct file_stamp now = auth->password_file ? file_stamp_at(auth->password_file) : none;
    return !file_stamp_is_same(&now, &none) && !file_stamp_is_same(&now, &auth->file_read);
}

/* ---- Asking ---- */

static void have_token(struct etcd_auth *auth, const char *token)
{
    counter_add(&auth->counts->tokens, token != NULL);
    free(auth->token);
    auth->token = token ? xstrdup(token) : NULL;
    auth->state = HAVE;
    auth->generation++;
    backoff_reset(&auth->backoff);
    auth->not_before_ms = 0;
    if (token) {
        log_debug("token fetched", LOG_STR("username", auth->username));
    } else {
        log_debug("authentication is off, no token needed", LOG_STR("username", auth->username));
    }
}

static void etcd_auth_fail(struct etcd_auth *auth, const struct err *err)
{
    counter_add(&auth->counts->token_failures, 1);
    auth->state = FAILED;
    auth->failure = *err;
    err_wrap(&auth->failure, err->code, "authenticate as `%s`", auth->username);
    /* The link already backs off from an unreachable etcd; once it is back, do not wait again. */
    auth->not_before_ms =
        err->code == ERR_REFUSED
            ? clock_monotonic_ms() + backoff_next_ms(&auth->backoff, backoff_random())
            : 0;
    log_debug("token not fetched", LOG_STR("username", auth->username),
              LOG_STR("reason", err->msg));
}

static bool is_header_value(const char *token)
{
    size_t len = strlen(token);
    for (size_t i = 0; i < len; i++) {
        if (token[i] <= 0x20 || token[i] >= 0x7f) {
            return false;
        }
    }
    return len <= TOKEN_MAX;
}

static int etcd_auth_on_message(void *data, struct slice message, struct err *err)
{
    struct etcd_auth *auth = data;
    int rc = etcd_decode_authenticate(message, &auth->arena, &auth->reply_token, err);
    if (rc == 0 && !is_header_value(auth->reply_token)) {
        return err_set(err, ERR_PROTOCOL, "token is not text");
    }
    return rc;
}

static void etcd_auth_on_end(void *data, int status, const struct err *err)
{
    struct etcd_auth *auth = data;
    if (!err) {
        have_token(auth, auth->reply_token);
    } else if (status == STATUS_FAILED_PRECONDITION && strstr(err->msg, "not enabled")) {
        have_token(auth, NULL);
    } else {
        etcd_auth_fail(auth, err);
    }
    arena_clear(&auth->arena);
    etcd_auth_settled(auth->etcd, auth->state == FAILED ? &auth->failure : NULL);
}

static int etcd_auth_authenticate(struct etcd_auth *auth, struct err *err)
{
    char password[PASSWORD_MAX + 1];
    struct buf request;
    int rc = auth->password_file ? read_password(auth, password, err) : 0;
    if (rc != 0) {
        return rc;
    }
    const struct etcd_call_config config = {
        .path = "/etcdserverpb.Auth/Authenticate",
        .timeout_ms = etcd_call_timeout_ms(auth->etcd),
        .is_tokenless = true,
        .on_message = etcd_auth_on_message,
        .on_end = etcd_auth_on_end,
        .data = auth,
    };
    buf_init(&request, GRPC_SEND_MAX);
    etcd_encode_authenticate(auth->username, auth->password_file ? password : auth->password,
                             &request);
    explicit_bzero(password, sizeof(password));
    auth->state = ASKING;
    auth->reply_token = NULL;
    (void)etcd_link_call(etcd_call_link(auth->etcd), &config,
                         &request); /* it ends in etcd_auth_on_end */
    return 0;
}

/* ---- What the links call ---- */

enum etcd_auth_state etcd_auth_get(struct etcd_auth *auth, const char **ret_token,
                                   uint64_t *ret_generation, struct err *ret_err)
{
    bool is_due = auth->state == NONE ||
                  (auth->state == FAILED &&
                   (clock_monotonic_ms() >= auth->not_before_ms || is_file_changed(auth)));
    struct err err;
    if (is_due && etcd_auth_authenticate(auth, &err) != 0) {
        etcd_auth_fail(auth, &err);
    }
    switch (auth->state) {
    case HAVE:
        *ret_token = auth->token;
        *ret_generation = auth->generation;
        return ETCD_AUTH_READY;
    case FAILED:
        *ret_err = auth->failure;
        return ETCD_AUTH_FAILED;
    case NONE:
    case ASKING:
        break;
    }
    return ETCD_AUTH_WAIT;
}

void etcd_auth_refused(struct etcd_auth *auth, uint64_t generation)
{
    if (auth->state == HAVE && auth->generation == generation) {
        log_debug("token refused, fetching another", LOG_STR("username", auth->username));
        auth->state = NONE;
    }
}

bool etcd_auth_is_refusal(int status, const char *message)
{
    return status == STATUS_UNAUTHENTICATED ||
           (status == STATUS_INVALID_ARGUMENT &&
            (strstr(message, "user name is empty") || strstr(message, "invalid auth token") ||
             strstr(message, "revision of auth store is old")));
}

/* ---- Life ---- */

struct etcd_auth *etcd_auth_new(const struct etcd_auth_config *config)
{
    struct etcd_auth *auth = xcalloc(1, sizeof(*auth));
    bool has_file = config->password_file && config->password_file[0];
    auth->etcd = config->etcd;
    auth->counts = config->counts;
    auth->username = xstrdup(config->username);
    auth->password = xstrdup(config->password ? config->password : "");
    auth->password_file = has_file ? xstrdup(config->password_file) : NULL;
    backoff_init(&auth->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REFUSED_MAX_MS);
    arena_init(&auth->arena, ETCD_DECODED_MAX);
    return auth;
}

void etcd_auth_free(struct etcd_auth *auth)
{
    if (!auth) {
        return;
    }
    arena_fini(&auth->arena);
    free(auth->token);
    free(auth->username);
    free(auth->password);
    free(auth->password_file);
    free(auth);
}
