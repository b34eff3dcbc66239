"""Kubernetes' protobuf messages: the fields that this server keeps or sends, numbered as in the
generated.proto files of k8s.io/api and k8s.io/apimachinery.

A message is {number: (JSON name, kind)}. Kinds: str, int, bool (left out of JSON when false), "bool" (a
pointer in Go: false differs from absent), a message, [kind] when repeated, "map" of strings,
"int or string", "time".
"""

INT_OR_STRING = {1: ("type", int), 2: ("int", int), 3: ("string", str)}
MAP_ENTRY = {1: ("key", str), 2: ("value", str)}
TIME = {1: ("seconds", int), 2: ("nanos", int)}

TYPE_META = {1: ("apiVersion", str), 2: ("kind", str)}
UNKNOWN = {1: ("typeMeta", TYPE_META), 2: ("raw", bytes), 3: ("contentEncoding", str), 4: ("contentType", str)}
LIST_META = {1: ("selfLink", str), 2: ("resourceVersion", str), 3: ("continue", str), 4: ("remainingItemCount", int)}
OBJECT_META = {
    1: ("name", str),
    2: ("generateName", str),
    3: ("namespace", str),
    5: ("uid", str),
    6: ("resourceVersion", str),
    7: ("generation", int),
    8: ("creationTimestamp", "time"),
    9: ("deletionTimestamp", "time"),
    11: ("labels", "map"),
    12: ("annotations", "map"),
    14: ("finalizers", [str]),
}
_OBJECT_REFERENCE = {
    1: ("kind", str),
    2: ("namespace", str),
    3: ("name", str),
    4: ("uid", str),
    6: ("resourceVersion", str),
}

_STATUS_DETAILS = {1: ("name", str), 2: ("group", str), 3: ("kind", str), 6: ("uid", str)}
STATUS = {
    1: ("metadata", LIST_META),
    2: ("status", str),
    3: ("message", str),
    4: ("reason", str),
    5: ("details", _STATUS_DETAILS),
    6: ("code", int),
}

_SERVICE_PORT = {
    1: ("name", str),
    2: ("protocol", str),
    3: ("port", int),
    4: ("targetPort", "int or string"),
    5: ("nodePort", int),
    6: ("appProtocol", str),
}
_SERVICE_SPEC = {
    1: ("ports", [_SERVICE_PORT]),
    2: ("selector", "map"),
    3: ("clusterIP", str),
    4: ("type", str),
    5: ("externalIPs", [str]),
    7: ("sessionAffinity", str),
    10: ("externalName", str),
    11: ("externalTrafficPolicy", str),
    13: ("publishNotReadyAddresses", bool),
    17: ("ipFamilyPolicy", str),
    18: ("clusterIPs", [str]),
    19: ("ipFamilies", [str]),
    22: ("internalTrafficPolicy", str),
    23: ("trafficDistribution", str),
}
_LOAD_BALANCER_STATUS = {1: ("ingress", [{1: ("ip", str), 2: ("hostname", str), 3: ("ipMode", str)}])}
_SERVICE_STATUS = {1: ("loadBalancer", _LOAD_BALANCER_STATUS)}

_ENDPOINT_ADDRESS = {1: ("ip", str), 2: ("targetRef", _OBJECT_REFERENCE), 3: ("hostname", str), 4: ("nodeName", str)}
_ENDPOINT_PORT = {1: ("name", str), 2: ("port", int), 3: ("protocol", str), 4: ("appProtocol", str)}
_ENDPOINT_SUBSET = {
    1: ("addresses", [_ENDPOINT_ADDRESS]),
    2: ("notReadyAddresses", [_ENDPOINT_ADDRESS]),
    3: ("ports", [_ENDPOINT_PORT]),
}

_ENDPOINT_CONDITIONS = {1: ("ready", "bool"), 2: ("serving", "bool"), 3: ("terminating", "bool")}
_ENDPOINT = {
    1: ("addresses", [str]),
    2: ("conditions", _ENDPOINT_CONDITIONS),
    3: ("hostname", str),
    4: ("targetRef", _OBJECT_REFERENCE),
    5: ("deprecatedTopology", "map"),  # v1beta1: topology
    6: ("nodeName", str),
    7: ("zone", str),  # v1 only
}
_SLICE_PORT = {1: ("name", str), 2: ("protocol", str), 3: ("port", int), 4: ("appProtocol", str)}

_CONTAINER = {1: ("name", str), 2: ("image", str)}
_POD_SPEC = {
    2: ("containers", [_CONTAINER]),
    3: ("restartPolicy", str),
    10: ("nodeName", str),
    11: ("hostNetwork", bool),
    16: ("hostname", str),
    17: ("subdomain", str),
}
_POD_IP = {1: ("ip", str)}
_POD_STATUS = {
    1: ("phase", str),
    3: ("message", str),
    4: ("reason", str),
    5: ("hostIP", str),
    6: ("podIP", str),
    12: ("podIPs", [_POD_IP]),
}

_NODE_SPEC = {1: ("podCIDR", str), 3: ("providerID", str), 4: ("unschedulable", bool)}
_NODE_ADDRESS = {1: ("type", str), 2: ("address", str)}
_NODE_STATUS = {3: ("phase", str), 5: ("addresses", [_NODE_ADDRESS])}

_NAMESPACE_SPEC = {1: ("finalizers", [str])}
_NAMESPACE_STATUS = {1: ("phase", str)}

KINDS = {
    "Namespace": {
        1: ("metadata", OBJECT_META),
        2: ("spec", _NAMESPACE_SPEC),
        3: ("status", _NAMESPACE_STATUS),
    },
    "Node": {1: ("metadata", OBJECT_META), 2: ("spec", _NODE_SPEC), 3: ("status", _NODE_STATUS)},
    "Service": {1: ("metadata", OBJECT_META), 2: ("spec", _SERVICE_SPEC), 3: ("status", _SERVICE_STATUS)},
    "Endpoints": {1: ("metadata", OBJECT_META), 2: ("subsets", [_ENDPOINT_SUBSET])},
    "EndpointSlice": {
        1: ("metadata", OBJECT_META),
        2: ("endpoints", [_ENDPOINT]),
        3: ("ports", [_SLICE_PORT]),
        4: ("addressType", str),
    },
    "ConfigMap": {1: ("metadata", OBJECT_META), 2: ("data", "map")},
    "Pod": {1: ("metadata", OBJECT_META), 2: ("spec", _POD_SPEC), 3: ("status", _POD_STATUS)},
    "Status": STATUS,
}
