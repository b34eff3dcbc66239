"""JSON merge patch (RFC 7386), and the strategic merge patches that kubectl sends for the resources served."""

# List field -> the field that identifies an element. Lists not named here are replaced as a whole.
_MERGE_KEYS = {"ports": ("port", "containerPort"), "containers": ("name",), "conditions": ("type",), "podIPs": ("ip",)}


def merge(target, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def strategic_merge(target, patch):
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {k: v for k, v in patch.items() if k != "$patch"}
    result = dict(target) if isinstance(target, dict) else {}
    if "$retainKeys" in patch:
        result = {k: v for k, v in result.items() if k in patch["$retainKeys"]}
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None:
            result.pop(name, None)
        elif isinstance(value, list) and name in _MERGE_KEYS:
            order = patch.get("$setElementOrder/" + name)
            result[name] = _merge_list(result.get(name) or [], value, order, _MERGE_KEYS[name])
        else:
            result[name] = strategic_merge(result.get(name), value)
    return result


def _merge_list(target: list, patch: list, order: list | None, keys: tuple[str, ...]) -> list:
    def identity(element):
        return next((element[k] for k in keys if isinstance(element, dict) and k in element), None)

    merged = {identity(element): element for element in target}
    for element in patch:
        mark = identity(element)
        directive = element.get("$patch") if isinstance(element, dict) else None
        if directive == "delete":
            merged.pop(mark, None)
        elif directive == "replace":
            if mark is None:
                merged = {}
            else:
                merged[mark] = {k: v for k, v in element.items() if k != "$patch"}
        else:
            merged[mark] = strategic_merge(merged.get(mark), element)
    if order is None:
        return list(merged.values())
    places = {identity(element): place for place, element in enumerate(order)}
    return sorted(merged.values(), key=lambda e: places.get(identity(e), len(places)))
