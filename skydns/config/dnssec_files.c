#include "skydns/config/dnssec_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/utc_time.h"
#include "common/base/xalloc.h"
#include "skydns/config/key_set_internal.h"
#include "skydns/dnssec/dnssec.h"

/* Holds the text of a zone's keys, "12345/13 54321/13". */
enum { KEYS_TEXT_MAX = DNSSEC_ZONE_KEYS_MAX * 16 };

struct dnssec_files {
    struct dnssec_files_config config;
    bool has_begun;
    struct options options; /* in force; without stub zones */
    struct key_set *used;
    struct key_set *wanted; /* NULL: `used` are; else they cannot be used yet */
    struct err refusal;     /* why; or why keys of `used` cannot be together; code 0: they can */
    struct dnssec *keys;    /* NULL: none */
    size_t signatures_max;  /* of `keys` */
    struct clock_watch *clock;
    ev_timer settle, timeout;
};

/* ---- What the log says ---- */

static void dnssec_files_write_keys(const struct dnssec_zone *zone, bool sep, bool all,
                                    struct buf *out)
{
    for (size_t i = 0; i < zone->key_count; i++) {
        const struct signing_key *key = zone->keys[i];
        if (all || key->is_sep == sep) {
            buf_printf(out, "%s%u/%u", out->len ? " " : "", key->tag, key->algorithm);
        }
    }
}

/* Logs a zone's keys as "tag/algorithm". */
static void tell_zone(const struct dnssec_zone *zone)
{
    char name[DNAME_TEXT_MAX];
    CLEANUP_BUF struct buf keys = buf_of(KEYS_TEXT_MAX);
    CLEANUP_BUF struct buf others = buf_of(KEYS_TEXT_MAX);
    dnssec_files_write_keys(zone, true, !zone->has_both, &keys);
    dnssec_files_write_keys(zone, false, false, &others);
    (void)dname_to_text(&zone->name, name);
    if (zone->has_both) {
        log_info("signing answers", LOG_STR("zone", name),
                 LOG_STR("key_signing_keys", buf_cstr(&keys)),
                 LOG_STR("zone_signing_keys", buf_cstr(&others)));
    } else {
        log_info("signing answers", LOG_STR("zone", name), LOG_STR("keys", buf_cstr(&keys)));
    }
}

static const struct dnssec_zone *dnssec_files_find_zone(const struct dnssec *keys,
                                                        const struct dname *name)
{
    for (size_t i = 0; keys && i < dnssec_zone_count(keys); i++) {
        const struct dnssec_zone *zone = dnssec_zone_at(keys, i);
        if (dname_equal(&zone->name, name)) {
            return zone;
        }
    }
    return NULL;
}

static void tell_zones(const struct dnssec *before, const struct dnssec *now)
{
    char name[DNAME_TEXT_MAX];
    for (size_t i = 0; now && i < dnssec_zone_count(now); i++) {
        tell_zone(dnssec_zone_at(now, i));
    }
    for (size_t i = 0; before && i < dnssec_zone_count(before); i++) {
        const struct dnssec_zone *zone = dnssec_zone_at(before, i);
        if (!dnssec_files_find_zone(now, &zone->name)) {
            log_warn("no longer signing answers",
                     LOG_STR("zone", dname_to_text(&zone->name, name)));
        }
    }
}

/* Logs a refusal once, until another reason comes. */
static void dnssec_files_refuse(struct dnssec_files *files, const char *message,
                                const struct err *err)
{
    if (files->refusal.code == 0 || strcmp(files->refusal.msg, err->msg) != 0) {
        log_error(message, LOG_STR("error", err->msg));
    }
    files->refusal = *err;
}

/* ---- Keys in force ---- */

/* Makes the struct dnssec. Returns false if it cannot, and the earlier keys stay in use. */
static bool dnssec_files_make(struct dnssec_files *files)
{
    struct dnssec *before = files->keys;
    struct err err;
    if (key_set_make(files->used, files->options.scache, false, &files->keys, &err) < 0) {
        files->keys = before;
        dnssec_files_refuse(files, "cannot use the changed keys together, keeping those in force",
                            &err);
        return false;
    }
    files->signatures_max = files->options.scache;
    key_set_warn(files->used);
    tell_zones(before, files->keys);
    clock_watch_turn(files->clock, files->keys != NULL);
    dnssec_unref(before);
    return true;
}

/* Returns whether a set can be used with the settings in force. */
static int try_set(const struct dnssec_files *files, struct key_set *set, struct err *err)
{
    struct dnssec *keys = NULL;
    int r = key_set_open(set, err);
    if (r == 0) {
        r = key_set_check_owners(set, &files->options, err);
    }
    if (r == 0) {
        r = key_set_make(set, 1, true, &keys, err);
    }
    dnssec_unref(keys);
    return r;
}

