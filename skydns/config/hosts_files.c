#include "skydns/config/hosts_files_internal.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/config/watched_file_internal.h"
#include "skydns/external/hosts_file.h"

struct hosts_file {
    struct hosts_files *files;
    struct watched_file *watched;
    struct buf text; /* as it could be read last */
    bool is_refused; /* it has changed since, but cannot be read */
};

struct hosts_files {
    struct hosts_files_config config;
    struct hosts_table *table;
    size_t count;
    struct hosts_file items[FLAG_STRINGS_MAX];
};

static void log_report(const char *path, const struct hosts_report *report)
{
    for (size_t i = 0; i < report->bad_lines && i < HOSTS_BAD_LINES_SHOWN; i++) {
        log_warn("line of a hosts file is left out", LOG_STR("file", path),
                 LOG_INT("line", (int64_t)report->shown[i].line),
                 LOG_STR("reason", report->shown[i].why));
    }
    if (report->bad_lines > HOSTS_BAD_LINES_SHOWN) {
        log_warn("further lines of a hosts file are left out", LOG_STR("file", path),
                 LOG_INT("lines", (int64_t)report->bad_lines - HOSTS_BAD_LINES_SHOWN));
    }
}

/* Makes the table. `news`: the file whose lines are logged; NULL: all. */
static void make_table(struct hosts_files *files, const struct hosts_file *news)
{
    struct hosts_table *table = hosts_table_new(files->config.table_bytes_max);
    for (size_t i = 0; i < files->count; i++) {
        const struct hosts_file *file = &files->items[i];
        const char *path = watched_file_path(file->watched);
        struct hosts_reader reader = {.text = buf_slice(&file->text)};
        struct hosts_entry entry;
        while (hosts_reader_next(&reader, &entry)) {
            if (!hosts_table_add(table, &entry) && hosts_table_left_out(table) == 1) {
                log_warn("names of hosts files are left out; raise -hosts-max",
                         LOG_STR("file", path), LOG_INT("line", (int64_t)reader.line));
            }
        }
        if (!news || news == file) {
            log_report(path, &reader.report);
        }
    }
    hosts_table_unref(files->table);
    files->table = table;
    log_info("hosts files read", LOG_INT("files", (int64_t)files->count),
             LOG_INT("names", (int64_t)hosts_table_count(table)),
             LOG_INT("left_out", (int64_t)hosts_table_left_out(table)));
}

static int hosts_files_read_file(struct hosts_file *file, struct err *err)
{
    struct buf text;
    buf_init(&text, HOSTS_FILE_MAX);
    int r = watched_file_read(file->watched, &text, err);
    if (r < 0) {
        buf_fini(&text);
        return r;
    }
    buf_fini(&file->text);
    file->text = text;
    return 0;
}

static bool read_again(struct hosts_file *file)
{
    struct err err;
    file->is_refused = hosts_files_read_file(file, &err) < 0;
    if (file->is_refused) {
        log_error("cannot use the changed hosts file, keeping its last good content",
                  LOG_STR("error", err.msg));
    }
    return !file->is_refused;
}

static void hosts_files_on_changed(void *data)
{
    struct hosts_file *file = data;
    struct hosts_files *files = file->files;
    if (read_again(file)) {
        make_table(files, file);
        files->config.changed(files->config.data);
    }
}

void hosts_files_reload(struct hosts_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        (void)read_again(&files->items[i]); /* logged */
    }
    if (files->count > 0) {
        make_table(files, NULL);
    }
}

int hosts_files_new(const struct hosts_files_config *config, struct hosts_files **ret_files,
                    struct err *err)
{
    struct hosts_files *files = xcalloc(1, sizeof(*files));
    int r = 0;
    files->config = *config;
    for (size_t i = 0; r == 0 && i < config->paths->count; i++) {
        struct hosts_file *file = &files->items[files->count++];
        file->files = files;
        file->watched = watched_file_new(&(struct watched_file_config){
            .loop = config->loop,
            .path = config->paths->items[i],
            .bytes_max = HOSTS_FILE_MAX,
            .changed = hosts_files_on_changed,
            .data = file,
        });
        r = hosts_files_read_file(file, err);
    }
    if (r < 0) {
        hosts_files_free(files);
        return err_wrap(err, r, "flag -hosts");
    }
    if (files->count > 0) {
        make_table(files, NULL);
    }
    *ret_files = files;
    return 0;
}

void hosts_files_free(struct hosts_files *files)
{
    if (!files) {
        return;
    }
    for (size_t i = 0; i < files->count; i++) {
        watched_file_free(files->items[i].watched);
        buf_fini(&files->items[i].text);
    }
    hosts_table_unref(files->table);
    free(files);
}

struct hosts_table *hosts_files_table(const struct hosts_files *files)
{
    return files->table;
}

bool hosts_files_is_refused(const struct hosts_files *files)
{
    bool is_refused = false;
    for (size_t i = 0; i < files->count; i++) {
        is_refused = is_refused || files->items[i].is_refused;
    }
    return is_refused;
}
