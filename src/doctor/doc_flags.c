/* doc_flags.c - see doc_flags.h.  The fast build is the one that ships.  The instrumented build
 * adds debug information and frame pointers for the profiler, and is not stripped.
 * SPDX-License-Identifier: Apache-2.0 */
#include "doctor/doc_flags.h"

#include <stddef.h>

#define C_FAST "-O3 -march=native -flto=auto -DNDEBUG"
#define C_INSTRUMENTED                                                                 \
    "-O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls"
#define RUST_FAST "-C opt-level=3 -C target-cpu=native -C lto=fat -C codegen-units=1"
#define RUST_INSTRUMENTED "-C opt-level=3 -C debuginfo=2 -C force-frame-pointers=yes -C strip=none"

const struct doc_flags doc_flags[] = {
    { "fast", "c", C_FAST, "make CFLAGS='" C_FAST "' CXXFLAGS='" C_FAST "' LDFLAGS='-flto=auto'" },
    { "fast", "rust", RUST_FAST, "rustc " RUST_FAST " main.rs" },
    { "fast", "cmake", "-O3 -march=native, interprocedural optimization",
      "cmake -B build-fast -DCMAKE_BUILD_TYPE=Release \\\n"
      "      -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON \\\n"
      "      -DCMAKE_C_FLAGS=-march=native -DCMAKE_CXX_FLAGS=-march=native\n"
      "cmake --build build-fast" },
    { "fast", "meson", "-O3 -march=native, LTO",
      "meson setup build-fast --buildtype=release -Db_lto=true -Db_ndebug=true \\\n"
      "      -Dc_args=-march=native -Dcpp_args=-march=native\n"
      "meson compile -C build-fast" },
    { "fast", "cargo", RUST_FAST,
      "# Cargo.toml\n[profile.release]\nopt-level = 3\nlto = \"fat\"\ncodegen-units = 1\n\n"
      "RUSTFLAGS='-C target-cpu=native' cargo build --release" },
    { "fast", "pybind11", "-O3 -march=native, LTO",
      "cmake -B build-fast -DCMAKE_BUILD_TYPE=Release \\\n"
      "      -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DCMAKE_CXX_FLAGS=-march=native\n"
      "CFLAGS='-O3 -march=native' pip install .        # with setuptools" },
    { "fast", "pyo3", RUST_FAST, "RUSTFLAGS='-C target-cpu=native' maturin develop --release" },
    { "instrumented", "c", C_INSTRUMENTED,
      "make CFLAGS='" C_INSTRUMENTED "' \\\n     CXXFLAGS='" C_INSTRUMENTED "'" },
    { "instrumented", "rust", RUST_INSTRUMENTED, "rustc " RUST_INSTRUMENTED " main.rs" },
    { "instrumented", "cmake", C_INSTRUMENTED,
      "cmake -B build-prof -DCMAKE_BUILD_TYPE=RelWithDebInfo \\\n"
      "      -DCMAKE_C_FLAGS='-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer' \\\n"
      "      -DCMAKE_CXX_FLAGS='-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'\n"
      "cmake --build build-prof" },
    { "instrumented", "meson", C_INSTRUMENTED,
      "meson setup build-prof --buildtype=debugoptimized \\\n"
      "      -Dc_args=-fno-omit-frame-pointer -Dcpp_args=-fno-omit-frame-pointer\n"
      "meson compile -C build-prof" },
    { "instrumented", "cargo", RUST_INSTRUMENTED,
      "# Cargo.toml\n[profile.profiling]\ninherits = \"release\"\ndebug = 2\nstrip = false\n\n"
      "RUSTFLAGS='-C force-frame-pointers=yes' cargo build --profile profiling" },
    { "instrumented", "pybind11", C_INSTRUMENTED,
      "cmake -B build-prof -DCMAKE_BUILD_TYPE=RelWithDebInfo \\\n"
      "      -DCMAKE_CXX_FLAGS=-fno-omit-frame-pointer\n"
      "CFLAGS='-O2 -g -fno-omit-frame-pointer' pip install .   # with setuptools\n"
      "# pybind11_add_module strips release builds: pass NO_EXTRAS, or build RelWithDebInfo" },
    { "instrumented", "pyo3", RUST_INSTRUMENTED,
      "# Cargo.toml\n[profile.profiling]\ninherits = \"release\"\ndebug = 2\nstrip = false\n\n"
      "RUSTFLAGS='-C force-frame-pointers=yes' maturin develop --profile profiling" },
    { NULL, NULL, NULL, NULL },
};
