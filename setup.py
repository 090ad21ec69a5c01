"""Builds the one extension, framejit._C, from the C and C++ files in csrc; FRAMEJIT_NO_TORCH=1 leaves tensor checks out."""

import importlib.util
import os
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

import setuptools
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PYTHONS = ((3, 11), (3, 14))  # from, below
TORCHES = ((2, 13), (2, 14))
SETUPTOOLS = (77, 0)
NO_TORCH = os.environ.get("FRAMEJIT_NO_TORCH", "") not in ("", "0")
LANGUAGE_FLAGS = {".c": ["-std=c11"], ".cpp": ["-std=c++17", "-fvisibility-inlines-hidden", "-Wno-c++20-extensions"]}


def stop(message):
    """Ends the build with one line."""
    sys.exit(f"framejit: {message}")


def span(versions):
    """The text of a version range."""
    return f">={'.'.join(map(str, versions[0]))},<{'.'.join(map(str, versions[1]))}"


def check_python():
    """Refuses interpreters whose frames are not known, and what else the build would trip over."""
    if not PYTHONS[0] <= sys.version_info[:2] < PYTHONS[1]:
        stop(f"needs Python {span(PYTHONS)}, this is {sys.version.split()[0]}")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        stop("free-threaded builds of Python are not supported")
    if tuple(int(part) for part in setuptools.__version__.split(".")[:2]) < SETUPTOOLS:
        stop(f"needs setuptools >={SETUPTOOLS[0]}, found {setuptools.__version__}")
    include = sysconfig.get_path("include")
    if not Path(include, "internal", "pycore_frame.h").exists():
        stop(f"the headers of this Python are missing: no internal/pycore_frame.h in {include}")


def torch_settings():
    """Flags, include and library paths of the installed torch, found without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        stop("torch is not installed here; install it and build with `pip install --no-build-isolation .`")
    root = Path(spec.origin).parent
    text = (root / "version.py").read_text()
    version = next(line.split("=")[1].strip(" '\"") for line in text.splitlines() if line.startswith("__version__"))
    if not TORCHES[0] <= tuple(int(part) for part in version.split("+")[0].split(".")[:2]) < TORCHES[1]:
        stop(f"needs torch {span(TORCHES)}, found {version}")
    library = root / "lib"
    return {
        "include_dirs": [str(root / "include"), str(root / "include/torch/csrc/api/include")],
        "library_dirs": [str(library)],
        "libraries": ["torch_python", "torch", "torch_cpu", "c10"],
        "extra_link_args": ["-Wl,-rpath,$ORIGIN/../torch/lib", f"-Wl,-rpath,{library}"],
    }


class BuildExt(build_ext):
    """Compiles files side by side, each with the flags of its language, and only those older than their sources."""

    def build_extension(self, ext):
        """Builds one extension."""
        compiler = (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()[0]
        for program in {compiler, self.compiler.compiler[0]}:
            if shutil.which(program) is None:
                stop(f"no C++ compiler: {program} was not found (set CC and CXX)")
        headers = max(os.path.getmtime(path) for path in [*ext.depends, __file__])

        def compile_one(source):
            suffix = Path(source).suffix
            flags = ext.extra_compile_args + LANGUAGE_FLAGS[suffix]
            (target,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
            fresh = os.path.exists(target) and os.path.getmtime(target) > max(headers, os.path.getmtime(source))
            if self.force or not fresh:
                self.compiler.compile(
                    [source], self.build_temp, macros=ext.define_macros, include_dirs=ext.include_dirs, extra_postargs=flags
                )
            return target

        ext.sources.sort(key=os.path.getsize, reverse=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compile_one, sorted(ext.sources, key=lambda s: "tensor_check" not in s)))
        target = self.get_ext_fullpath(ext.name)
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(
            objects,
            target,
            libraries=ext.libraries,
            library_dirs=ext.library_dirs,
            extra_postargs=ext.extra_link_args,
            target_lang="c++",
            build_temp=self.build_temp,
        )


def extension():
    """The extension with or without torch."""
    settings = {"extra_link_args": []} if NO_TORCH else torch_settings()
    sources = sorted(glob("csrc/*.c") + glob("csrc/*.cpp"))
    if NO_TORCH:
        sources.remove("csrc/tensor_check.cpp")
    include_dirs = ["csrc", *settings.pop("include_dirs", [])]
    return Extension(
        "framejit._C",
        sources,
        depends=glob("csrc/*.h") + glob("csrc/*.def"),
        include_dirs=include_dirs,
        define_macros=[("FJ_NO_TORCH", "1")] if NO_TORCH else [],
        extra_compile_args=["-O2", "-g0", "-fvisibility=hidden", "-Wall", "-Wno-unused-function", "-fno-strict-aliasing"],
        **settings,
    )


if __name__ == "__main__":
    check_python()
    setup(ext_modules=[extension()], cmdclass={"build_ext": BuildExt})
