#!/usr/bin/env python3
"""The include rule: tools, bench -> stats, tensor -> allocator -> standard library.

Reads the #include lines of the product code and fails on a breach:
  - a folder includes only itself and the folders below it; stats and tensor do not know each other;
  - of another folder only its public headers (the lists in the folders' CMakeLists.txt);
  - allocator includes no third party at all: the standard library, and POSIX in the files that talk to the system;
  - the CUDA runtime and CUB are for the CUDA part of the tensor, and CUB's header for the benchmark beside it;
  - nothing that a .cu file includes, by whatever way through our headers, is a logging or formatting library.
The tests may include everything.

usage: include_rule.py ROOT PUBLIC_HEADER...     PUBLIC_HEADER as spelled after quarry/, e.g. allocator/allocator.h
       include_rule.py --self-test               plants a breach of each kind and must find it
"""

import os
import re
import sys
import tempfile

from sources import source_files

# Which folders a folder may include, besides itself.
BELOW = {
    "allocator": (),
    "tensor": ("allocator",),
    "stats": ("allocator",),
    "tools": ("stats", "tensor", "allocator"),
    "bench": ("tools", "stats", "tensor", "allocator"),  # benchmarks measure the engines of tools
}

# Private headers that tools may use all the same: replay computes sizes by the very rules of the policy.
ALSO_FOR_TOOLS = ("allocator/heap/pytorch_rules.h",)

