#!/usr/bin/env bash
# Sets up, builds and runs every test but the ones labelled long: first those with several threads under the thread
# sanitizer, then all of them in the dev preset. Ends with ctest's own closing lines.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# ctest counts a skipped test as passed and names it at the very end; the line before its summary says how many.
say_skipped() {
  awk -v folder="$1" '
    /\*\*\*Skipped/ { skipped++ }
    /tests passed, / && skipped {
      printf "%d tests were skipped: named below; ctest --test-dir %s -V -R NAME says why.\n\n", skipped, folder
    }
    { print; fflush() }'
}

tools/setup.sh

echo "test.sh: threads under the thread sanitizer (build/tsan)"
cmake --preset tsan >/dev/null
cmake --build --preset tsan --target quarry_thread_tests
# The thread sanitizer of older compilers cannot place its memory under strong address randomisation.
fixed_addresses=()
if setarch -R true 2>/dev/null; then fixed_addresses=(setarch -R); fi
"${fixed_addresses[@]}" ctest --preset tsan -L '^threads$' | say_skipped build/tsan

echo "test.sh: everything with all checks on (build/dev)"
cmake --preset dev >/dev/null
cmake --build --preset dev
ctest --preset dev | say_skipped build/dev
