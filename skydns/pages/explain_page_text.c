/* Lays an explanation out for people: a form over its JSON. */
#include "common/live/live_form.h"
#include "skydns/pages/explain_page.h"

#define FIRST(label) "{?+}           {:}" label "{/}"

#define NEAR(title) "{?near}" title "did you mean: {*near}{?+}, {/}{.}{/}\n{/}"

#define SECTION(of, label) "{*" of "}" FIRST(label) "{.}\n{/}"

#define ENTRY                                                                      \
    "{*entry}{?failed}the query has just failed: SERVFAIL, no upstream is queried" \
    "{:}{?negative}NXDOMAIN or NODATA, for {:}for {/}{kept_s|long}, from {from}; " \
    "{??left_s}expires in {left_s|long}"                                           \
    "{:}expired, and used {?failing}because{:}if{/} upstreams fail{/}{/}{/}"

#define CHANGE                                                             \
    "{*change}{?kind=delete}deleted{:}changed{/} {^change_ago_s|long} ago" \
    "{??took_us}, seen by all threads {took_us} us after etcd's event{/}{/}"

/* clang-format off */
static const char page_form[] =
    "{name} {type}: {status}{??answers}, answers: {answers}{?elsewhere} and what upstreams answer{/}{/}"
    "; etcd revision {revision}\n"
    "{*at}past       the answer as of {asked}: revision {revision}"
    "{*mark}, by the mark of {time} (revision {revision}){/}; settings are those of today\n{/}"
    "{??snapshot_age_s}snapshot   answers come from a snapshot of {snapshot_age_s|s} ago\n{/}"
    "{*etcd}{?!connected}etcd       away for {away_s|long}{?reason}: {reason}{/}; "
    "{??age_s}answers come from records of {age_s|long} ago{:}no records have been read yet{/}\n{/}"
    "{??holding_s}etcd       came back without its data or with older data; for "
    "{holding_s|long} answers have come from records that it lacks, too\n{/}{/}"
    "{?incomplete}domain     {domain} is incomplete: names that etcd lacks are SERVFAIL\n{/}"

    "{*client}client     {address}: "
    "{?identity=pod}namespace {namespace}, as the pod {?pod}{pod} {/}with this address"
    "{?node}, on node {node}{/}{?zone}, zone {zone}{/}{:}{identity_text}{/}\n"
    "{?!allowed}limit      its address is in no network of -allow: REFUSED\n"
    "{:}allowed    {?allowed_by}by the network {allowed_by} of -allow"
    "{:}everybody: -allow is not set{/}\n{/}"
    "{??recursion}{?!recursion}limit      its address is in no network of -allow-recursion, or of "
    "its default: REFUSED for external names\n"
    "{:}allowed    for external names: {?recursion_by}by the network {recursion_by} of "
    "-allow-recursion, or of its default{:}-allow-recursion lets everybody{/}\n{/}{/}"
    "{?rate}limit      {rate} UDP queries a second, {burst} at once; none with a cookie of this "
    "server{??left}; {left} are left now{/}\n{/}"
    "{?namespace_rate}limit      {namespace_rate} queries a second for all clients of namespace "
    "{namespace} together, {namespace_burst} at once"
    "{??namespace_left}; {namespace_left} are left now for this one{/}\n{/}"
    "{?near}zone       {near}: {?left_out}{left_out} addresses or targets in other zones are left "
    "out{:}no address is left out: all are in this zone or in none, or none is{/}\n{/}"
    "{*path}" FIRST("search     ") "{#}. {?name}{name} {/}{text}\n{/}"
    "{?hidden}hidden     namespace {hidden}: not the client's, not in -public-namespaces, and its "
    "annotation dns.kube2sky/visible-to, if any, does not name the client's\n{/}{/}"
    "{*search}search     {?assumed}a pod{:}this pod{/} of namespace {namespace} queries these, "
    "until one answers:\n"
    "{*names}           {#}. {name} {text}\n{/}{/}"

    "{?why}why        {why}\n{/}"
    NEAR("similar    ")
    "{?entry}cached     " ENTRY "\n{/}"
    SECTION("answer", "answer     ")
    SECTION("authority", "authority  ")
    SECTION("additional", "additional ")
    "{*serial}serial     {value}: {?hour}the start of the hour, since nobody may transfer the zone"
    "{:}{??base}etcd's revision {revision}, of {?of_base}the base{:}the zone's last change{/}, "
    "above the base {base}{?has_key}, of the key /kube2sky/{domain}/serial"
    "{:}, as no key of kube2sky's has one{/}, and {settings} for the settings"
    "{:}etcd has not said yet above which base serials are counted{/}{/}\n{/}"
    "{*signed}{*keys}{?^+}           {:}" FIRST("signed     ") "{/}"
    "{^name} {^type}, key {tag} of {^zone} (algorithm {algorithm}): "
    "{??expires}until {expires}, {left_s|long} ahead{:}no signature is cached yet{/}\n{/}{/}"

    "{*not_kept}not cached the last response, {ago_s|long} ago from {nameserver}: {reason_text}\n{/}"
    "{?zone}stub zone  {zone}, from the {?zone_from=etcd}keys in etcd{:}{zone_from}{/}"
    "{?zone_falls_back}; on NXDOMAIN{?zone_falls_back=nodata} or NODATA{/} the general upstreams "
    "are queried{/}\n{/}"
    "{*nameservers}" FIRST("upstream   ") "{address}"
    "{?state=ok}{?asked}, up{:}, not queried yet{/}"
    "{:}, {?state=looping}leads back here{:}does not respond{/}"
    "{??since_s} (for {since_s|long}){/}{/}"
    "{??without_edns_s}, queried without EDNS for another {without_edns_s|long}{/}"
    "{??failed_s}, last failed {failed_s|long} ago{/}\n{/}"
    "{*targets}external   {name} {type}: {?source=cache}cached " ENTRY
    "{:}an upstream is queried{?needed}; SERVFAIL if none responds{/}{/}\n{/}"

    "{*names}\n{name}{?host_of} (the host of {host_of}){/}"
    "{?too_large} has more keys than are examined here\n"
    "{:}{?exists} exists; keys at or below it: {key_count}\n"
    "{:} does not exist: no key at or below it\n"
    "{?closest=.}{:}  the last name above it that does is {closest}\n{/}"
    "{?change}  its key was " CHANGE "\n{/}" NEAR("  ") "{/}{/}"
    "{*keys}  {?rule=gave}+{:}-{/} {key} = {host}{?port} port {port}{/}"
    "{?text} text \"{text}\"{/}{?served} served as \"{served}\"{/}{?group} group {group}{/}\n"
    "      revision {revision}{??known_s}, known for {known_s|long}{/}{?change}; " CHANGE "{/}"
    "{?rule=gave}{:}; {rule_text}{?rule=duplicate}{?instead} {instead}{/}{/}{/}\n{/}"
    "{?keys_more}  ... {keys_more} more\n{/}"
    "{*broken}  ! {key}\n      revision {revision}; cannot be used: {reason}\n{/}{/}";
/* clang-format on */

/* Limits the page: more than 16 names with 200 keys each usually have; a page beyond it fails. */
enum { TEXT_JSON_MAX = 64 * 1024 * 1024 };

void explain_page_text(const struct explanation *x, struct buf *out)
{
    struct buf json;
    buf_init(&json, TEXT_JSON_MAX);
    explain_page_put(&(struct explain_page){x, true, &json});
    live_form_page(page_form, &json, out);
}
