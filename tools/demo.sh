#!/usr/bin/env bash
# Sets up, builds, and does the main job once: replays recorded traces of real jobs and compares every address.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target quarry_cli
quarry=build/release/tools/quarry

traces=(tests/data/traces/*.pickle.gz)

echo
echo "\$ quarry info"
"$quarry" info
echo
echo "\$ quarry replay FILE...     (${#traces[@]} recordings of tests/data/traces; every address is compared)"
"$quarry" replay "${traces[@]}"

echo
echo "\$ quarry replay FILE... --policy all --markdown     (F = peak reserved / peak requested of each policy)"
"$quarry" replay "${traces[@]}" --policy all --markdown
