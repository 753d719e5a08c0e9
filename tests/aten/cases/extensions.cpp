// case: two files of one sources list
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// file: setup.py
from setuptools import setup
from torch.utils.cpp_extension import CppExtension, CUDAExtension
setup(ext_modules=[CppExtension("m._C", ["csrc/a.cpp", "csrc/b.cpp"])])
// case: two files of one glob
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// file: setup.py
import glob
import os
import torch
from torch.utils.cpp_extension import CppExtension, CUDAExtension
def extensions():
    use_cuda = torch.cuda.is_available()
    extension = CUDAExtension if use_cuda else CppExtension
    this_dir = os.path.dirname(os.path.curdir)
    folder = os.path.join(this_dir, "csrc")
    sources = list(glob.glob(os.path.join(folder, "*.cpp")))
    if use_cuda:
        sources += glob.glob(os.path.join(folder, "cuda", "*.cu"))
    return [extension("m._C", sources)]
// case: two files of one comprehension over names
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// file: setup.py
import pathlib
from torch.utils.cpp_extension import CUDAExtension
HERE = pathlib.Path(__file__).parent
FILES = ["a.cpp", "b.cpp"]
EXT = CUDAExtension(name="m._C", sources=[str(p) for p in [HERE / "csrc" / "a.cpp", HERE / "csrc" / "b.cpp"]])
// case: two files that a script loads together
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// file: m/run.py
import torch
// file: load_m.py
import os
from torch.utils.cpp_extension import load
folder = os.path.join(os.path.dirname(__file__), "csrc")
load(name="m", sources=[os.path.join(folder, s) for s in ("a.cpp", "b.cpp")], is_python_module=False)
// case: two extensions of one script
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: setup.py
from setuptools import setup
from torch.utils.cpp_extension import CppExtension, CUDAExtension
setup(ext_modules=[
    CppExtension("m._C", ["csrc/a.cpp"]),
    CppExtension("m._D", sources=["csrc/b.cpp"]),
])
// case: alternatives of one script
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: setup.py
import os
from torch.utils.cpp_extension import CppExtension, CUDAExtension
if os.environ.get("CPU"):
    sources = ["csrc/a.cpp"]
else:
    sources = ["csrc/b.cpp"]
EXT = CppExtension("m._C", sources)
// case: files that a branch adds
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: setup.py
import os
from torch.utils.cpp_extension import CppExtension
sources = ["csrc/common.cpp"]
if os.environ.get("CPU"):
    sources += ["csrc/a.cpp"]
else:
    sources += ["csrc/b.cpp"]
EXT = CppExtension("m._C", sources)
// case: a glob that is filtered
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: setup.py
import glob
from torch.utils.cpp_extension import CppExtension
sources = [s for s in glob.glob("csrc/*.cpp") if "b" not in s]
EXT = CppExtension("m._C", sources)
// case: a block behind a build flag in a second file
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
#ifdef STABLE
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
#endif
// file: setup.py
from setuptools import setup
from torch.utils.cpp_extension import CppExtension, CUDAExtension
setup(ext_modules=[CppExtension("m._C", ["csrc/a.cpp", "csrc/b.cpp"])])
// case: a fragment in a second file
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY_FRAGMENT(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: setup.py
from setuptools import setup
from torch.utils.cpp_extension import CppExtension, CUDAExtension
setup(ext_modules=[CppExtension("m._C", ["csrc/a.cpp", "csrc/b.cpp"])])
// case: two files without a build in sight
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// case: one extension's name as namespace of two files
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// file: setup.py
from setuptools import setup
from torch.utils.cpp_extension import CppExtension, CUDAExtension
setup(ext_modules=[CppExtension("m._C", ["csrc/a.cpp", "csrc/b.cpp"])])
// case: two files of one CMake target
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// file: CMakeLists.txt
find_package(Torch REQUIRED)
add_library(m SHARED csrc/a.cpp  # the first
            ${CMAKE_CURRENT_SOURCE_DIR}/csrc/b.cpp)
// case: two files of one CMake glob
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// file: csrc/CMakeLists.txt
file(GLOB M_SOURCES CONFIGURE_DEPENDS *.cpp)
add_library(m SHARED ${M_SOURCES})
// case: two files of one CMake variable
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }  // expect: ATN203
// file: CMakeLists.txt
set(M_SOURCES
    "csrc/a.cpp"
    "csrc/b.cpp")
list(APPEND M_SOURCES csrc/c.cpp)
pybind11_add_module(m ${M_SOURCES})
// case: two CMake targets
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: CMakeLists.txt
add_library(m SHARED csrc/a.cpp)
add_library(n SHARED csrc/b.cpp)
// case: a CMake glob that is filtered
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: CMakeLists.txt
file(GLOB M_SOURCES csrc/*.cpp)
list(FILTER M_SOURCES EXCLUDE REGEX "b.cpp")
add_library(m SHARED ${M_SOURCES})
// case: a CMake list of which each file is a target
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: CMakeLists.txt
set(M_SOURCES csrc/a.cpp csrc/b.cpp)
foreach(source ${M_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_library(${name} SHARED ${source})
endforeach()
// case: CMake branches
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: CMakeLists.txt
if(USE_CUDA)
  set(M_SOURCES csrc/a.cpp)
else()
  set(M_SOURCES csrc/b.cpp)
endif()
add_library(m SHARED ${M_SOURCES})
// case: two blocks behind an include guard
#ifndef M1_H
#define M1_H
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }  // expect: ATN203
#endif
// file: b.h
#pragma once
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: setup.py
from torch.utils.cpp_extension import CppExtension
EXT = CppExtension("m._C", ["example.cpp", "b.h"])
// case: a glob of which one file is removed
// file: csrc/a.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("f(Tensor x) -> Tensor", &f); }
// file: csrc/b.cpp
#include <torch/library.h>
static at::Tensor f(const at::Tensor& x) { return x + 1; }
TORCH_LIBRARY(m1, m) { m.def("g(Tensor x) -> Tensor", &f); }
// file: setup.py
import glob
from torch.utils.cpp_extension import CppExtension
sources = glob.glob("csrc/*.cpp")
sources.remove("csrc/b.cpp")
EXT = CppExtension("m._C", sources)
