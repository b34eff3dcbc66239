"""tests/support/rooms.py, by which `make lint` checks the layers: it finds the wrong includes planted in each folder
and no other, and a private header that another folder includes. And tests/support/architecture.py: a header that is
another one than ARCHITECTURE.md says.
"""

import shutil

import architecture
import pytest
import rooms


@pytest.fixture
def tree(tmp_path):
    """A copy of the programs' sources."""
    for top in ("common", "skydns", "kube2sky", "exechealthz"):
        shutil.copytree(rooms.ROOT / top, tmp_path / top, ignore=shutil.ignore_patterns("*.scd", "*.service"))
    return tmp_path


def plant(tree, folder, header):
    path = min((tree / folder).glob("*.c"))
    path.write_text(f'#include "{header}"\n' + path.read_text())
    return f'{path.relative_to(tree)}:1: {folder} may not include "{header}"'


def broken(tree):
    return [line for folder in rooms.ROOMS for line in rooms.wrong_includes(tree, folder)]


def test_the_tree_keeps_its_own_rules():
    assert not broken(rooms.ROOT)
    assert not [*rooms.strangers(rooms.ROOT), *rooms.wrong_headers(rooms.ROOT), *rooms.wrong_shape(rooms.ROOT)]


def test_wrong_includes_are_found(tree):
    """In each folder, one header of every folder that this one may not include."""
    headers = {folder: next((tree / folder).glob("*.h")).relative_to(tree) for folder in rooms.ROOMS}
    planted = {}
    for folder in rooms.ROOMS:
        others = [other for other in rooms.ROOMS if other not in rooms.allowed(folder)]
        assert others, folder
        planted[folder] = {plant(tree, folder, str(headers[other])).split(": ", 1)[1] for other in others}
        assert len(planted[folder]) == len(others)
    found = {folder: list(rooms.wrong_includes(tree, folder)) for folder in rooms.ROOMS}
    assert {folder: len(lines) for folder, lines in found.items()} == {f: len(lines) for f, lines in planted.items()}
    assert {folder: {line.split(": ", 1)[1] for line in lines} for folder, lines in found.items()} == planted


def test_a_private_header_is_private(tree):
    plant(tree, "skydns/streams", "skydns/fast/soa_template_internal.h")
    assert list(rooms.wrong_headers(tree)) == [
        "skydns/fast/soa_template_internal.h: private to skydns/fast, yet other folders see it"
    ]


def test_a_header_only_its_folder_sees_is_called_private(tree):
    (tree / "skydns/fast/soa_template_internal.h").rename(tree / "skydns/fast/soa_template.h")
    for path in (tree / "skydns/fast").glob("*.[ch]"):
        path.write_text(path.read_text().replace("fast/soa_template_internal.h", "fast/soa_template.h"))
    assert list(rooms.wrong_headers(tree)) == [
        "skydns/fast/soa_template.h: no other folder sees it: its name should end in _internal.h"
    ]


def test_a_circle_is_found(tree):
    table = {**rooms.ROOMS, "skydns/wire": rooms.ROOMS["skydns/wire"] + " skydns/answer"}
    assert list(rooms.wrong_shape(tree, table)) == [
        "skydns/wire: skydns/answer is not above it in tests/support/rooms.py"
    ]


def test_a_crowded_room_is_found(tree):
    for number in range(rooms.FILES_MOST + 1):
        (tree / f"skydns/udp/more_{number}.c").write_text("int x;\n")
    assert [line.split(",")[1] for line in rooms.wrong_shape(tree)] == [" more than 60"]


def test_a_new_folder_needs_a_line(tree):
    (tree / "skydns/cache").mkdir()
    (tree / "skydns/cache/cache.c").write_text("int x;\n")
    assert list(rooms.strangers(tree)) == ["skydns/cache/cache.c: its folder has no line in tests/support/rooms.py"]


def page():
    return (rooms.ROOT / "ARCHITECTURE.md").read_text()


def test_the_page_is_that_of_the_headers():
    assert not list(architecture.wrong(rooms.ROOT, page()))


def test_a_changed_header_changes_the_page(tree):
    (tree / "skydns/wire/edns.h").write_text("/* Reads EDNS(0); RFC 6891. More. */\n")
    (tree / "skydns/wire/new.c").write_text("/* Makes it new: it\n * was old. */\n")
    wrong = list(architecture.wrong(tree, page()))
    assert wrong == ["ARCHITECTURE.md: its tables of files are not those of the headers; run make architecture"]
    written = architecture.written(tree, page())
    assert not list(architecture.wrong(tree, written))
    assert "| `edns` | Reads EDNS(0); RFC 6891 |\n" in written
    assert "| `new` | Makes it new: it was old |\n" in written


def test_a_first_sentence_is_a_row(tree):
    (tree / "skydns/wire/edns.h").write_text(f"/* {'long ' * 30}(one; two): and so on. */\n")
    (tree / "skydns/wire/new.c").write_text("#include <stdio.h>\n")
    wrong = list(architecture.wrong(tree, architecture.written(tree, page())))
    assert [line.split(": its")[0] for line in wrong] == ["skydns/wire/edns.h", "skydns/wire/new.c"]


def test_details_of_a_long_sentence_are_left_out():
    assert architecture.first_sentence(f"/* Short (as; here): {'long ' * 30}. More. */") == "Short (as; here)"
    assert architecture.first_sentence("/* A. B. */") == "A"
    assert not architecture.first_sentence("#include <stdio.h> /* none */")


def test_each_room_has_its_table():
    text = page().replace("<!-- files of skydns/wire -->", "")
    assert next(architecture.wrong(rooms.ROOT, text)) == "ARCHITECTURE.md: no table of the files of skydns/wire"
