"""Keys of a zone that CoreDNS's plugin etcd has answered until now, as docs/operator/migrate-from-coredns.md shows them."""

import re

from chapters import blocks, chapter


def put_examples(bed) -> None:
    (lines,) = [lines for lines in blocks(chapter("migrate-from-coredns.md", "Around CoreDNS")) if "etcdctl put" in lines[0]]
    for line in lines:
        key, value = re.fullmatch(r"etcdctl put (\S+) '(.*)'", line).groups()
        bed.etcd.put(key, value)


def test_the_keys_of_external_dns_and_an_apex(bare_bed):
    """A name has its own keys; the zone itself, without -schema=kubernetes, all of those below it."""
    bare_bed.start_etcd()
    put_examples(bare_bed)
    bare_bed.start_skydns("-domain=example.org", "-no-rec", is_waiting=False)
    bare_bed.wait_answers("www.example.org", "A", ["203.0.113.7"])
    assert sorted(bare_bed.dns.answers("example.org")) == ["203.0.113.1", "203.0.113.7"]


def test_an_apex_of_its_own(bare_bed):
    """What the chapter says to do instead: -schema=kubernetes answers no subtree."""
    bare_bed.start_etcd()
    put_examples(bare_bed)
    bare_bed.start_skydns("-domain=example.org", "-no-rec", "-schema=kubernetes", is_waiting=False)
    bare_bed.wait_answers("www.example.org", "A", ["203.0.113.7"])
    assert bare_bed.dns.answers("example.org") == []
