/* Translates the plugins that have domains: kubernetes and etcd. */
#include <inttypes.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"
#include "skydns/corefile/translate_internal.h"

bool translation_has_zone(const struct translation *t, const char *zone)
{
    return strings_has(&t->domains, zone) || strings_has(&t->external_zones, zone);
}

bool has_zone_of(const struct strings *zones, const char *name)
{
    for (const char *zone = NULL; (zone = strings_next(zones, zone));) {
        if (zone_contains(zone, name)) {
            return true;
        }
    }
    return false;
}

bool translation_is_in_zone(const struct translation *t, const char *name)
{
    return has_zone_of(&t->domains, name) || has_zone_of(&t->external_zones, name);
}

bool zones_overlap(const struct strings *zones, const char *name)
{
    for (const char *zone = NULL; (zone = strings_next(zones, zone));) {
        if (zone_contains(zone, name) || zone_contains(name, zone)) {
            return true;
        }
    }
    return false;
}

bool translation_has_reverse_zone(const struct translation *t, const char *zone)
{
    CLEANUP_BUF struct buf network = buf_of(COREFILE_BYTES_MAX);
    return zone_is_reverse(zone) && zone_network(zone, &network) &&
           strings_has(&t->reverse_zones, buf_cstr(&network));
}

/* ---- Zones ---- */

/* Adds a reverse zone. Reverse names of a zone that is none of a network stay here, too. */
static void add_reverse_zone(const struct plugin_use *use, const char *zone, bool can_transfer)
{
    if (use_falls_through(use, zone)) {
        return;
    }
    CLEANUP_BUF struct buf network = buf_of(COREFILE_BYTES_MAX);
    if (zone_network(zone, &network)) {
        translation_add(use->t, &use->t->reverse_zones, REVERSE_ZONES_MAX, buf_cstr(&network),
                        &use->directive->head);
        translate_zone_transfers(use, zone, can_transfer);
    } else {
        use_note(use, NOTE_MISSING, "a reverse zone is none of a network");
    }
    if (!strings_has(&use->t->reverse_zones, buf_cstr(&network))) {
        translate_keep_zone(use->t, zone);
    }
}

bool zone_is_host_name(const char *zone)
{
    for (size_t n; *zone; zone += n + (zone[n] == '.')) {
        n = strcspn(zone, ".");
        if (!dname_is_host_label(slice_of(zone, n))) {
            return false;
        }
    }
    return true;
}

/* Returns whether the plugin has only imported Services there. */
static bool is_multicluster(const struct plugin_use *use, const char *zone)
{
    const struct corefile_line *line = use_option(use, "multicluster");
    return line && !zone_is_odd(zone) && line_has_zone(line, zone);
}

/* Adds the zone of imported Services, which kube2sky fills beside the cluster's domain. */
static void add_import_domain(const struct plugin_use *use, const char *zone, bool can_transfer)
{
    struct translation *t = use->t;
    const struct corefile_line *line = use_option(use, "multicluster");
    const char *domain = strings_next(&t->domains, NULL);
    if (!domain || zone_contains(domain, zone) || zone_contains(zone, domain) ||
        zones_overlap(&t->external_zones, zone) || !zone_is_host_name(zone)) {
        note_line(
            t, NOTE_NARROWER, line,
            "imported Services have a zone beside the cluster's domain: this one is left out");
    } else if (t->has_imports && !strings_has(&t->domains, zone)) {
        note_line(t, NOTE_NARROWER, line,
                  "imported Services have one zone: the others are left out");
    } else if (!t->has_imports) {
        t->has_imports = true;
        translation_flag(&t->kube2sky, "--multicluster");
        translation_flag(&t->kube2sky, "--multicluster-domain=%s", zone);
        translation_add(t, &t->domains, DOMAINS_MAX, zone, &use->directive->head);
        translate_zone_transfers(use, zone, can_transfer);
    }
}

