#!/usr/bin/env python3
"""DLPack both ways with NumPy, through ctypes: zero copy, the same values, every storage let go once.

usage: dlpack_numpy.py LIBRARY      exit 77 (skipped) where there is no NumPy that knows DLPack
"""

import ctypes
import gc
import sys
import weakref

try:
    import numpy
except ImportError:
    numpy = None

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]

NAMES = {False: (b"dltensor", b"used_dltensor"), True: (b"dltensor_versioned", b"used_dltensor_versioned")}
# Our dtypes by number, as far as NumPy has them.
DTYPES = {0: "bool", 1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 8: "float32", 9: "float64"}


def load(path):
    library = ctypes.CDLL(path)
    for form in ("", "_unversioned"):
        getattr(library, "quarry_export" + form).restype = ctypes.c_void_p
        getattr(library, "quarry_delete" + form).argtypes = [ctypes.c_void_p]
        getattr(library, "quarry_total" + form).restype = ctypes.c_double
        getattr(library, "quarry_total" + form).argtypes = [ctypes.c_void_p]
    library.quarry_live_blocks.restype = ctypes.c_ulong
    return library


def knows_versions():
    try:
        capsule = numpy.zeros(1).__dlpack__(max_version=(1, 0))
    except TypeError:
        return False
    return bool(api.PyCapsule_IsValid(capsule, NAMES[True][0]))


class Ours:
    """A tensor of the library, as an object that NumPy may ask for it."""

    def __init__(self, library, dtype, versioned):
        self.library, self.dtype, self.versioned = library, dtype, versioned

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        form = "" if self.versioned else "_unversioned"
        pointer = getattr(self.library, "quarry_export" + form)(self.dtype)
        return api.PyCapsule_New(pointer, NAMES[self.versioned][0], None)


def check_export(library, versioned):
    for number, name in DTYPES.items():
        expected = numpy.arange(12, dtype="int32").reshape(3, 4).astype(name).T[1:]
        array = numpy.from_dlpack(Ours(library, number, versioned))
        assert array.dtype == expected.dtype, (array.dtype, name)
        assert array.shape == expected.shape and array.strides == expected.strides, (array.shape, array.strides)
        assert (array == expected).all(), (name, array)
        assert library.quarry_live_blocks() == 1
        part = array[1:]
        del array
        gc.collect()
        assert library.quarry_live_blocks() == 1, "a view of NumPy's keeps it"
        del part
        gc.collect()
        assert library.quarry_live_blocks() == 0, "the deleter was called"


def check_import(library, versioned):
    total = library.quarry_total if versioned else library.quarry_total_unversioned
    base = numpy.arange(24, dtype="float64").reshape(2, 3, 4)
    for array in (base, base[:, ::-1, 1::2], base.T, numpy.array(5.0), base[:0], base.astype("int16"), base > 3):
        held = array.copy() if array.base is None else array[...]  # an object of its own, to be watched
        expected = float((numpy.arange(1, held.size + 1) * held.ravel()).sum())
        capsule = held.__dlpack__(max_version=(1, 0)) if versioned else held.__dlpack__()
        pointer = api.PyCapsule_GetPointer(capsule, NAMES[versioned][0])
        api.PyCapsule_SetName(capsule, NAMES[versioned][1])
        alive = weakref.ref(held)
        del held
        assert alive() is not None, "the capsule's tensor keeps it"
        got = total(pointer)
        assert got == expected, (got, expected)
        gc.collect()
        assert alive() is None, "the deleter was called"
        del capsule
    if versioned:
        fixed = base.copy()
        fixed.flags.writeable = False
        capsule = fixed.__dlpack__(max_version=(1, 0))
        api.PyCapsule_SetName(capsule, NAMES[True][1])
        assert total(api.PyCapsule_GetPointer(capsule, NAMES[True][1])) == -1, "read-only is refused"


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    if numpy is None or not hasattr(numpy, "from_dlpack"):
        print("no NumPy that knows DLPack: skipped")
        return 77
    library = load(arguments[0])
    forms = [False] + ([True] if knows_versions() else [])
    for versioned in forms:
        check_export(library, versioned)
        check_import(library, versioned)
    print(f"NumPy {numpy.__version__}: {len(forms)} of 2 forms checked, {len(DTYPES)} dtypes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
