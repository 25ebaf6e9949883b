# The words people type.  Meson and Ninja do the building; tests/run does the testing.
PREFIX ?= /usr/local

all: build/build.ninja
	ninja -C build

build/build.ninja: meson.build meson_options.txt
	@$(MAKE) --no-print-directory configure

# The build lists files by folder, so a new file needs this once.
configure: setup
	@tools/configure build

setup:
	@tools/setup

demo: configure
	@ninja -C build --quiet
	@tools/demo

# SUITE="report wall" runs only these, without the build variants they do not need.
test:
	@tools/setup test
	@tests/run $(SUITE)

# The tests that test shortens, in full: hours, not minutes.
soak:
	@tools/setup test
	@tests/run --soak $(SUITE)

bench:
	@tools/setup "test bench"
	@tools/configure build
	@ninja -C build --quiet
	@$(if $(AGAINST),bench/against $(AGAINST),bench/run) $(BENCH)

fuzz:
	@tools/setup test
	@fuzz/run $(FUZZ)

lint:
	@tools/lint

mutate:
	@tools/setup test
	@tools/mutate $(MUTATE)

install: all
	meson install -C build --destdir "$(DESTDIR)"

clean:
	rm -rf build build-san build-clang build-fuzz build-mutate

.PHONY: all configure setup demo test soak bench fuzz lint mutate install clean
