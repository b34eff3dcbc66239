#include "kube2sky/naming/config_document.h"

#include <jansson.h>

#include "common/base/json_text.h"

void config_document_begin(struct slice nameservers, struct buf *out)
{
    buf_append_char(out, '{');
    if (nameservers.len) {
        buf_append_str(out, "\"nameservers\":");
        buf_append_slice(out, nameservers);
        buf_append_char(out, ',');
    }
    buf_append_str(out, "\"keys\":[");
}

void config_document_add(struct slice key, struct buf *out)
{
    if (out->len && out->data[out->len - 1] != '[') {
        buf_append_char(out, ',');
    }
    json_text_string(out, key);
}

void config_document_end(struct buf *out)
{
    buf_append_str(out, "]}");
}

static int check_keys(const json_t *keys, struct err *err)
{
    if (keys && !json_is_array(keys)) {
        return err_set(err, ERR_SYNTAX, "keys: expected a list");
    }
    for (size_t i = 0; i < json_array_size(keys); i++) {
        if (!json_is_string(json_array_get(keys, i))) {
            return err_set(err, ERR_SYNTAX, "keys[%zu]: expected a string", i);
        }
    }
    return 0;
}

int config_document_read(struct slice text, void (*fn)(void *data, struct slice key), void *data,
                         struct err *err)
{
    json_error_t why;
    if (text.len > CONFIG_DOCUMENT_MAX) {
        return err_set(err, ERR_TOO_LARGE, "expected at most %d bytes", CONFIG_DOCUMENT_MAX);
    }
    json_t *json = json_loadb(text.len ? text.ptr : "", text.len, 0, &why);
    if (!json_is_object(json)) {
        json_decref(json);
        return err_set(err, ERR_SYNTAX, "expected a JSON object%s%s", json ? "" : ": ",
                       json ? "" : why.text);
    }
    const json_t *keys = json_object_get(json, "keys");
    int rc = check_keys(keys, err);
    for (size_t i = 0; rc == 0 && i < json_array_size(keys); i++) {
        const json_t *key = json_array_get(keys, i);
        fn(data, slice_of(json_string_value(key), json_string_length(key)));
    }
    json_decref(json);
    return rc;
}
