#!/usr/bin/env python3
"""The size rule: a file of product code has at most 400 lines, a function at most 60. Tables are exempt, by name.

usage: size_rule.py ROOT
       size_rule.py --self-test     plants files that are too long and must find them
"""

import os
import re
import sys
import tempfile

from sources import source_files, without_literals

FOLDERS = ("allocator", "tensor", "stats", "tools", "bench")
FILE_LIMIT = 400
FUNCTION_LIMIT = 60
TABLES = ()  # files that are one table; add with a word why

_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_AFTER_PARAMETERS = re.compile(r"(\)|\b(const|noexcept|override|final|try|mutable|volatile)|[^&]&&?)$")
_CONSTRUCTOR_LIST = re.compile(r"\)\s*(noexcept\s*)?:(?!:)")


def opens_function(head):
    """Whether a brace after `head`, the text since the last statement, opens a function body."""
    head = head.strip()
    if "(" not in head or head.count("(") != head.count(")") or head.endswith("="):
        return False
    if _CONSTRUCTOR_LIST.search(head):
        return head.endswith((")", "}"))
    return bool(_AFTER_PARAMETERS.search(head)) or "->" in head[head.rindex(")"):]


def opens_scope(head):
    return bool(_SCOPE.search(head)) and "(" not in head


def without_preprocessor(text):
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda match: "\n" * match.group(0).count("\n"), text, flags=re.MULTILINE)


def closing(text, opening):
    """Index of the brace that closes the one at `opening`."""
    depth = 0
    for match in re.finditer(r"[{}]", text[opening:]):
        depth += 1 if match.group(0) == "{" else -1
        if depth == 0:
            return opening + match.start()
    return len(text) - 1


def functions(source):
    """(first line, last line, name) of every function body outside of other functions."""
    text = without_preprocessor(without_literals(source))
    start = at = 0  # `start`: where the current statement begins
    while at < len(text):
        char = text[at]
        if char in ";}":
            start = at + 1
        elif char == "{":
            head = text[start:at]
            if opens_function(head):
                end = closing(text, at)
                first = start + len(head) - len(head.lstrip())
                name = re.findall(r"[\w:~]+(?=\s*\()", head)
                yield text.count("\n", 0, first) + 1, text.count("\n", 0, end) + 1, name[0] if name else "?"
                at, start = end, end + 1
            elif opens_scope(head):
                start = at + 1
            else:
                at = closing(text, at)  # an initialiser: the statement goes on
        at += 1


def too_long(root):
    for file in source_files(root, FOLDERS):
        if file in TABLES:
            continue
        with open(os.path.join(root, file), encoding="utf-8") as source:
            text = source.read()
        lines = text.count("\n")
        if lines > FILE_LIMIT:
            yield f"{file}: {lines} lines, the limit is {FILE_LIMIT}"
        for first, last, name in functions(text):
            if last - first + 1 > FUNCTION_LIMIT:
                yield f"{file}:{first}: {name} has {last - first + 1} lines, the limit is {FUNCTION_LIMIT}"


def self_test():
    body = "".join(f"  step({i});\n" for i in range(58))
    planted = {
        "allocator/exact.cpp": ("void f() {\n" + body + "}\n", False),
        "allocator/long.cpp": ("namespace a {\nint Type::f(int a) const {\n  if (a) {\n  }\n" + body + "}\n}\n", True),
        "allocator/member.h": ("class A {\n public:\n  A(int a = {}) : b_{a}, c_(a) {\n  x();\n" + body + "}\n int b_{0};\n};\n", True),
        "allocator/trailing.cpp": ("auto f() -> Result<int> {\n x();\n" + body + "}\n", True),
        "allocator/two.cpp": ("void f() {\n" + body[: len(body) // 2] + "}\nvoid g() {\n" + body + "}\n", False),
        "allocator/table.cpp": ("const Row kRows[] = {\n" + "  {1, [](int a) { return a; }},\n" * 70 + "};\n", False),
        "allocator/braces.cpp": ("void f() {\n  char c = '{'; // {\n  auto s = \"{\";\n}\n" + "int a;\n" * 70, False),
        "allocator/file.cpp": ("int a;\n" * 401, True),
    }
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "allocator"))
        for file, (text, _) in planted.items():
            with open(os.path.join(root, file), "w", encoding="utf-8") as out:
                out.write(text)
        found = {line.split(":")[0] for line in too_long(root)}
    wanted = {file for file, (_, bad) in planted.items() if bad}
    wrong = [f"not found: {file}" for file in sorted(wanted - found)]
    return wrong + [f"found without cause: {file}" for file in sorted(found - wanted)]


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    problems = self_test() if arguments[0] == "--self-test" else list(too_long(arguments[0]))
    print("\n".join(problems) if problems else "the size rule holds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
