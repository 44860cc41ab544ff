# The two commands are `make demo` and `make test`; the others are for those who work on Perjoule.
BUILD ?= build
JOBS ?= $(shell nproc)
RELEASE := $(BUILD)/release
CHECK := $(BUILD)/check

.PHONY: demo test build bench soak web format tidy layers clean

demo: build-demo
	tools/demo $(RELEASE)

test: packages-test build check-build
	ctest --test-dir $(CHECK) --parallel $(JOBS) --output-on-failure

# The release build: the command, the library, the twin's stand-in and the example trainer.
build: packages-demo
	@tools/configure $(RELEASE) -DCMAKE_BUILD_TYPE=Release -DPERJOULE_TESTS=OFF
	@cmake --build $(RELEASE) --parallel $(JOBS)

build-demo: build

# The tests, under the address and undefined-behaviour sanitizers; end-to-end tests drive the release build.
check-build: packages-test
	@tools/configure $(CHECK) -DCMAKE_BUILD_TYPE=Debug -DPERJOULE_SANITIZE=address,undefined \
	  -DPERJOULE_COMMAND=$(abspath $(RELEASE))/perjoule
	@cmake --build $(CHECK) --parallel $(JOBS)

packages-demo:
	@tools/install_packages demo
packages-test:
	@tools/install_packages test
	@tools/install_node $(BUILD)/node
	@PERJOULE_WEB_FOLDER=$(abspath $(BUILD))/web tools/web node || [ $$? -eq 77 ]
packages-bench:
	@tools/install_packages bench

bench: packages-bench
	@tools/configure $(BUILD)/bench -DCMAKE_BUILD_TYPE=Release -DPERJOULE_TESTS=OFF -DPERJOULE_BENCH=ON
	@cmake --build $(BUILD)/bench --parallel $(JOBS)
	tools/bench $(BUILD)/bench

# What is too long for every change, or counts real time: long fuzzing, the pages' speed, and llama.cpp's own server, which is built once.
soak: packages-test build
	tools/fuzz 60
	tools/web test speed
	tools/build_llama_server $(BUILD)/llama $(JOBS)
	PERJOULE_COMMAND=$(abspath $(RELEASE))/perjoule PERJOULE_NODE_FOLDER=$(abspath $(BUILD))/node \
	  /usr/bin/python3 tests/end_to_end/real_engine_test.py

# The pages, which are committed as they are built: needs npm, and is for those who change web/src.
web:
	@PERJOULE_WEB_FOLDER=$(abspath $(BUILD))/web tools/web build

format:
	@tools/format --fix
tidy: check-build
	@tools/tidy $(CHECK) --all
layers:
	@tools/check_layers

clean:
	rm -rf $(BUILD)
