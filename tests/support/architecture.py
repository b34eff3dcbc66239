"""The tables of files in ARCHITECTURE.md: a row for each header, or .c file without one, with the first sentence of
the comment at its top.

    architecture.py --write    writes them between the markers
    architecture.py            prints what is wrong with them; exit status 1 if anything is
    --root DIR                 another tree (for tests)
"""
import argparse
import pathlib
import re
import sys

from rooms import ROOMS, ROOT

ROW_MOST = 110  # characters of a sentence
BLOCK = re.compile(r"<!-- files of (\S+) -->\n.*?<!-- end -->\n", re.DOTALL)


def shortened(sentence):
    """A long one up to the last colon or semicolon outside parentheses that leaves it short enough: details follow."""
    if len(sentence) <= ROW_MOST:
        return sentence
    ends = [match.start() for match in re.finditer(r"[:;](?=\s)", sentence[:ROW_MOST + 1])
            if sentence.count("(", 0, match.start()) == sentence.count(")", 0, match.start())]
    return sentence[:ends[-1]] if ends else sentence


def first_sentence(text):
    """Of the file's first comment."""
    comment = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
    if not comment:
        return ""
    paragraph = re.split(r"\n \*\n", comment[1])[0]
    words = " ".join(re.sub(r"^ \*", "", line).strip() for line in paragraph.splitlines()).strip()
    return shortened(re.split(r"\.(?=\s|$)", words, maxsplit=1)[0].removesuffix(":"))


def files_of(root, room):
    """Headers, and .c files that no header of theirs describes."""
    for path in sorted((root / room).glob("*.[ch]"), key=lambda path: path.name):
        stem = path.name[:-2]
        if path.suffix == ".h" or not any((path.parent / f"{stem}{end}.h").exists() for end in ("", "_internal")):
            public = stem.removesuffix("_internal")
            yield (stem if (path.parent / f"{public}.h").exists() else public), path


def rows(root, room):
    for name, path in files_of(root, room):
        yield name, path, first_sentence(path.read_text())


def table(root, room):
    lines = (f"| `{name}` | {sentence.replace('|', chr(92) + '|')} |\n" for name, _, sentence in rows(root, room))
    return f"<!-- files of {room} -->\n| file | does |\n|---|---|\n{''.join(lines)}<!-- end -->\n"


def written(root, text):
    return BLOCK.sub(lambda block: table(root, block[1]), text)


def wrong(root, text):
    listed = BLOCK.findall(text)
    yield from (f"ARCHITECTURE.md: no table of the files of {room}" for room in ROOMS if room not in listed)
    for room in ROOMS:
        for _, path, sentence in rows(root, room):
            if not 0 < len(sentence) <= ROW_MOST:
                yield (f"{path.relative_to(root)}: its first sentence is a row of ARCHITECTURE.md: "
                       f"{len(sentence)} characters, expected 1 to {ROW_MOST}")
    if written(root, text) != text:
        yield "ARCHITECTURE.md: its tables of files are not those of the headers; run make architecture"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    options = parser.parse_args()
    page = options.root / "ARCHITECTURE.md"
    if options.write:
        page.write_text(written(options.root, page.read_text()))
        return 0
    found = list(wrong(options.root, page.read_text()))
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
