#!/usr/bin/env python3
"""The format rule: every C++ file of the tree is as clang-format leaves it.

Judged by clang-format 14 (Debian 12) only. Version 19 (Debian 13) agrees on nearly all of our code, but breaks a call
with a lambda before its last argument elsewhere, so another version's opinion is printed and ends in exit 77 (skipped).

usage: format_rule.py ROOT [--fix]      --fix rewrites the files instead
       format_rule.py --self-test       plants a file with a wrong indent and must find it
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from sources import source_files

FOLDERS = ("allocator", "tensor", "stats", "tools", "bench", "tests")
JUDGE = 14
SKIPPED = 77


def formatter():
    """(program, major version); the judge if it is there, else whatever is called clang-format, else (None, 0)."""
    program = shutil.which(f"clang-format-{JUDGE}") or shutil.which("clang-format")
    if not program:
        return None, 0
    text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return program, int(re.search(r"version (\d+)", text).group(1))


def run(program, root, *options):
    """The files that are not as `program` leaves them, or none with -i."""
    files = source_files(root, FOLDERS)
    if not files:
        return []
    done = subprocess.run([program, "--style=file", *options, *files], cwd=root, capture_output=True, text=True)
    return sorted({line.split(":")[0] for line in done.stderr.splitlines() if re.match(r"\S+:\d+:\d+: ", line)})


def self_test(program, root):
    with tempfile.TemporaryDirectory() as planted:
        shutil.copy(os.path.join(root, ".clang-format"), planted)
        os.mkdir(os.path.join(planted, "stats"))
        for name, text in (("good.cpp", "int f() { return 1; }\n"), ("bad.cpp", "int f()\n{\n      return 1; }\n")):
            with open(os.path.join(planted, "stats", name), "w", encoding="utf-8") as out:
                out.write(text)
        found = run(program, planted, "--dry-run", "-Werror")
    if found == [os.path.join("stats", "bad.cpp")]:
        return 0
    print(f"found {found}")
    return 1


def main(arguments):
    program, version = formatter()
    if not program:
        print("clang-format is not installed: skipped")
        return SKIPPED
    if arguments == ["--self-test"]:
        return self_test(program, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    if len(arguments) == 2 and arguments[1] == "--fix":
        run(program, arguments[0], "-i")
        return 0
    if len(arguments) != 1:
        sys.exit(__doc__)
    wrong = run(program, arguments[0], "--dry-run", "-Werror")
    if wrong:
        print("\n".join(["not formatted (tools/format.sh does it):", *wrong]))
    if version != JUDGE:
        print(f"clang-format {version} is not the judge, version {JUDGE} is: skipped")
        return SKIPPED
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