static void add_domain(const struct plugin_use *use, const char *zone, bool can_transfer)
{
    struct translation *t = use->t;
    const struct corefile_line *head = &use->directive->head;
    if (strcmp(zone, ".") == 0) {
        use_note(use, NOTE_MISSING, "the root is no domain: give -domain the domain's name");
    } else if (is_multicluster(use, zone)) {
        add_import_domain(use, zone, can_transfer);
    } else if (!zone_is_host_name(zone)) {
        use_note(use, NOTE_MISSING, "expected a domain of letters, digits and inner hyphens");
    } else if (zones_overlap(&t->external_zones, zone)) {
        use_note(use, NOTE_MISSING, "it overlaps the zone of k8s_external");
    } else {
        if (!strings_is_empty(&t->domains) && !strings_has(&t->domains, zone)) {
            use_note(use, NOTE_MISSING,
                     "a second domain: each takes a kube2sky of its own, with its --domain, before "
                     "which skydns is not ready");
        }
        translation_add(t, &t->domains, DOMAINS_MAX, zone, head);
        translate_zone_transfers(use, zone, can_transfer);
    }
    if (!strings_has(&t->domains, zone)) {
        translate_keep_zone(t, zone);
    }
}

static void translate_zones_add_zone(const struct plugin_use *use, const char *zone,
                                     bool can_transfer)
{
    if (zone_is_reverse(zone)) {
        add_reverse_zone(use, zone, can_transfer);
    } else {
        add_domain(use, zone, can_transfer);
    }
}

/* Adds the zones after the plugin's name, or else those of the block. A network that ends within an
 * octet is no single zone, and cannot be transferred. */
static void add_zones(const struct plugin_use *use)
{
    CLEANUP_STRINGS struct strings zones = use_zones_kept(use, 1);
    for (const char *zone = NULL; (zone = strings_next(&zones, zone));) {
        if (!is_multicluster(use, zone)) {
            translate_zones_add_zone(use, zone, !zone_is_odd(zone));
        }
    }
    for (const char *zone = NULL; (zone = strings_next(&zones, zone));) { /* beside the others */
        if (is_multicluster(use, zone)) {
            translate_zones_add_zone(use, zone, true);
        }
    }
}

/* Notes a zone that the plugin does not have. */
static void take_multicluster(const struct plugin_use *use, const struct corefile_line *line)
{
    if (!use->t->has_imports) {
        note_line(use->t, NOTE_MISSING, line, "expected one of the plugin's zones");
    }
}

/* ---- kubernetes ---- */

/* Joins with commas the line's words that are right; others are noted. Returns whether there are
 * any. */
static bool join_words(const struct plugin_use *use, const struct corefile_line *line,
                       bool (*is_right)(const char *word), const char *expected, struct buf *out)
{
    for (size_t i = 1; i < line->count; i++) {
        if (is_right(line->words[i])) {
            buf_printf(out, "%s%s", out->len ? "," : "", line->words[i]);
        } else {
            note_line(use->t, NOTE_MISSING, line, expected);
        }
    }
    return out->len > 0;
}

static void translate_zones_take_text(const struct plugin_use *use,
                                      const struct corefile_line *line, const char *flag)
{
    if (line->count == 2) {
        translation_flag(&use->t->kube2sky, "--%s=%s", flag, line->words[1]);
    } else {
        note_line(use->t, NOTE_CLOSING, line,
                  "expected one value: without, the pod's own API server is read");
    }
}

static void translate_zones_take_endpoint(const struct plugin_use *use,
                                          const struct corefile_line *line)
{
    translate_zones_take_text(use, line, "kube-master-url");
}

static void take_kubeconfig(const struct plugin_use *use, const struct corefile_line *line)
{
    if (line->count == 3) {
        translation_flag(&use->t->kube2sky, "--kubecfg-file=%s", line->words[1]);
        note_line(use->t, NOTE_MISSING, line, "make the context the file's current-context");
        return;
    }
    translate_zones_take_text(use, line, "kubecfg-file");
}

static bool is_namespace(const char *word)
{
    return dname_is_host_label(slice_str(word));
}

