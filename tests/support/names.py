"""Checks names and comments (`make lint`): names.py functions|glossary|comments. Prints what breaks the rule."""
import collections
import json
import re
import subprocess
import sys

PROGRAMS = ("common/", "kube2sky/", "skydns/", "exechealthz/")
TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*', re.S)

# Names that others prescribe: the C library's, which tests replace, the fuzzer's, the allocators'.
APART = re.compile(r"main|test_\w+|LLVMFuzzer\w+|x(malloc|calloc|realloc|recalloc|strdup|strndup|asprintf|vasprintf|reallocarray)|siphash24|__\w+|clock_gettime|flock|time")

# The glossary's right column, where a part of an identifier can say it: part of a name -> what it is called.
GLOSSARY = {
    "foreign": "external, forward or others", "kept": "cached", "asker": "querier or client", "askers": "clients",
    "patience": "timeout", "flight": "transaction or upstream_query", "flights": "transactions",
    "contest": "conflict", "contests": "conflicts", "claimant": "owner_object", "trial": "probe",
    "walk": "scan", "walks": "scans",
}
# "Kept" and "walk" mean other things elsewhere; "in flight" is English for what was sent and not answered.
GLOSSARY_ROOMS = {
    "kept": ("skydns/answer/", "skydns/external/", "skydns/engine/", "skydns/fast/", "skydns/resolver/", "skydns/upstream/"),
    "walk": ("skydns/",), "walks": ("skydns/",),
}
IN_FLIGHT = re.compile(r"(^|_)in_flight(_|$)", re.I)

HIDING = r"\s*(Of|What|Who|Whose|Where|Which|To|As|But)\b"
BEGINNINGS = re.compile(r"^(?:/\*+|//)" + HIDING)
# In docker: a template's comment, or the first line of a block of others.
FIRST_LINES = re.compile(r"\s*(?:#|\{\{-? ?/\*)" + HIDING)


# Macros of tests/support/unit_test.h, which ctags does not read.
MACROS = [f"-D{macro}" for macro in (
    "UNIT_TEST(name)=void test_body(void **state)", "UNIT_TEST_IN(name, set_up, tear_down)=void test_body(void **state)",
    "UNIT_TEST_ON(name, fixture)=void test_body(fixture)", "UNIT_FIXTURE(type, set_up, tear_down)=",
    "UNIT_FIXTURE_MADE(made, tear_down)=", "UNIT_TESTS_EACH(set_up, tear_down)=", "UNIT_TESTS_ONCE(set_up, tear_down)=",
    "CLEANUP_POINTER(release, type)=", "UNIT_TESTS_NEED(missing)=", "UNIT_TESTS_HAVE_THREADS=")]


def tracked(*patterns):
    return subprocess.check_output(["git", "ls-files", *patterns], text=True).split()


def functions():
    """Every function's name occurs once, whatever its linkage, and has more than one word."""
    listed = subprocess.check_output(
        ["ctags", *MACROS, "--languages=C", "--kinds-C=f", "--fields=+n", "-f", "-", "--output-format=json", "-L", "-"],
        input="\n".join(tracked("*.c", "*.h")), text=True)
    places = collections.defaultdict(dict)
    for line in listed.splitlines():
        tag = json.loads(line)
        places[tag["name"]][tag["path"]] = (tag["line"], "static" in tag["pattern"])
    for name, paths in sorted(places.items()):
        if APART.fullmatch(name):
            continue
        first = next(iter(paths))
        if "_" not in name:
            yield f"{first}:{paths[first][0]}: {name} is one word: say what it does to what"
        # A test may bring its own version of a function of a program, to be linked in its place.
        own = [path for path, (_, is_static) in paths.items() if path.startswith(PROGRAMS) or is_static]
        if len(own) > 1 or (not own and len(paths) > 1):
            yield f"{name} is in " + ", ".join(f"{path}:{line}" for path, (line, _) in sorted(paths.items()))


def glossary():
    """No identifier of the programs has a part from the right column of the glossary."""
    for path in tracked("*.c", "*.h"):
        if not path.startswith(PROGRAMS):
            continue
        seen = set()
        with open(path, encoding="utf-8") as file:
            for token in TOKENS.findall(file.read()):
                if token[0] in "/\"'" or token in seen:
                    continue
                seen.add(token)
                for part in IN_FLIGHT.sub("_", token.lower()).split("_"):
                    if part in GLOSSARY and path.startswith(GLOSSARY_ROOMS.get(part, "")):
                        yield f"{path}: {token}: write {GLOSSARY[part]}"


def comments():
    """No comment begins with a word that hides what the thing does."""
    for path in tracked("*.c", "*.h"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for match in TOKENS.finditer(text):
            begins = BEGINNINGS.match(match.group())
            if begins:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: a comment begins with {begins[1]}: {match.group()[:60]!r}"
    for path in tracked("docker"):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for number, (before, line) in enumerate(zip(["", *lines], lines), 1):
            begins = FIRST_LINES.match(line)
            if begins and not before.lstrip().startswith("#"):
                yield f"{path}:{number}: a comment begins with {begins[1]}: {line.strip()[:60]!r}"


RULES = {"functions": functions, "glossary": glossary, "comments": comments}

if __name__ == "__main__":
    broken = list(RULES[sys.argv[1]]())
    print("\n".join(broken), end="\n" if broken else "")
    sys.exit(1 if broken else 0)
