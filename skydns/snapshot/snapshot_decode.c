#include "skydns/snapshot/snapshot_decode_internal.h"

int snapshot_decode(snapshot_source source, void *data, int64_t now_ms,
                    struct snapshot_content *ret_content, struct err *err)
{
    (void)source;
    (void)data;
    (void)now_ms;
    (void)ret_content;
    return err_set(err, ERR_SYNTAX, "not a snapshot");
}
