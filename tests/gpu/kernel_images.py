#!/usr/bin/env python3
"""The library has the code it promises: for A100 and H100 as such, and PTX for later GPUs.

usage: kernel_images.py CUOBJDUMP LIBRARY ARCHITECTURE...     as CMAKE_CUDA_ARCHITECTURES names them
"""

import os
import struct
import subprocess
import sys

PROMISED = {"80-real": "sm_80.cubin", "90-real": "sm_90.cubin", "90-virtual": "sm_90.ptx"}


def listed_by(tool, library):
    return "".join(subprocess.run([tool, option, library], capture_output=True, text=True, check=True).stdout
                   for option in ("--list-elf", "--list-ptx"))


def images(library):
    """The same without cuobjdump, which the toolkit's smaller packages lack: the containers nvcc puts into an object, as
    they are found in what CUDA 13.0 writes (no document describes them). A container has a header of 16 bytes (magic, version, header
    size, size of what follows), then images, each with a header: kind, version, header size, size, and at byte 28 the
    architecture."""
    with open(library, "rb") as file:
        data = file.read()
    magic = struct.pack("<I", 0xBA55ED50)
    at = data.find(magic)
    while at >= 0:
        header, size = struct.unpack_from("<HQ", data, at + 6)
        image = at + header
        end = image + size
        while image < end:
            kind, _, skip, length = struct.unpack_from("<HHIQ", data, image)
            architecture, = struct.unpack_from("<I", data, image + 28)
            yield f"sm_{architecture}.{ {1: 'ptx', 2: 'cubin'}.get(kind, kind)}"
            image += skip + length
        at = data.find(magic, end)


def main(arguments):
    if len(arguments) < 3:
        sys.exit(__doc__)
    tool, library, *chosen = arguments
    if set(chosen) != set(PROMISED):
        print(f"skipped: this build is for other GPUs: {' '.join(chosen)}")
        return 77
    listed = listed_by(tool, library) if os.path.exists(tool) else "\n".join(images(library))
    missing = [name for name in PROMISED.values() if name not in listed]
    print(f"missing: {' '.join(missing)} in\n{listed}" if missing else listed)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