static void translate_zones_take_namespaces(const struct plugin_use *use,
                                            const struct corefile_line *line)
{
    CLEANUP_BUF struct buf names = buf_of(COREFILE_BYTES_MAX);
    if (join_words(use, line, is_namespace, "expected names of namespaces", &names)) {
        translation_flag(&use->t->kube2sky, "--namespaces=%s", buf_cstr(&names));
    } else {
        note_line(use->t, NOTE_CLOSING, line,
                  "expected names of namespaces: without, all are answered");
    }
}

/* Takes a selector, of namespaces or of Services: the rest of the line is one expression. */
static void take_selector(const struct plugin_use *use, const struct corefile_line *line)
{
    const char *flag = corefile_line_is(line, "labels") ? "label-selector" : "namespace-labels";
    CLEANUP_BUF struct buf selector = buf_of(COREFILE_BYTES_MAX);
    for (size_t i = 1; i < line->count; i++) {
        buf_printf(&selector, "%s%s", i > 1 ? " " : "", line->words[i]);
    }
    if (selector.len) {
        translation_flag(&use->t->kube2sky, "--%s=%s", flag, buf_cstr(&selector));
    } else {
        note_line(use->t, NOTE_CLOSING, line,
                  "expected a selector: without, every Service is answered");
    }
}

/* Returns whether the line says a mode. */
static bool read_pods(const struct corefile_line *line, enum pods_mode *ret_mode)
{
    static const char *const modes[] = {"disabled", "verified", "insecure"};
    for (size_t i = 0; line->count == 2 && i < ARRAY_LEN(modes); i++) {
        if (strcmp(line->words[1], modes[i]) == 0) {
            *ret_mode = (enum pods_mode)i;
            return true;
        }
    }
    return false;
}

/* Notes a line without a mode; the zones were added in the mode that the first line says. */
static void take_pods(const struct plugin_use *use, const struct corefile_line *line)
{
    enum pods_mode ignored;
    if (!read_pods(line, &ignored)) {
        note_line(use->t, NOTE_MISSING, line, "expected disabled, insecure or verified");
    }
}

/* Takes the TTL of records and of denials. CoreDNS allows 0 to 3600; 0 is too small here. */
static void translate_zones_take_ttl(const struct plugin_use *use, const struct corefile_line *line)
{
    int64_t ttl_s;
    if (line->count != 2 || !word_number(line->words[1], INT32_MAX, &ttl_s) || ttl_s > 3600) {
        note_line(use->t, NOTE_MISSING, line, "expected a number from 0 to 3600");
        return;
    }
    if (ttl_s == 0) {
        note_line(use->t, NOTE_MISSING, line, "none: at least 1");
    }
    translation_flag(&use->t->kube2sky, "--ttl=%" PRId64, ttl_s ? ttl_s : 1);
    translation_flag(&use->t->skydns, "-min-ttl=%" PRId64, ttl_s ? ttl_s : 1);
}

static void take_fallthrough(const struct plugin_use *use, const struct corefile_line *line)
{
    bool is_only_reverse = line->count > 1;
    for (size_t i = 1; i < line->count; i++) {
        is_only_reverse &= zone_is_reverse(line->words[i]);
    }
    if (is_only_reverse) {
        note_line(use->t, NOTE_NEEDLESS, line,
                  "reverse names without a record go to the upstreams, unless in -reverse-zones");
    } else {
        note_line(use->t, NOTE_MISSING, line,
                  "none for the domain: its names that do not exist are NXDOMAIN; reverse names go "
                  "to the upstreams");
    }
}

/* Leaves kubernetes out. Its options would be those of another plugin's names: neither has more
 * names than its own say. */
static void leave_out_kubernetes(const struct plugin_use *use)
{
    use_note(use, NOTE_NARROWER,
             "another one has other options: it takes a kube2sky and a skydns of its own");
    CLEANUP_STRINGS struct strings zones = use_zones_kept(use, 1);
    for (const char *zone = NULL; (zone = strings_next(&zones, zone));) {
        if (!use_falls_through(use, zone)) {
            translate_keep_zone(use->t, zone);
        }
    }
}

/* Default of CoreDNS, if no line says it. */
enum { COREDNS_TTL_S = 5 };

