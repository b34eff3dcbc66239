"""A question with both answers, and how rules about accepted differences (differential_accepted.py) apply to it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import dns.rdataclass
import dns.rdatatype
from differential_asking import Answer, Question, Record
from differential_outside import data_of
from differential_view import DOMAIN, Place, View

_OWN = (DOMAIN, ".arpa.")


@dataclass(frozen=True)
class Case:
    question: Question
    view: View
    ours: Answer
    theirs: Answer  # CoreDNS's, without the differences found so far

    # ---- The question ----

    @cached_property
    def rdtype(self) -> str:
        return dns.rdatatype.to_text(self.question.rdtype)

    @cached_property
    def place(self) -> Place:
        return self.view.place(self.question.name)

    @cached_property
    def last(self) -> Place:
        """Where the aliases end."""
        return self.view.place(self.view.chain(self.question.name)[-1])

    @property
    def is_inside(self) -> bool:
        return self.place.kind not in ("external", "reverse", "reverse-zone")

    def is_below(self, labels: int, *kinds: str) -> bool:
        """The last name is so many labels below a Service of these kinds, or of any."""
        is_kind = not kinds or self.last.service is not None and self.last.service.kind in kinds
        return self.last.kind == "below" and len(self.last.below) == labels and is_kind

    def is_of_endpoint(self, kind: str) -> bool:
        return self.is_below(1, kind) and self.last.below[0] in {one.label for one in self.last.service.ready}

    # ---- The answers ----

    @property
    def is_of_any_class(self) -> bool:
        return self.question.rdclass == dns.rdataclass.ANY

    @property
    def is_forwarded(self) -> bool:
        return "AA" not in self.ours.flags and not (self.is_of_any_class and self.is_inside)

    def has_room_for(self, records: set[Record]) -> bool:
        """Whether our answer could have these addresses, too; their names are in it already."""
        most = min(1232, max(512, self.question.edns.payload)) if self.question.edns else 512
        return self.question.is_tcp or self.ours.size + sum(28 if ":" in one.data else 16 for one in records) <= most

    @property
    def begins_with_alias(self) -> bool:
        """The name is an ExternalName, and our answer says so."""
        service, name = self.place.service, self.question.name.lower()
        is_alias = self.place.kind == "service" and service is not None and service.kind == "external"
        return is_alias and any((one.owner, one.rdtype) == (name, "CNAME") for one in self.ours.answer)

    def rights(self, name: str, rdtype: str) -> set[Record]:
        """All records that our answer may have, by skydns' own model."""
        _, records = self.view.model(name, rdtype)
        found = {
            Record(owner.lower(), ttl, kind, " ".join(map(str, data)).lower()) for owner, ttl, kind, data in records
        }
        last = self.view.chain(name)[-1]
        return found | {Record(last, 30, rdtype, data) for data in data_of(last, rdtype) if rdtype in ("A", "AAAA")}

    def addresses_of_targets(self) -> set[Record]:
        """All addresses of our SRV and NS records' targets."""
        targets = {one.words()[-1] for one in (*self.ours.of("SRV"), *self.ours.of("NS"))}
        return set().union(*(self.rights(target, kind) for target in targets for kind in ("A", "AAAA")))

    def _is_ours_right(self) -> bool:
        """Records of other domains are the nameserver's, and so is the response code if the name leads there."""
        rcode = self.view.model(self.question.name, self.rdtype)[0]
        want = {one for one in self.rights(self.question.name, self.rdtype) if one.owner.endswith(_OWN)}
        got = {one for one in self.ours.answer if one.owner.endswith(_OWN) and one.rdtype not in ("SOA", "NS")}
        if self.ours.rcode == "SERVFAIL":
            return not self.view.chain(self.question.name)[-1].endswith(DOMAIN)
        is_own = self.is_inside or bool(want)
        if is_own == self.is_forwarded or not set(self.ours.additional) <= self.addresses_of_targets():
            return False
        if not self.view.chain(self.question.name)[-1].endswith(DOMAIN):
            return got == want
        denial = [one.rdtype for one in self.ours.authority]
        is_denial_right = denial == (["SOA"] if not want else []) or want and all(one.rdtype == "CNAME" for one in want)
        is_all = got == want or "TC" in self.ours.flags and got <= want
        return is_all and is_denial_right and self.ours.rcode == rcode

    # ---- What a rule makes of CoreDNS's answer ----

    def with_ours(self) -> Answer | None:
        """Ours, if it is that of skydns' own model: the difference hides CoreDNS's whole answer."""
        return self.with_our_records() if self._is_ours_right() else None

    def with_our_records(self) -> Answer:
        """Ours, but for flags that have nothing to do with what is answered: the rule itself says what is right."""
        taken = {"AA", "TC", "RA"}
        return replace(self.with_ours_unchecked(), flags=self.theirs.flags - taken | self.ours.flags & taken)

    def with_ours_unchecked(self) -> Answer:
        """Ours, where the model has no opinion and the rule itself says what ours must be."""
        ours = self.ours
        sections = {"answer": ours.answer, "authority": ours.authority, "additional": ours.additional}
        return replace(self.theirs, rcode=ours.rcode, flags=ours.flags, **sections)

    def with_records(self, change: Callable[[Record], Record], *sections: str) -> Answer:
        """CoreDNS's with other records in these sections, or in answer and authority."""
        sections = sections or ("answer", "authority")
        made = {name: tuple(sorted(map(change, getattr(self.theirs, name)))) for name in sections}
        return replace(self.theirs, **made)

    def with_srv(self, change: Callable[[list[str], list[str]], list[str]]) -> Answer:
        """CoreDNS's with the words of each SRV changed: theirs, and ours of the same port and target."""
        ours = {(one.owner, *one.words()[2:]): one.words() for one in self.ours.of("SRV")}

        def changed(one: Record) -> Record:
            mine = ours.get((one.owner, *one.words()[2:])) if one.rdtype == "SRV" else None
            return replace(one, data=" ".join(change(one.words(), mine))) if mine else one

        return self.with_records(changed, "answer")


# ---- Rules ----


@dataclass(frozen=True)
class Rule:
    id: str
    row: tuple[str, str, str, str]  # what is asked, skydns, CoreDNS, who is right and why
    without: Callable[[Case], Answer | None]


RULES: list[Rule] = []


def accept(id: str):
    """Makes a rule of a function, whose docstring is the row."""

    def added(function: Callable[[Case], Answer | None]):
        cells = [" ".join(cell.split()) for cell in function.__doc__.split("|")]
        assert len(cells) == 4 and cells[3].startswith(("ours: ", "both: ", "CoreDNS's: ")), id
        RULES.append(Rule(id, tuple(cells), function))
        return function

    return added


def judge(case: Case) -> tuple[list[str], Answer]:
    """The rules that applied, and what is left of CoreDNS's answer: ours, if all is explained."""
    used = []
    for rule in RULES:
        if case.theirs == case.ours:
            break
        changed = rule.without(case)
        if changed is not None and changed != case.theirs:
            case = replace(case, theirs=changed)
            used.append(rule.id)
    return used, case.theirs


def table() -> list[str]:
    """Lines of Markdown."""
    rows = [f"| {rule.id} | {' | '.join(rule.row)} |" for rule in RULES]
    return ["| | query | skydns | CoreDNS | right |", "|---|---|---|---|---|", *rows]
