# Targets install what they need with apt when run as root on Debian, and say
# exactly what is missing otherwise.
VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo devel)
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
GOBUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)'
SHELL := /bin/bash
# Where `make demo` runs: auto is the lab's own kernel, which it builds first, vm a stock kernel in QEMU. LENGTH=8m ends its day earlier.
WORLD ?= $(if $(filter x86_64,$(shell uname -m)),auto,vm)

.PHONY: help build cross release demo demo-fleet lab-kernel test check test-root test-vm bench fuzz generate web fmt lint clean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

build: ## the static binary, bin/congctl
	@tools/need-go.sh
	$(GOBUILD) -o bin/congctl ./cmd/congctl

cross: ## binaries for amd64, arm64, arm and riscv64, in dist/
	@tools/need-go.sh
	@set -e; for arch in amd64 arm64 arm riscv64; do \
		echo "dist/congctl-linux-$$arch"; \
		GOOS=linux GOARCH=$$arch GOARM=7 $(GOBUILD) -o dist/congctl-linux-$$arch ./cmd/congctl; \
	done

release: ## packages (deb, rpm, apk), binaries, small builds, bills of materials and checksums, in dist/
	@tools/need-go.sh
	tools/release.sh dist

demo: ## a PoP's day on CUBIC, with congctl, and on BBR, in virtual time, about six minutes, no root (docs/demo.md)
ifeq ($(WORLD),vm)
	@tools/need.sh qemu-system-x86:qemu-system-x86_64
	@$(MAKE) --no-print-directory build
else
	@$(MAKE) --no-print-directory lab-kernel || { echo "make demo WORLD=vm needs no such kernel, but QEMU" >&2; exit 1; }
endif
	@rm -rf bin/demo
	bin/congctl lab pop demo --world $(WORLD) --policy cubic,loop,bbr $(if $(LENGTH),--length $(LENGTH)) --out bin/demo --cache "$${CONGCTL_LAB_CACHE:-.cache/lab}"

demo-fleet: ## two PoPs, five agents, Kafka, ClickHouse and two controllers on this machine, five minutes, as root (docs/fleet.md)
	@tools/demo-fleet.sh

lab-kernel: ## the kernel of --world uml, in which the lab runs some ten times faster: four minutes, no root (docs/verb/lab.md)
	@tools/need.sh gcc:gcc libc6-dev:/usr/include/stdio.h make:make flex:flex bison:bison bc:bc patch:patch xz-utils:xz dwarves:pahole python3:python3 libelf-dev:/usr/include/libelf.h
	@$(MAKE) --no-print-directory build
	bin/congctl lab kernel build --cache "$${CONGCTL_LAB_CACHE:-.cache/lab}"

test: ## what a change must not break, in about twelve minutes (QUICK=1: five); as root also the tests against the kernel
	@tools/check.sh $(if $(QUICK),quick,$(if $(ALL),all,test))

check: ## everything that must hold before a change lands: make test, then machines, a Debian, a fresh one
	@tools/check.sh

test-root: ## only the tests that need root
	@[ "$$(id -u)" -eq 0 ] || { echo "make test-root needs root, for network namespaces, cgroups and eBPF: sudo make test-root" >&2; exit 1; }
	@tools/check.sh root

test-vm: ## the kernel tests on a stock Debian kernel in QEMU: five minutes, no root (docs/kernels.md)
	@tools/vm.sh

bench: ## benchmarks of the hot paths, six runs each for benchstat
	@tools/need-go.sh
	@mkdir -p .cache
	CGO_ENABLED=0 go test -run '^$$' -bench . -benchmem -count 6 -p 1 ./... | tee .cache/bench.txt

fuzz: ## each fuzz target on 20,000 inputs, or FUZZ_TIME=10m each (make test runs their seeds)
	@tools/check.sh fuzz

generate: ## eBPF objects and protobuf code from their sources
	@tools/need-go.sh
	@tools/need.sh clang:clang llvm:llvm-strip libbpf-dev:/usr/include/bpf/bpf_helpers.h protobuf-compiler:protoc
	tools/generate.sh

web: ## the dashboard's page from the folder web into internal/web/dist, which is committed
	tools/web.sh

fmt: ## format the Go code
	gofmt -w .

lint: ## gofmt, vet and the shape of the tree
	@tools/check.sh gofmt vet scripts
	CGO_ENABLED=0 go test ./internal/arch

clean: ## remove what was built
	rm -rf bin dist .cache