/* Returns true if the list that is wanted is used. */
static bool take_wanted(struct dnssec_files *files)
{
    struct err err = {0};
    if (!files->wanted) {
        return false;
    }
    if (try_set(files, files->wanted, &err) < 0) {
        dnssec_files_refuse(
            files, "cannot use the keys of the changed list, keeping those in force", &err);
        return false;
    }
    key_set_free(files->used);
    files->used = STEAL(files->wanted);
    files->refusal.code = 0;
    return true;
}

/* Returns true if there are other keys. */
static bool dnssec_files_refresh(struct dnssec_files *files, bool differs)
{
    differs = take_wanted(files) || differs;
    differs = key_set_match(files->used, &files->options) || differs;
    differs = differs || (files->keys && files->signatures_max != files->options.scache);
    if (differs && !files->wanted) {
        files->refusal.code = 0;
    }
    return differs && dnssec_files_make(files);
}

/* ---- Files that change ---- */

static void dnssec_files_start(struct dnssec_files *files, ev_timer *timer, int ms)
{
    if (!ev_is_active(timer)) {
        timer_arm_ms(files->config.loop, timer, ms);
    }
}

void dnssec_files_note_changed(struct dnssec_files *files)
{
    dnssec_files_start(files, &files->settle, DNSSEC_FILES_SETTLE_MS);
}

/* Checks the files, which may change while etcd is asked for the settings, without which no zone is
 * ours. */
static void dnssec_files_check(struct dnssec_files *files, bool is_final)
{
    bool waits = false;
    if (!files->has_begun) {
        dnssec_files_start(files, &files->settle, DNSSEC_FILES_SETTLE_MS);
        return;
    }
    bool differs = key_set_read(files->used, false, is_final, &waits);
    if (waits) {
        dnssec_files_start(files, &files->timeout, DNSSEC_FILES_TIMEOUT_MS);
    }
    if (dnssec_files_refresh(files, differs)) {
        files->config.changed(files->config.data);
    }
}

static void on_settle(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    dnssec_files_check(timer->data, false);
}

static void dnssec_files_on_report_due(struct ev_loop *loop UNUSED, ev_timer *timer,
                                       int events UNUSED)
{
    dnssec_files_check(timer->data, true);
}

void dnssec_files_reload(struct dnssec_files *files)
{
    bool waits = false;
    bool differs = key_set_read(files->used, true, true, &waits);
    (void)dnssec_files_refresh(files, differs); /* the caller, which reloads, publishes */
}

/* ---- Settings ---- */

static void take_options(struct dnssec_files *files, const struct options *options)
{
    files->options = *options;
    files->options.stubs = NULL; /* those are not needed here, and change */
}

static void dnssec_files_set_list(struct dnssec_files *files, const char *list)
{
    const struct key_set *newest = files->wanted ? files->wanted : files->used;
    if (strcmp(list, key_set_list(newest)) == 0) {
        return;
    }
    key_set_free(STEAL(files->wanted));
    files->refusal.code = 0;
    if (strcmp(list, key_set_list(files->used)) != 0) {
        files->wanted = key_set_new(files, files->config.loop, list);
    }
}

void dnssec_files_set(struct dnssec_files *files, const struct options *options)
{
    take_options(files, options);
    dnssec_files_set_list(files, options->dnssec);
    (void)dnssec_files_refresh(files, false); /* the caller, which sets, publishes */
}

/* ---- The start ---- */

struct dnssec_files *dnssec_files_new(const struct dnssec_files_config *config)
{
    struct dnssec_files *files = xcalloc(1, sizeof(*files));
    files->config = *config;
    files->used = key_set_new(files, config->loop, "");
    files->clock = clock_watch_new(config->loop);
    timer_init(&files->settle, on_settle, files);
    timer_init(&files->timeout, dnssec_files_on_report_due, files);
    return files;
}

void dnssec_files_free(struct dnssec_files *files)
{
    if (files) {
        ev_timer_stop(files->config.loop, &files->settle);
        ev_timer_stop(files->config.loop, &files->timeout);
        key_set_free(files->used);
        key_set_free(files->wanted);
        clock_watch_free(files->clock);
        dnssec_unref(files->keys);
        free(files);
    }
}

int dnssec_files_open(struct dnssec_files *files, const struct options *options, struct err *err)
{
    struct dnssec *keys = NULL;
    key_set_free(files->used);
    files->used = key_set_new(files, files->config.loop, options->dnssec);
    int r = key_set_open(files->used, err);
    if (r == 0) {
        r = key_set_make(files->used, 1, true, &keys, err) < 0 ? ERR_USAGE : 0;
    }
    dnssec_unref(keys);
    return r < 0 ? err_wrap(err, r, "flag -dnssec") : 0;
}

