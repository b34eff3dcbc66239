#include "skydns/clients/client_record.h"

#include "skydns/clients/client_index.h"

static struct slice client_name_text(const struct client_name *name)
{
    return name ? slice_of(name->text, name->len) : slice_of("", 0);
}

struct client_description client_record_describe(const struct client_record *record)
{
    return (struct client_description){
        .ns = client_space_label(record->space),
        .pod = slice_of(record->pod, record->pod_len),
        .node = client_name_text(record->node),
        .zone = client_name_text(record->zone),
    };
}
