/* Decodes Endpoints and EndpointSlices into the draft, and the ports that Services have, too. A
 * part of kube_content_decode.c. Main thread. */
#ifndef KUBE2SKY_API_KUBE_ENDPOINTS_DECODE_INTERNAL_H
#define KUBE2SKY_API_KUBE_ENDPOINTS_DECODE_INTERNAL_H

#include "kube2sky/api/fields_internal.h"

void kube_endpoints_decode(struct fields_reader *r, const struct fields *object);
void kube_slice_decode(struct fields_reader *r, const struct fields *object);

/* Reads ports, each with a function like the one of Services and slices; leaves out malformed
 * ones. */
const struct kube_port *kube_ports_decode(struct fields_reader *r, const struct fields *at,
                                          uint32_t number, fields_item_fn fn, size_t *ret_count);
bool kube_port_decode(struct fields_reader *r, const struct fields *item, void *element);

#endif
