"""What the checks have in common: which files there are, and what is left of C++ without comments and literals."""

import os
import re

SUFFIXES = (".h", ".cpp", ".cu", ".cuh")


def source_files(root, folders):
    """Paths of C++ files below `folders`, relative to `root`, sorted. Folders that do not exist are left out."""
    found = []
    for folder in folders:
        for directory, _, names in os.walk(os.path.join(root, folder)):
            found += [os.path.relpath(os.path.join(directory, name), root) for name in names if name.endswith(SUFFIXES)]
    return sorted(found)


_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<raw>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*")"""
    r"""|(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.DOTALL,
)


def without_literals(text):
    """The text with comments blank and literals empty; line numbers stay."""

    def blank(match):
        quotes = "" if match.group("comment") else "''" if match.group("char") else '""'
        return quotes + "\n" * match.group(0).count("\n")

    return _TOKEN.sub(blank, text)
