#include "kube2sky/api/kube_object.h"

#include <stdlib.h>
#include <string.h>

#include "kube2sky/api/kube_shape_internal.h"

/* ---- Resource versions ---- */

bool kube_version_is_number(const char *version)
{
    return *version && *version != '0' && !version[strspn(version, "0123456789")];
}

bool kube_version_is_before(const char *version, const char *other)
{
    if (!kube_version_is_number(version) || !kube_version_is_number(other)) {
        return false;
    }
    size_t len = strlen(version), other_len = strlen(other);
    return len != other_len ? len < other_len : strcmp(version, other) < 0;
}

bool kube_version_has_reached(const char *version, const char *wanted)
{
    return version && kube_version_is_number(version) && kube_version_is_number(wanted) &&
           !kube_version_is_before(version, wanted);
}

/* ---- Objects ---- */

void kube_object_free(struct kube_object *object)
{
    free(object);
}

bool kube_kind_is_namespaced(enum kube_kind kind)
{
    return kind != KUBE_NODE && kind != KUBE_NAMESPACE;
}

bool kube_object_has_ended(const struct kube_object *pod)
{
    return strcmp(pod->pod.phase, "Succeeded") == 0 || strcmp(pod->pod.phase, "Failed") == 0;
}

enum kube_kind kube_kind_localized(enum kube_kind kind)
{
    return kind == KUBE_IMPORT ? KUBE_SERVICE : kind == KUBE_IMPORT_SLICE ? KUBE_SLICE : kind;
}

void kube_object_localize(struct kube_object *object)
{
    object->kind = kube_kind_localized(object->kind);
}

const char *kube_object_uid(const struct kube_object *object)
{
    return object->is_garbled             ? ""
           : object->kind == KUBE_SERVICE ? object->service.uid
           : object->kind == KUBE_INGRESS ? object->ingress.uid
           : object->kind == KUBE_ROUTE   ? object->route.uid
                                          : "";
}

bool kube_object_equal(const struct kube_object *a, const struct kube_object *b)
{
    return a->kind == b->kind && a->is_garbled == b->is_garbled && a->is_bare == b->is_bare &&
           strcmp(a->ns, b->ns) == 0 && strcmp(a->name, b->name) == 0 && kube_shape_equal(a, b);
}

/* ---- Results of decoding ---- */

void kube_list_meta_fini(struct kube_list_meta *meta)
{
    free(meta->resource_version);
    free(meta->continue_token);
    *meta = (struct kube_list_meta){0};
}

void kube_event_fini(struct kube_event *event)
{
    kube_object_free(event->object);
    free(event->resource_version);
    *event = (struct kube_event){0};
}

void kube_status_fini(struct kube_status *status)
{
    free(status->message);
    *status = (struct kube_status){0};
}
