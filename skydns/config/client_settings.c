#include "skydns/config/client_settings_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"

struct client_settings {
    /* In use while there is no other index. Never replaced, so readers may hold it. */
    struct client_index *no_clients;
    const struct client_index *index;

    struct visible_namespace *listed; /* their texts are in `texts` */
    size_t listed_count;
    char *texts;

    struct cookie_secrets cookies;
    struct visibility *visibility; /* NULL: to be made */
    struct client_options made_of; /* with `visibility`: the options it was made of */
};

/* Does nothing: the index without clients never changes. */
static void client_settings_retire(void *data UNUSED, void *block, void (*fn)(void *block))
{
    fn(block);
}

struct client_settings *client_settings_new(void)
{
    struct client_settings *settings = xcalloc(1, sizeof(*settings));
    settings->no_clients =
        client_index_new(&(struct client_index_config){.retire = client_settings_retire});
    settings->index = settings->no_clients;
    cookie_secrets_draw(&settings->cookies);
    return settings;
}

static void forget_listed(struct client_settings *settings)
{
    free(STEAL(settings->listed));
    free(STEAL(settings->texts));
    settings->listed_count = 0;
}

void client_settings_free(struct client_settings *settings)
{
    if (settings) {
        visibility_unref(settings->visibility);
        forget_listed(settings);
        client_index_free(settings->no_clients);
        free(settings);
    }
}

void client_settings_set_index(struct client_settings *settings, const struct client_index *index)
{
    settings->index = index;
}

void client_settings_set_cookies(struct client_settings *settings,
                                 const struct cookie_secrets *secrets)
{
    settings->cookies = *secrets;
}

/* ---- Visibility ---- */

static struct slice client_settings_copy(char **end, struct slice text)
{
    char *at = *end;
    if (text.len > 0) {
        memcpy(at, text.ptr, text.len);
    }
    *end += text.len;
    return slice_of(at, text.len);
}

void client_settings_set_listed(struct client_settings *settings,
                                const struct visible_namespace *listed, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += listed[i].ns.len + listed[i].text.len;
    }
    forget_listed(settings);
    settings->listed = xcalloc(count + 1, sizeof(*listed));
    settings->texts = xmalloc(bytes + 1);
    char *end = settings->texts;
    for (size_t i = 0; i < count; i++) {
        settings->listed[i].ns = client_settings_copy(&end, listed[i].ns);
        settings->listed[i].text = client_settings_copy(&end, listed[i].text);
    }
    settings->listed_count = count;
    visibility_unref(STEAL(settings->visibility));
}

static bool same_names(const struct client_options *a, const struct client_options *b)
{
    bool same = a->unknown == b->unknown && a->public_count == b->public_count;
    for (size_t i = 0; same && i < a->public_count; i++) {
        same = slice_equal(slice_of(a->public_names[i].text, a->public_names[i].len),
                           slice_of(b->public_names[i].text, b->public_names[i].len));
    }
    return same;
}

static struct visibility *client_settings_make(const struct client_settings *settings,
                                               const struct client_options *options)
{
    struct slice names[VISIBILITY_PUBLIC_MAX];
    for (size_t i = 0; i < options->public_count; i++) {
        names[i] = slice_of(options->public_names[i].text, options->public_names[i].len);
    }
    return visibility_new(options->unknown, names, options->public_count, settings->listed,
                          settings->listed_count);
}

static struct visibility *visibility_of(struct client_settings *settings,
                                        const struct client_options *options)
{
    if (!settings->visibility || !same_names(&settings->made_of, options)) {
        visibility_unref(settings->visibility);
        settings->visibility = client_settings_make(settings, options);
        settings->made_of = *options;
    }
    return visibility_ref(settings->visibility);
}

void client_settings_fill(struct client_settings *settings, const struct options *options,
                          bool knows_clients, struct engine_config *config)
{
    config->cookies = settings->cookies;
    if (options_want_client_index(options)) {
        config->clients = settings->index;
    }
    if (options->clients.wants_near) {
        config->topology = client_index_topology(settings->index);
    }
    if (options->clients.is_own) {
        struct client_options now = options->clients;
        now.unknown = knows_clients ? now.unknown : VISIBILITY_UNKNOWN_PUBLIC;
        config->visibility = visibility_of(settings, &now);
    }
}
