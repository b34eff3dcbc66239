"""labelSelector and fieldSelector, compiled to predicates over objects."""

import re
from typing import Callable

from kubeapi.store import Object

Predicate = Callable[[Object], bool]

_SET = re.compile(r"^([^\s!=,()]+)\s+(in|notin)\s+\(([^()]*)\)$")
_EQUAL = re.compile(r"^([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)$")
_EXISTS = re.compile(r"^(!?)\s*([^\s!=,()]+)$")


def compile_selectors(label_selector: str, field_selector: str) -> Predicate | None:
    """None if everything matches; ValueError with a message for a bad selector."""
    tests = [_label_test(part) for part in _split(label_selector)]
    tests += [_field_test(part) for part in _split(field_selector)]
    if not tests:
        return None
    return lambda obj: all(test(obj) for test in tests)


def _split(selector: str) -> list[str]:
    """Splits at commas outside parentheses."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", selector) if part.strip()]


def _label_test(text: str) -> Predicate:
    if match := _SET.match(text):
        name, operator, values = match[1], match[2], {v.strip() for v in match[3].split(",")}
        if operator == "in":
            return lambda o: o.labels.get(name) in values
        return lambda o: o.labels.get(name) not in values
    if match := _EQUAL.match(text):
        name, operator, value = match.groups()
        if operator == "!=":
            return lambda o: o.labels.get(name) != value
        return lambda o: o.labels.get(name) == value
    if match := _EXISTS.match(text):
        is_wanted, name = not match[1], match[2]
        return lambda o: (name in o.labels) == is_wanted
    raise ValueError(f"unable to parse requirement: {text}")


def _field_test(text: str) -> Predicate:
    match = _EQUAL.match(text)
    fields = {"metadata.name": "name", "metadata.namespace": "namespace"}
    if not match or match[1] not in fields:
        raise ValueError(f"field label not supported: {text}")
    attribute, is_equal, value = fields[match[1]], match[2] != "!=", match[3]
    return lambda o: (getattr(o, attribute) == value) == is_equal
