#include "skydns/sync/record_value_internal.h"

#include <jansson.h>
#include <string.h>

#include "common/dns/dname.h"

/* ---- Names ---- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

bool record_value_is_name(struct slice text)
{
    bool is_good = text.len <= CLIENT_NAME_MAX;
    for (size_t i = 0; is_good && i < text.len; i++) {
        is_good = is_name_char(text.ptr[i]);
    }
    return is_good;
}

bool record_value_is_namespace(struct slice text)
{
    bool is_good = dname_is_host_label(text);
    for (size_t i = 0; is_good && i < text.len; i++) {
        is_good = text.ptr[i] < 'A' || text.ptr[i] > 'Z';
    }
    return is_good;
}

const char *record_value_refusal(const struct client_description *description)
{
    return !record_value_is_namespace(description->ns) ? "its namespace is none"
           : !record_value_is_name(description->pod)   ? "its pod is no name"
           : !record_value_is_name(description->node)  ? "its node is no name"
           : !record_value_is_name(description->zone)  ? "its zone is no name"
                                                       : NULL;
}

/* ---- As kube2sky writes it ---- */

/* Takes `<start>text"` from the beginning of *rest; false, taking nothing, if it is not there. */
static bool record_value_take(struct slice *rest, const char *start, struct slice *ret_text)
{
    struct slice opening = slice_str(start);
    if (!slice_has_prefix(*rest, opening)) {
        return false;
    }
    const char *text = rest->ptr + opening.len, *end = rest->ptr + rest->len;
    const char *quote = memchr(text, '"', (size_t)(end - text));
    if (!quote) {
        return false;
    }
    *ret_text = slice_of(text, (size_t)(quote - text));
    *rest = slice_of(quote + 1, (size_t)(end - quote - 1));
    return true;
}

/* Returns false for any other form; text with escapes is refused as a name anyway. */
static bool scan_value(struct slice value, struct client_description *ret)
{
    struct slice rest = value;
    bool has_namespace = record_value_take(&rest, "{\"namespace\":\"", &ret->ns);
    (void)record_value_take(&rest, ",\"pod\":\"", &ret->pod);
    (void)record_value_take(&rest, ",\"node\":\"", &ret->node);
    (void)record_value_take(&rest, ",\"zone\":\"", &ret->zone);
    return has_namespace && slice_equal(rest, slice_str("}")) && !record_value_refusal(ret);
}

/* ---- As anybody writes JSON ---- */

static bool take_json_text(const json_t *json, const char *field, struct slice *ret_text)
{
    const json_t *text = json_object_get(json, field);
    if (json_is_string(text)) {
        *ret_text = slice_of(json_string_value(text), json_string_length(text));
    }
    return !text || json_is_string(text);
}

static const char *read_json(struct record_value *ret, struct slice value)
{
    struct client_description *description = &ret->description;
    json_error_t ignored;
    ret->json = json_loadb(value.ptr, value.len, JSON_REJECT_DUPLICATES, &ignored);
    if (!json_is_object(ret->json)) {
        return "no JSON object";
    }
    bool are_texts = take_json_text(ret->json, "namespace", &description->ns) &&
                     take_json_text(ret->json, "pod", &description->pod) &&
                     take_json_text(ret->json, "node", &description->node) &&
                     take_json_text(ret->json, "zone", &description->zone);
    return are_texts ? record_value_refusal(description) : "a field is no string";
}

const char *record_value_read(struct record_value *ret, struct slice value)
{
    static const struct client_description nothing = {
        .ns = {"", 0}, .pod = {"", 0}, .node = {"", 0}, .zone = {"", 0}};
    *ret = (struct record_value){.description = nothing};
    if (value.len > RECORD_VALUE_MAX) {
        return "more than 1,024 bytes";
    }
    if (scan_value(value, &ret->description)) {
        return NULL;
    }
    ret->description = nothing;
    return read_json(ret, value);
}

void record_value_fini(struct record_value *value)
{
    json_decref(value->json);
    value->json = NULL;
}