int dnssec_files_begin(struct dnssec_files *files, const struct options *options, bool is_certain,
                       struct err *err)
{
    files->has_begun = true;
    take_options(files, options);
    dnssec_files_set_list(files, options->dnssec);
    if (is_certain && !files->wanted) {
        int r = key_set_check_owners(files->used, options, err);
        if (r < 0) {
            return err_wrap(err, r, "flag -dnssec");
        }
    }
    (void)dnssec_files_refresh(files, true); /* whatever is in force now is published */
    return 0;
}

/* ---- For others ---- */

struct dnssec *dnssec_files_keys(const struct dnssec_files *files)
{
    return files->keys;
}

void dnssec_files_text(const struct dnssec_files *files, const struct dname *zone, struct buf *out)
{
    if (dnssec_files_find_zone(files->keys, zone)) {
        key_set_text(files->used, zone, out);
    }
}

bool dnssec_files_is_refused(const struct dnssec_files *files)
{
    return files->refusal.code != 0;
}

size_t dnssec_files_unusable(const struct dnssec_files *files)
{
    size_t count = key_set_unusable(files->used);
    count += files->wanted ? key_set_unusable(files->wanted) : 0;
    return count > 0 ? count : dnssec_files_is_refused(files);
}

static int config_dnssec_files_print_ds(struct dnssec_files *files, const struct options *options,
                                        struct err *err)
{
    struct dnssec *keys;
    int r = key_set_make(files->used, 1, true, &keys, err);
    if (r < 0) {
        return r;
    }
    CLEANUP_BUF struct buf text = buf_of(DS_TEXT_MAX);
    ds_text(keys, options->engine.ttl_s, &text);
    if (fputs(buf_cstr(&text), stdout) == EOF || fflush(stdout) == EOF) {
        r = err_set(err, -errno, "print: %s", err_code_text(-errno));
    }
    dnssec_unref(keys);
    return r;
}

int dnssec_files_print_ds(const struct options *options, struct err *err)
{
    if (!*options->dnssec) {
        return err_set(err, ERR_USAGE, "flag -print-ds: expected -dnssec with it");
    }
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO); /* never runs: files are read once */
    struct dnssec_files *files = dnssec_files_new(&(struct dnssec_files_config){.loop = loop});
    int r = dnssec_files_open(files, options, err);
    if (r == 0) {
        r = config_dnssec_files_print_ds(files, options, err);
    }
    dnssec_files_free(files);
    ev_loop_destroy(loop);
    return r;
}

static const double look_s = 1.0;

struct clock_watch {
    struct ev_loop *loop;
    ev_timer look;
    int64_t wall_ms, monotonic_ms; /* when it last looked */
};

static void clock_watch_look(struct clock_watch *watch)
{
    watch->wall_ms = clock_wall_ms();
    watch->monotonic_ms = clock_monotonic_ms();
}

static void dnssec_files_on_check(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    char from[UTC_TIME_TEXT_MAX], to[UTC_TIME_TEXT_MAX];
    struct clock_watch *watch = timer->data;
    int64_t before_ms = watch->wall_ms, was_ms = watch->monotonic_ms;
    clock_watch_look(watch);
    int64_t due_ms = before_ms + (watch->monotonic_ms - was_ms);
    int64_t jump_s = (watch->wall_ms - due_ms) / 1000;
    if (jump_s > CLOCK_WATCH_JUMP_S || jump_s < -CLOCK_WATCH_JUMP_S) {
        log_warn("the wall clock jumped, signatures that are not valid now are made again",
                 LOG_STR("from", utc_time_text_s(due_ms / 1000, from)),
                 LOG_STR("to", utc_time_text_s(watch->wall_ms / 1000, to)),
                 LOG_INT("seconds", jump_s));
    }
}

struct clock_watch *clock_watch_new(struct ev_loop *loop)
{
    struct clock_watch *watch = xcalloc(1, sizeof(*watch));
    watch->loop = loop;
    timer_init_every(&watch->look, dnssec_files_on_check, watch, look_s);
    return watch;
}

void clock_watch_free(struct clock_watch *watch)
{
    if (watch) {
        ev_timer_stop(watch->loop, &watch->look);
        free(watch);
    }
}

void clock_watch_turn(struct clock_watch *watch, bool is_on)
{
    if (!is_on) {
        ev_timer_stop(watch->loop, &watch->look);
    } else if (!ev_is_active(&watch->look)) {
        clock_watch_look(watch);
        ev_timer_again(watch->loop, &watch->look);
    }
}
