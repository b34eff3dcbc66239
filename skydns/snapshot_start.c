#include "skydns/snapshot_start.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/duration.h"
#include "common/base/log.h"
#include "skydns/config/live_config.h"
#include "skydns/snapshot/snapshot_file.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"

static int check_age(const struct snapshot_header *header, const struct options *settings,
                     int64_t now_ms, struct err *err)
{
    char age[DURATION_TEXT_MAX], max[DURATION_TEXT_MAX];
    int64_t age_ms = now_ms - header->heard_ms;
    if (age_ms < -SNAPSHOT_AHEAD_MAX_MS) {
        return err_set(err, ERR_USAGE, "it is from the future, %s ahead of the clock",
                       duration_text_s(-age_ms / 1000, age));
    }
    if (settings->snapshot_max_ms > 0 && age_ms > settings->snapshot_max_ms) {
        return err_set(err, ERR_USAGE, "it is %s old, -snapshot-max is %s",
                       duration_text_s(age_ms / 1000, age),
                       duration_text(settings->snapshot_max_ms, max));
    }
    return 0;
}

static int check_prefix(const struct snapshot_header *header, const struct options *settings,
                        struct err *err)
{
    size_t len = strlen(settings->path_prefix);
    const char *prefix = header->prefix;
    bool is_same = strlen(prefix) == len + 2 && prefix[0] == '/' && prefix[len + 1] == '/' &&
                   memcmp(prefix + 1, settings->path_prefix, len) == 0;
    return is_same ? 0
                   : err_set(err, ERR_USAGE, "it is of the path prefix `%s`, not `/%s/`", prefix,
                             settings->path_prefix);
}

int snapshot_start_check(const struct snapshot_header *header, const struct options *settings,
                         int64_t now_ms, struct err *err)
{
    char its[DNAME_TEXT_MAX], ours[DNAME_TEXT_MAX];
    int r = check_prefix(header, settings, err);
    if (r < 0) {
        return r;
    }
    if (!dname_equal(&header->domain, &settings->domains[0])) {
        return err_set(err, ERR_USAGE, "it is of the domain `%s`, not `%s`",
                       dname_to_text(&header->domain, its),
                       dname_to_text(&settings->domains[0], ours));
    }
    if (header->schema != (uint8_t)settings->engine.schema) {
        const struct slice schema =
            flags_choice(ENGINE_SCHEMA_CHOICES, (int)settings->engine.schema);
        return err_set(err, ERR_USAGE, "it is of another -schema than %.*s", (int)schema.len,
                       schema.ptr);
    }
    return check_age(header, settings, now_ms, err);
}

static struct slice snapshot_start_section(struct snapshot_content *content,
                                           enum snapshot_section i)
{
    return buf_slice(&content->sections[i]);
}

struct slice snapshot_start_document(struct snapshot_content *content)
{
    struct slice document = snapshot_start_section(content, SNAPSHOT_CONFIG);
    return document.len ? document : slice_of(NULL, 0);
}

static int skydns_snapshot_start_check(struct live_config *live, struct snapshot_content *content,
                                       struct err *err)
{
    struct options settings = live_config_preview(live, snapshot_start_document(content));
    int r = snapshot_start_check(&content->header, &settings, clock_wall_ms(), err);
    if (r < 0) {
        return r;
    }
    if (!writer_documents_is_saved(snapshot_start_section(content, SNAPSHOT_WRITERS))) {
        return err_set(err, ERR_SYNTAX, "its documents of kube2sky make no sense");
    }
    return store_sync_can_start(content, err) ? 0 : err->code;
}

static void log_used(const char *path, const struct snapshot_content *content)
{
    char age[DURATION_TEXT_MAX];
    int64_t age_s = clock_wall_s() - content->header.heard_ms / 1000;
    log_info("answering from a snapshot until etcd is followed", LOG_STR("file", path),
             LOG_STR("age", duration_text_s(age_s, age)),
             LOG_INT("records", (int64_t)content->records),
             LOG_INT("revision", content->header.revision),
             LOG_STR("written_by", content->header.version));
}

void snapshot_start_refused(const char *path, const char *reason)
{
    log_warn("the snapshot is not used", LOG_STR("file", path), LOG_STR("reason", reason));
}

bool snapshot_start_read(struct live_config *live, const char *path,
                         struct snapshot_content *ret_content)
{
    struct err err = {0};
    int r = snapshot_file_read(path, ret_content, &err);
    if (r > 0) {
        log_info("there is no snapshot yet", LOG_STR("file", path));
        return false;
    }
    if (r == 0) {
        r = skydns_snapshot_start_check(live, ret_content, &err);
        if (r == 0) {
            log_used(path, ret_content);
            return true;
        }
        snapshot_content_fini(ret_content);
    }
    snapshot_start_refused(path, err.msg);
    return false;
}
