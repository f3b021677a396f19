# The front door. CMake and Ninja do the work (CMakePresets.json); this names it.
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all demo test peers soak bench metrics install package clean help

all: build/tenure

build/tenure: FORCE
	@tools/setup build
	@test -f build/release/build.ninja || cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >build/configure.log || (cat build/configure.log; false)
	@ninja -C build/release --quiet
	@cp -f build/release/tenure build/tenure

demo: build/tenure
	@python3 tools/demo.py

test:
	@tools/setup test
	@python3 tools/test.py

peers: build/tenure
	@tools/setup test
	@python3 tools/peers.py

soak: build/tenure
	@tools/setup test
	@python3 tools/test.py --soak

bench: build/tenure
	@tools/setup test
	@python3 bench/run.py

metrics: build/tenure
	@tools/setup test
	@python3 tools/metrics.py $(ARGS)

install: build/tenure
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

package: build/tenure
	@cd build/release && cpack -B ../packages

clean:
	rm -rf build/release build/dev build/asan-ubsan build/tsan build/fuzz build/mingw build/bench build/tenure

help:
	@echo "make           build build/tenure (installs missing Debian packages as root)"
	@echo "make demo      build, fetch a few real weights, import them into a demo library"
	@echo "make test      run every test"
	@echo "make peers     compare with the real peers, side by side (downloads gigabytes)"
	@echo "make soak      long fuzzing, kill and load runs"
	@echo "make bench     speed beside safetensors, as ratios"
	@echo "make metrics   what the house measures of itself (docs/quality.md)"
	@echo "make install   PREFIX=/usr/local DESTDIR="
	@echo "make package   build/packages/*.tar.gz and *.deb"

FORCE:
