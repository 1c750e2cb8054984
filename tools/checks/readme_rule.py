#!/usr/bin/env python3
"""README's first C++ block is the program that the consumer test builds, and what its links point to is there.

usage: readme_rule.py ROOT
"""

import os
import re
import sys

PROGRAM = "tests/consumer/first_program.cpp"


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def problems(root):
    text = read(root, "README.md")
    block = re.search(r"^```cpp\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    if not block:
        yield "README.md: no C++ block"
    elif block.group(1) != read(root, PROGRAM):
        yield f"README.md: its first C++ block is not {PROGRAM}"
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        if not os.path.exists(os.path.join(root, target)):
            yield f"README.md: links to {target}, which is not there"


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    found = list(problems(arguments[0]))
    print("\n".join(found) if found else "README agrees with the tree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
