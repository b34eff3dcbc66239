#include "skydns/config/secret_file_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/config/watched_file_internal.h"

struct secret_file {
    struct secret_file_config config;
    struct watched_file *file;
    bool is_refused;
};

/* Takes the text, and wipes it: a secret does not stay in memory for longer than needed. */
static int secret_file_adopt(struct secret_file *file, struct err *err)
{
    CLEANUP_BUF struct buf text = buf_of(file->config.bytes_max);
    int r = watched_file_read(file->file, &text, err);
    if (r == 0) {
        r = file->config.take(file->config.data, buf_slice(&text), err);
        r = r < 0 ? err_wrap(err, r, "`%s`", file->config.path) : 0;
    }
    if (text.data) {
        explicit_bzero(text.data, text.cap);
    }
    file->is_refused = r < 0;
    return r;
}

void secret_file_reload(struct secret_file *file)
{
    struct err err;
    if (file && secret_file_adopt(file, &err) < 0) {
        log_error(file->config.refused, LOG_STR("file", file->config.path),
                  LOG_STR("error", err.msg));
    }
}

static void secret_file_on_change(void *data)
{
    struct secret_file *file = data;
    secret_file_reload(file);
    if (!file->is_refused) {
        log_info(file->config.changed, LOG_STR("file", file->config.path));
    }
}

int secret_file_new(const struct secret_file_config *config, struct secret_file **ret_file,
                    struct err *err)
{
    struct secret_file *file = xcalloc(1, sizeof(*file));
    file->config = *config;
    file->file = watched_file_new(&(struct watched_file_config){
        .loop = config->loop,
        .path = config->path,
        .bytes_max = config->bytes_max,
        .changed = secret_file_on_change,
        .data = file,
    });
    int r = secret_file_adopt(file, err);
    if (r < 0) {
        secret_file_free(file);
        return err_wrap(err, r, "flag %s", config->flag);
    }
    *ret_file = file;
    return 0;
}

void secret_file_free(struct secret_file *file)
{
    if (file) {
        watched_file_free(file->file);
        free(file);
    }
}

bool secret_file_is_refused(const struct secret_file *file)
{
    return file && file->is_refused;
}
