#include "skydns/settings/config_documents.h"

#include "common/etcd/etcd_store_id.h"

char *writer_document_key(const struct dname *domain, const char *name)
{
    char text[DNAME_TEXT_MAX];
    return etcd_writer_key(slice_str(dname_to_text(domain, text)), name);
}