# Where the allocator may talk to the system.
POSIX_PLACES = ("allocator/driver/", "allocator/sim/memory")
CUDA_PLACES = ("allocator/driver/cuda.cpp",)
CUDA_RUNTIME = re.compile(r"cuda_runtime(_api)?\.h|(cub|thrust|cuda|cooperative_groups)/.*")
CUDA_RUNTIME_PLACES = ("tensor/kernels.cu", "tensor/device_", "tensor/cuda_", "bench/peers/")
NOT_FOR_KERNELS = re.compile(r"(fmt|spdlog)/.*")

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list fstream functional
future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view strstream
syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
variant vector version
""".split())

POSIX = re.compile(r"(sys|linux)/\w+\.h|(dirent|dlfcn|errno|fcntl|poll|pthread|sched|signal|unistd)\.h")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1), match.group(2)


def own_spelling(name):
    """`quarry/stats/trace.h` and `tools/cases/case.h` -> the path in the tree; None for what is not ours."""
    path = name.removeprefix("quarry/")
    return path if path.split("/")[0] in (*BELOW, "tests") and "/" in path else None


def breach_of_own(folder, path, public):
    target = path.split("/")[0]
    if target == folder:
        return None
    if target not in BELOW[folder]:
        return f"{folder} may not know {target}"
    if target == "tools" or path in public or (folder == "tools" and path in ALSO_FOR_TOOLS):
        return None
    return f"{path} is private to {target}"


def breach_of_foreign(file, name):
    """Third party is free above the allocator but for CUDA; in it there is none."""
    if CUDA_RUNTIME.fullmatch(name) and not file.startswith(CUDA_RUNTIME_PLACES):
        return "the CUDA runtime outside of the CUDA part of the tensor"
    if not file.startswith("allocator/") or name in STANDARD:
        return None
    if POSIX.fullmatch(name):
        return None if file.startswith(POSIX_PLACES) else "POSIX outside of allocator/driver and the memory of the sim"
    if name == "cuda.h":
        return None if file in CUDA_PLACES else "cuda.h outside of allocator/driver/cuda.cpp"
    return "allocator includes the standard library only"


def breach(file, quote, name, public):
    path = own_spelling(name)
    if path:
        return breach_of_own(file.split("/")[0], path, public)
    if quote == '"':
        return "our own headers are spelled from the top: <quarry/stats/trace.h> or \"tools/cases/case.h\""
    return breach_of_foreign(file, name)


def reached(root, file, seen):
    """Every line that `file` includes, its own headers followed: (where, number, name)."""
    for number, _, name in includes(os.path.join(root, file)):
        yield file, number, name
        path = own_spelling(name)
        if path and path not in seen and os.path.isfile(os.path.join(root, path)):
            seen.add(path)
            yield from reached(root, path, seen)


def breaches_of_kernels(root):
    for kernels in (file for file in source_files(root, BELOW) if file.endswith(".cu")):
        for file, number, name in reached(root, kernels, set()):
            if NOT_FOR_KERNELS.fullmatch(name):
                yield f"{file}:{number}: <{name}>: {kernels} includes it"


def breaches(root, public):
    yield from breaches_of_kernels(root)
    for file in source_files(root, BELOW):
        for number, quote, name in includes(os.path.join(root, file)):
            reason = breach(file, quote, name, public)
            if reason:
                yield f"{file}:{number}: <{name}>: {reason}"


def missing(root, public):
    return [f"{header}: listed as public, but there is no such file" for header in public
            if not os.path.isfile(os.path.join(root, header))]


SELF_TEST = {  # file: (line, whether it is a breach)
    "allocator/a.cpp": ("<quarry/stats/trace.h>", True),
    "allocator/b.cpp": ("<fmt/format.h>", True),
    "allocator/c.cpp": ("<nlohmann/json.hpp>", True),
    "allocator/d.cpp": ("<spdlog/spdlog.h>", True),
    "allocator/e.cpp": ("<sys/mman.h>", True),
    "allocator/driver/f.cpp": ("<sys/mman.h>", False),
    "allocator/g.cpp": ("<vector>", False),
    "allocator/heap/h.cpp": ("<quarry/allocator/heap/block.h>", False),
    "allocator/driver/host.cpp": ("<cuda.h>", True),
    "allocator/driver/cuda.cpp": ("<cuda.h>", False),
    "stats/a.cpp": ("<quarry/tensor/tensor.h>", True),
    "stats/b.cpp": ("<quarry/allocator/heap/block.h>", True),
    "stats/c.cpp": ("<quarry/allocator/allocator.h>", False),
    "stats/d.cpp": ('"tools/cases/case.h"', True),
    "stats/e.cpp": ("<fmt/format.h>", False),
    "stats/f.cpp": ('"../tensor/tensor.h"', True),
    "tensor/a.cpp": ("<quarry/stats/trace.h>", True),
    "tensor/b.cpp": ("<cuda_runtime_api.h>", True),
    "tensor/cuda_place.cpp": ("<cuda_runtime_api.h>", False),
    "tensor/kernels.cu": ("<quarry/tensor/device_loop.cuh>", False),
    "tensor/device_loop.cuh": ("<fmt/format.h>", True),
    "tensor/device_reduce.cuh": ("<cub/cub.cuh>", False),
    "stats/g.cpp": ("<thrust/sort.h>", True),
    "tools/cli/a.cpp": ("<quarry/allocator/heap/pytorch_rules.h>", False),
    "tools/cli/b.cpp": ("<quarry/allocator/space.h>", True),
    "tools/cli/c.cpp": ("<quarry/stats/formats/pickle.h>", True),
    "tools/cli/d.cpp": ("<tests/support/oracle.h>", True),
    "tools/cli/e.cpp": ("<bench/replay.h>", True),
    "bench/a.cpp": ("<tools/replay/replay.h>", False),
    "bench/b.cpp": ("<quarry/allocator/heap/pytorch_rules.h>", True),
}


def self_test():
    public = {"allocator/allocator.h", "stats/trace.h", "tensor/tensor.h"}
    with tempfile.TemporaryDirectory() as root:
        for file, (name, _) in SELF_TEST.items():
            path = os.path.join(root, file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(f"#pragma once\n  #  include {name}\n")
        found = {line.split(":")[0] for line in breaches(root, public)}
    wanted = {file for file, (_, bad) in SELF_TEST.items() if bad}
    wrong = [f"not found: {file}" for file in sorted(wanted - found)]
    return wrong + [f"found without cause: {file}" for file in sorted(found - wanted)]


def main(arguments):
    if arguments == ["--self-test"]:
        problems = self_test()
    elif len(arguments) >= 2:
        problems = [*breaches(arguments[0], set(arguments[1:])), *missing(arguments[0], arguments[1:])]
    else:
        sys.exit(__doc__)
    print("\n".join(problems) if problems else "the include rule holds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