void translate_kubernetes(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"endpoint", .take = translate_zones_take_endpoint},
        {"tls", MISSING("put the certificate and its key into a kubeconfig (--kubecfg-file)")},
        {"kubeconfig", .take = take_kubeconfig},
        {"apiserver_qps", NEEDLESS("it lists once, and watches")},
        {"apiserver_burst", NEEDLESS("it lists once, and watches")},
        {"apiserver_max_inflight", NEEDLESS("it lists once, and watches")},
        {"namespaces", .take = translate_zones_take_namespaces},
        {"namespace_labels", .take = take_selector},
        {"labels", .take = take_selector},
        {"pods", .take = take_pods},
        {"endpoint_pod_names", NEEDLESS("--endpoint-names=pod")},
        {"ttl", .take = translate_zones_take_ttl},
        {"noendpoints", CLOSING("headless Services are answered with their endpoints")},
        {"fallthrough", .take = take_fallthrough},
        {"ignore", MISSING("none: a Service without endpoints has its cluster IP")},
        {"multicluster", .take = take_multicluster},
        {"upstream", NEEDLESS("CoreDNS ignores it")},
        {"resyncperiod", NEEDLESS("CoreDNS ignores it")},
        {"transfer", MISSING("none: write it as the plugin transfer")},
        {"zonal", MISSING("none: no names by zone")},
        {"startup_timeout", NEEDLESS("-require-store-key: not ready before everything is there")},
    };
    struct translation *t = use->t;
    if (t->kubernetes && !corefile_lines_equal(t->kubernetes, use->directive)) {
        leave_out_kubernetes(use);
        return;
    }
    const struct corefile_line *pods = use_option(use, "pods");
    if (!pods || !read_pods(pods, &t->pods)) {
        t->pods = PODS_DISABLED;
    }
    add_zones(use);
    t->kubernetes = use->directive;
    if (!use_options(use, options, ARRAY_LEN(options))) {
        use_note(use, NOTE_CLOSING, unknown_options);
    }
    translate_external_zones(use);
    translation_flag(&use->t->kube2sky, "--endpoint-names=%s",
                     use_option(use, "endpoint_pod_names") ? "pod" : "address");
    if (!use_option(use, "ttl")) {
        translation_flag(&use->t->kube2sky, "--ttl=%d", COREDNS_TTL_S);
    }
}

/* ---- etcd ---- */

/* Adds flags for etcd: kube2sky, if there is one, writes where skydns reads. */
static void etcd_flag(struct translation *t, const char *skydns, const char *kube2sky,
                      const char *value)
{
    translation_flag(&t->skydns, "-%s=%s", skydns, value);
    translation_flag(&t->kube2sky, "--%s=%s", kube2sky, value);
}

static void take_path(const struct plugin_use *use, const struct corefile_line *line)
{
    const char *path = line->count == 2 ? line->words[1] : "";
    path += *path == '/';
    if (!*path || strchr(path, '/')) {
        note_line(use->t, NOTE_CLOSING, line,
                  "expected one component: keys are below it, or else below /skydns");
        return;
    }
    translation_flag(&use->t->skydns, "-path-prefix=%s", path);
    use->t->etcd_path = path;
}

static bool is_url(const char *text)
{
    size_t n = strncmp(text, "http://", 7) == 0 ? 7 : strncmp(text, "https://", 8) == 0 ? 8 : 0;
    return n > 0 && text[n] && !strpbrk(text, ", ");
}

static void take_endpoints(const struct plugin_use *use, const struct corefile_line *line)
{
    CLEANUP_BUF struct buf urls = buf_of(COREFILE_BYTES_MAX);
    if (join_words(use, line, is_url, "expected URLs like http://10.0.0.1:2379", &urls)) {
        etcd_flag(use->t, "machines", "etcd-server", buf_cstr(&urls));
    } else {
        note_line(use->t, NOTE_CLOSING, line, "without URLs, an etcd on this host is read");
    }
}

/* Takes the user, not the password: it would be in a terminal's history and in the list of
 * processes. */
