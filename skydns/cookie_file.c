#include "skydns/cookie_file.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/watched_file.h"

struct cookie_file {
    struct cookie_file_config config;
    struct watched_file *file;
    bool is_refused;
};

/* A secret does not stay in memory for longer than needed. */
static int read_secrets(struct cookie_file *file, struct cookie_secrets *ret, struct err *err)
{
    struct buf text;
    buf_init(&text, COOKIE_SECRETS_FILE_MAX);
    int r = watched_file_read(file->file, &text, err);
    if (r == 0) {
        r = cookie_secrets_parse(buf_slice(&text), ret, err);
        r = r < 0 ? err_wrap(err, r, "`%s`", file->config.path) : 0;
    }
    if (text.data) {
        explicit_bzero(text.data, text.cap);
    }
    buf_fini(&text);
    return r;
}

static int take(struct cookie_file *file, struct err *err)
{
    struct cookie_secrets secrets;
    int r = read_secrets(file, &secrets, err);
    file->is_refused = r < 0;
    if (r == 0) {
        file->config.changed(file->config.data, &secrets);
        explicit_bzero(&secrets, sizeof(secrets));
    }
    return r;
}

void cookie_file_reload(struct cookie_file *file)
{
    struct err err;
    if (take(file, &err) < 0) {
        log_error("cannot use the file of cookie secrets, keeping the secrets in force",
                  LOG_STR("file", file->config.path), LOG_STR("error", err.msg));
    }
}

static void on_change(void *data)
{
    struct cookie_file *file = data;
    cookie_file_reload(file);
    if (!file->is_refused) {
        log_info("cookie secrets changed", LOG_STR("file", file->config.path));
    }
}

int cookie_file_new(const struct cookie_file_config *config, struct cookie_file **ret_file,
                    struct err *err)
{
    struct cookie_file *file = xcalloc(1, sizeof(*file));
    file->config = *config;
    file->file = watched_file_new(&(struct watched_file_config){
        .loop = config->loop,
        .path = config->path,
        .bytes_max = COOKIE_SECRETS_FILE_MAX,
        .changed = on_change,
        .data = file,
    });
    int r = take(file, err);
    if (r < 0) {
        cookie_file_free(file);
        return err_wrap(err, r, "flag -cookie-secret");
    }
    *ret_file = file;
    return 0;
}

void cookie_file_free(struct cookie_file *file)
{
    if (file) {
        watched_file_free(file->file);
        free(file);
    }
}

bool cookie_file_is_refused(const struct cookie_file *file)
{
    return file && file->is_refused;
}
