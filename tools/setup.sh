#!/usr/bin/env bash
# Installs what quarry needs to build and test and is not there yet (Debian packages). Does nothing when all is there.
set -euo pipefail

minimum_cmake=3.25

# A tool counts as there when its command is, whoever installed it; a library when its Debian package is.
tools=(cmake:cmake ninja:ninja-build g++:g++ python3:python3 ccache:ccache clang-format:clang-format)
libraries=(zlib1g-dev libfmt-dev nlohmann-json3-dev libcli11-dev libspdlog-dev
  libgtest-dev libgmock-dev libbenchmark-dev libmimalloc-dev)

die() {
  echo "setup.sh: $*" >&2
  exit 2
}

missing=()
for tool in "${tools[@]}"; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool#*:}")
done
if command -v dpkg-query >/dev/null; then
  for library in "${libraries[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}\n' "$library" 2>/dev/null || true)
    grep -qx installed <<<"$status" || missing+=("$library")
  done
else
  echo "setup.sh: not a Debian system: I cannot see whether these are there: ${libraries[*]}" >&2
fi

if [ "${#missing[@]}" -gt 0 ]; then
  command -v apt-get >/dev/null || die "please install: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "not root, and there is no sudo. As root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  echo "setup.sh: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "setup.sh: everything is there"
fi

cmake_version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
[ "$(printf '%s\n' "$minimum_cmake" "$cmake_version" | sort -V | head -n 1)" = "$minimum_cmake" ] ||
  die "cmake $cmake_version is too old, $minimum_cmake is needed (Debian 12 has it; so has: pip install cmake)"