static void take_credentials(const struct plugin_use *use, const struct corefile_line *line)
{
    if (line->count != 3 || !*line->words[1]) {
        note_line(use->t, NOTE_MISSING, line, "expected a user and a password");
        return;
    }
    const char *words[] = {line->words[0], line->words[1]};
    const struct corefile_line shown = {.words = words, .count = 2, .number = line->number};
    etcd_flag(use->t, "username", "etcd-username", line->words[1]);
    etcd_flag(use->t, "password-file", "etcd-password-file", "etcd-password");
    note_line(use->t, NOTE_MISSING, &shown, "put the password into the file etcd-password");
}

/* Takes a CA; certificate and key; or all three. */
static void take_etcd_tls(const struct plugin_use *use, const struct corefile_line *line)
{
    size_t files = line->count - 1;
    if (files > 3) {
        note_line(use->t, NOTE_MISSING, line, "expected at most three files");
        return;
    }
    if (files >= 2 && !*line->words[1] != !*line->words[2]) {
        note_line(use->t, NOTE_MISSING, line, "expected a certificate and its key");
        return;
    }
    if (files >= 2) {
        etcd_flag(use->t, "tls-pem", "etcd-certfile", line->words[1]);
        etcd_flag(use->t, "tls-key", "etcd-keyfile", line->words[2]);
    }
    if (files == 1 || files == 3) {
        etcd_flag(use->t, "ca-cert", "etcd-cafile", line->words[files]);
    }
}

void translate_settle_etcd(struct translation *t)
{
    if (t->kubernetes && t->etcd_path && strcmp(t->etcd_path, "skydns") != 0) {
        note_line(t, NOTE_NARROWER, &t->etcd->head,
                  "kube2sky writes below /skydns: the records of both plugins take a skydns each");
    }
}

/* Zones that others know, too, are no domains: their names in etcd come before the nameservers. */
static void add_override_zone(const struct plugin_use *use, const char *zone)
{
    struct translation *t = use->t;
    if (!t->has_overrides) {
        use_note(use, NOTE_MISSING,
                 "-overrides is for all names outside the domains that etcd has, and a record is "
                 "of the name of its key alone, without the first `targetstrip` labels");
    }
    t->has_overrides = true;
    if (!use_falls_through(use, zone)) {
        translate_keep_zone(t, zone);
    }
}

/* Adds the zones of the plugin etcd, which cannot be transferred. */
static void add_etcd_zones(const struct plugin_use *use)
{
    CLEANUP_STRINGS struct strings zones = use_zones_kept(use, 1);
    for (const char *zone = NULL; (zone = strings_next(&zones, zone));) {
        if (!zone_is_reverse(zone) && (strcmp(zone, ".") == 0 || use_falls_through(use, zone))) {
            add_override_zone(use, zone);
        } else {
            translate_zones_add_zone(use, zone, false);
        }
    }
}

void translate_etcd(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"path", .take = take_path},
        {"endpoint", .take = take_endpoints},
        {"credentials", .take = take_credentials},
        {"tls", .take = take_etcd_tls},
        {"fallthrough", NEEDLESS("-overrides: the upstreams have what etcd lacks")},
        {"stubzones", NEEDLESS("CoreDNS ignores it")},
        {"debug", NEEDLESS("CoreDNS ignores it")},
        {"no_apex_fallback", MISSING("none")},
        {"upstream", NEEDLESS("targets are always looked up")},
        {"min-lease-ttl", MISSING("none: a TTL is at most what is left of the lease")},
        {"max-lease-ttl", MISSING("none: a TTL is at most what is left of the lease")},
    };
    struct translation *t = use->t;
    if (t->etcd && !corefile_lines_equal(t->etcd, use->directive)) {
        use_note(use, NOTE_NARROWER, "another one has other keys: it takes a skydns of its own");
        translate_keep(use, 1);
        return;
    }
    t->etcd = use->directive;
    use_note(use, NOTE_MISSING,
             "records without a ttl have 300 s there, 3600 s here: no flag says it, but ttl in the "
             "document");
    add_etcd_zones(use);
    if (!use_options(use, options, ARRAY_LEN(options))) {
        use_note(use, NOTE_CLOSING, unknown_options);
    }
}
