# SPDX-License-Identifier: MIT
"""Builds the package `tessera` from this tree: one wheel for Python 3.11 and later that has libtessera beside the extension module.

libtessera is built by CMake into build/release, or taken from the build folder that TESSERA_BUILD_DIR names, seen from the tree.
"""
import glob
import os
import re
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TREE, os.environ.get("TESSERA_BUILD_DIR") or os.path.join("build", "release"))  # pip runs this in another folder, so relative paths begin at the tree
STAGE = os.path.join(TREE, "build", "python-package")
LIBRARY = "libtessera.so.0"


def version():
    with open(os.path.join(TREE, "include", "tessera", "version.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"#define TSR_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)", file.read()))


def build_library():
    """Builds libtessera alone (no tests, no program), on all cores. `pip install -v` shows CMake's and Ninja's output."""
    lacking = [program for program in ("cmake", "ninja") if not shutil.which(program)]
    if lacking:
        raise SystemExit(f"tessera: {' and '.join(lacking)} not found; scripts/setup python installs what is missing")
    subprocess.check_call(["cmake", "--preset", "release"], cwd=TREE)
    subprocess.check_call(["cmake", "--build", "--preset", "release", "--target", "tessera_shared", "-j", str(os.cpu_count() or 2)], cwd=TREE)


class BuildWithLibrary(build_ext):
    """Builds the extension module, and puts libtessera beside it."""

    def run(self):
        if "TESSERA_BUILD_DIR" not in os.environ:
            build_library()
        super().run()
        shutil.copyfile(os.path.join(BUILD, "lib", LIBRARY), self.library_path())

    def library_path(self):
        return os.path.join(os.path.dirname(self.get_ext_fullpath("tessera._core")), LIBRARY)

    def get_outputs(self):
        """What `pip uninstall` removes where the package `wheel` is missing."""
        return super().get_outputs() + [self.library_path()]


os.makedirs(STAGE, exist_ok=True)
for old in glob.glob(os.path.join(STAGE, "lib*", "tessera", "**", "*.py"), recursive=True):
    os.remove(old)  # else a module that the tree no longer has would stay in the wheel
os.chdir(HERE)
setup(
    name="tessera",
    version=version(),
    description="Tensors on any device, with the names of NumPy and the array API",
    license="MIT",
    python_requires=">=3.11",
    packages=["tessera", "tessera.lib"],
    package_data={"tessera": ["py.typed", "*.pyi"]},
    ext_modules=[
        Extension(
            "tessera._core",
            sorted(glob.glob("src/*.c")),
            depends=sorted(glob.glob("src/*.h") + glob.glob("src/*.inc")),
            include_dirs=[os.path.join(TREE, "include"), os.path.join(TREE, "src")],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=["-std=c17", "-O3", "-g0", "-fvisibility=hidden"],  # as in the release build; Python's own flags are -O2 -g
            extra_link_args=["-L" + os.path.join(BUILD, "lib"), "-ltessera", "-Wl,-rpath,$ORIGIN"],
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": BuildWithLibrary},
    options={
        "build": {"build_base": STAGE},
        "egg_info": {"egg_base": STAGE},
        "bdist_wheel": {"py_limited_api": "cp311"},
    },
    zip_safe=False,
)
