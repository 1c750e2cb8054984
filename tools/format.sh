#!/usr/bin/env bash
# Formats every C++ file of the tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python3 tools/checks/format_rule.py . --fix
