# One makefile, no recursion. `make help` lists the targets, CONTRIBUTING.md explains them.

VARIANT ?= release
VARIANTS := release debug asan tsan cov fuzz
ifeq ($(filter $(VARIANT),$(VARIANTS)),)
$(error VARIANT=$(VARIANT): expected one of $(VARIANTS))
endif

BUILD   ?= build
B       := $(BUILD)/$(VARIANT)
# What a fuzz build looks for besides failed checks: empty, or undefined alone, for long runs.
FUZZ_SANITIZE ?= address,undefined
ifeq ($(VARIANT),fuzz)
ifneq ($(FUZZ_SANITIZE),address,undefined)
B       := $(BUILD)/fuzz-$(or $(FUZZ_SANITIZE),bare)
endif
endif
PREFIX  ?= /usr/local
PACKAGE := kube2sky-skydns
PYTHON  ?= /usr/bin/python3
CLANG_FORMAT ?= clang-format
ifeq ($(VARIANT),fuzz)
CC      := clang
else ifeq ($(origin CC),default)
CC      := gcc
endif
# Those of the compiler's target: CC=aarch64-linux-gnu-gcc PKG_CONFIG=aarch64-linux-gnu-pkg-config builds for arm64.
PKG_CONFIG ?= pkg-config
ifeq ($(origin AR),default)
AR      := $(if $(filter %-gcc,$(CC)),$(CC:gcc=ar),ar)
endif
# Where they are installed: objects come from a cache that all checkouts share, and tests are linked in half the time.
CCACHE  ?= $(shell command -v ccache)
export CCACHE_NOHASHDIR ?= 1
export CCACHE_SLOPPINESS ?= locale
LLD     := $(if $(shell command -v ld.lld),-fuse-ld=lld)
comma   := ,
V       ?= 0
ifeq ($(V),0)
Q       := @
say      = @printf '  %-6s %s\n' $(1) $(2)
else
Q       :=
say      = @:
endif

# ---- Flags: ours first; the user's CPPFLAGS, CFLAGS and LDFLAGS come last and are never overwritten ----

PKGS         := libnghttp2 libprotobuf-c jansson libcurl openssl yaml-0.1 libseccomp libxxhash libfstrm ldns
HAVE_PKGS    := $(shell $(PKG_CONFIG) --exists $(PKGS) 2>/dev/null && echo yes)
PKG_CFLAGS   := $(if $(HAVE_PKGS),$(shell $(PKG_CONFIG) --cflags $(PKGS)))
LIBS_common  := $(if $(HAVE_PKGS),$(shell $(PKG_CONFIG) --libs libnghttp2 libprotobuf-c openssl jansson ldns)) -lev -lm
LIBS_kube2sky := $(if $(HAVE_PKGS),$(shell $(PKG_CONFIG) --libs libcurl yaml-0.1)) $(LIBS_common)
LIBS_skydns  := $(if $(HAVE_PKGS),$(shell $(PKG_CONFIG) --libs libseccomp libxxhash libfstrm)) $(LIBS_common)
LIBS_exechealthz := $(LIBS_common)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla \
            -Wpointer-arith -Wwrite-strings -Wcast-qual -Werror=switch
ifeq ($(WERROR),1)
WARNINGS += -Werror
endif

# Debian's flags, and paths as from here: where ccache is, packages are made of the objects of a release build.
FLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -ffile-prefix-map=$(CURDIR)=.
FLAGS_debug   := -O0 -g3
# Reports need functions and lines, which -g1 has, inlined ones too: a fifth less to compile. CFLAGS=-g for a debugger.
FLAGS_asan    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
FLAGS_tsan    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread
FLAGS_cov     := $(filter-out -g -ffile-prefix-map=%,$(FLAGS_release)) --coverage
FLAGS_fuzz    := -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link $(if $(filter address%,$(FUZZ_SANITIZE)), \
                 -O1 -fsanitize=$(FUZZ_SANITIZE) -fno-sanitize-recover=undefined, \
                 -O2 $(addprefix -fsanitize=,$(FUZZ_SANITIZE)) $(addprefix -fsanitize-trap=,$(FUZZ_SANITIZE)))

ALL_CPPFLAGS := -D_GNU_SOURCE -I. -I$(B)/proto $(PKG_CFLAGS) $(CPPFLAGS)
ALL_CFLAGS   := -std=gnu11 -pthread -fPIE $(WARNINGS) $(FLAGS_$(VARIANT)) $(CFLAGS)
ALL_LDFLAGS  := -pthread -pie -Wl,--as-needed $(FLAGS_$(VARIANT)) $(LDFLAGS)

# ---- Sources: a new file in a folder is built without a change here ----

PROGRAMS   := kube2sky skydns exechealthz
PROTOS     := $(wildcard proto/*.proto)
PROTO_C    := $(PROTOS:proto/%.proto=$(B)/proto/%.pb-c.c)
PROTO_O    := $(PROTO_C:.c=.o)
objects     = $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c,$(wildcard $(1)/*.c $(1)/*/*.c)))
SUPPORT_O  := $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/*.c))
UNIT_SRC   := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)
UNIT       := $(UNIT_SRC:tests/%.c=$(B)/tests/%)
FUZZ_SRC   := $(wildcard tests/fuzz/*/fuzz_*.c)
FUZZ       := $(FUZZ_SRC:tests/%.c=$(B)/tests/%)
BINARIES   := $(PROGRAMS:%=$(B)/bin/%) $(B)/bin/corefile-to-skydns
# The programs of tests/bench/answers; its other files are linked into each of them.
ANSWERS_BIN := $(addprefix $(B)/tests/bench/answers/,bare_udp bare_tcp bare_tls load_udp load_tcp load_tls burst_udp propagation)
ANSWERS_O   := $(filter-out $(ANSWERS_BIN:=.o),$(patsubst %.c,$(B)/%.o,$(wildcard tests/bench/answers/*.c)))
START_BIN  := $(B)/tests/bench/start/bench_start
INSTRUCTIONS_BIN := $(B)/tests/bench/instructions/bench_instructions $(B)/tests/bench/kube2sky/bench_decode
BENCH_STORE := $(B)/tests/bench/kube2sky/bench_store
NODES_BIN   := $(B)/tests/bench/nodes/bench_nodes
PRODUCT_C  := $(wildcard $(foreach d,common $(PROGRAMS),$(d)/*.[ch] $(d)/*/*.[ch]))
C_FILES    := $(PRODUCT_C) $(wildcard $(foreach d,*/* */*/* */*/*/*,tests/$(d).[ch]))
MAN        := $(patsubst %.scd,$(B)/man/%,$(notdir $(wildcard $(PROGRAMS:%=%/*.scd))))

.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all programs unit threads objects deps deps-bench run one asan-kube2sky check check-all check-unit for-integration check-integration check-faults check-rounds check-tsan check-pod check-page check-cluster peers previous manifests check-recorded screenshots coverage images fuzz fuzz-run bench bench-readme bench-etcd bench-readers bench-kube2sky bench-scale bench-pipeline bench-start bench-updates bench-clients bench-pod bench-churn bench-cache-hits bench-attack bench-fair bench-memory bench-node-memory bench-node-readers bench-node-local bench-clients-flood bench-search-paths bench-instructions bench-transfer bench-watching profile analyze analyzed lint architecture format install uninstall dist deb release release-check release-verify clean help tests FORCE

all: $(BINARIES) $(MAN)
programs: $(BINARIES)
unit: $(UNIT) $(FUZZ)
threads: $(patsubst tests/%.c,$(B)/tests/%,$(shell grep -l '^UNIT_TESTS_HAVE_THREADS' $(UNIT_SRC)))
tests: all unit $(ANSWERS_BIN) $(START_BIN) $(BENCH_STORE) $(NODES_BIN)
objects: $(patsubst %.c,$(B)/%.o,$(filter %.c,$(C_FILES))) $(PROTO_O)

# A change of compiler or flags rebuilds everything: the stamp gets a new time only when its content changes.
$(B)/.flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC)' '$(ALL_CPPFLAGS)' '$(ALL_CFLAGS)' '$(ALL_LDFLAGS)' >$@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@

DEFINES_common/base/version := -DPROJECT_VERSION='"$(shell cat VERSION)"'
$(B)/common/base/version.o: VERSION

$(B)/%.o: %.c $(B)/.flags | $(PROTO_C)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(ALL_CPPFLAGS) $(DEFINES_$*) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# A type of record that a switch forgets does not compile, even where it has a default (records/rr.h).
$(B)/skydns/%.o: ALL_CFLAGS += -Werror=switch-enum

# How each file is compiled, for clangd and clang-tidy; the headers made from proto/ come with it.
json = "$(subst ",\",$(subst \,\\,$(1)))"
define compile_command
 {"directory": $(call json,$(CURDIR)), "file": "$(1).c",
  "command": $(call json,$(CC) $(ALL_CPPFLAGS) $(DEFINES_$(1)) $(ALL_CFLAGS) -c $(1).c -o $(B)/$(1).o)}
endef
compile_commands.json: FORCE | $(PROTO_C)
	@$(file >$@.new,[$(subst } {,}$(comma) {,$(strip $(foreach c,$(filter %.c,$(C_FILES)),$(call compile_command,$(c:.c=)))))])
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@

# Generated by protoc-c: not our code, so no warnings.
$(B)/proto/%.pb-c.c: proto/%.proto $(B)/.flags
	$(call say,PROTO,$<)
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=proto --c_out=$(@D) $<
$(B)/proto/%.pb-c.o: $(B)/proto/%.pb-c.c $(B)/.flags | $(PROTO_C)
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -w -MMD -MP -c $< -o $@

# The page of each program that has one: its folder `page` within the frame that all share, in one document.
PAGES  := $(patsubst %/page/index.html,%,$(wildcard $(PROGRAMS:%=%/page/index.html)))
PAGE_O  = $(patsubst %,$(B)/%/page/page.o,$(filter $(1),$(PAGES)))
SHARED_PAGE := $(sort $(wildcard common/page/*.css common/page/*.js))
define page_rule
PAGE_FILES_$(1) := $(SHARED_PAGE) $(sort $(wildcard $(addprefix $(1)/page/*.,css html js svg)))
$(B)/$(1)/page/page.c: common/page/build common/page/frame.html $$(PAGE_FILES_$(1)) $(B)/.flags
	$$(call say,PAGE,$(1)/page)
	@mkdir -p $$(@D)
	$$(Q)common/page/build $(1) common/page/frame.html $$(PAGE_FILES_$(1)) >$$@
$(B)/$(1)/page/page.o: $(B)/$(1)/page/page.c
	$$(call say,CC,$$<)
	$$(Q)$$(CC) $$(ALL_CPPFLAGS) $$(ALL_CFLAGS) -MMD -MP -c $$< -o $$@
endef
$(foreach p,$(PAGES),$(eval $(call page_rule,$(p))))

define archive
$(B)/lib$(1).a: $(call objects,$(1)) $(2)
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^
endef
$(eval $(call archive,common,$(PROTO_O)))
$(foreach p,$(PROGRAMS),$(eval $(call archive,$(p),$(call PAGE_O,$(p)))))

define program
$(B)/bin/$(1): $(B)/$(1)/main.o $(B)/lib$(1).a $(B)/libcommon.a
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) $$^ $$(LIBS_$(1)) -o $$@
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))
$(B)/bin/corefile-to-skydns: $(B)/skydns/corefile/main.o $(B)/libskydns.a $(B)/libcommon.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_common) -o $@

# tests/unit/<component>/test_x.c and tests/fuzz/<component>/fuzz_x.c link that component and common,
# and tests/support/<component>/; a fuzz target only what it uses of that, and no cmocka.
support_o   = $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/$(1)/*.c))
define component_tests
$(B)/tests/support/lib$(1).a: $(call support_o,$(1))
	@mkdir -p $$(@D) && rm -f $$@ && $$(AR) rcs $$@ $$^
$(B)/tests/unit/$(1)/%: $(B)/tests/unit/$(1)/%.o $(SUPPORT_O) $(call support_o,$(1)) $(2) $(B)/libcommon.a
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) $(LLD) -Wl,--wrap=pthread_create $$^ -lcmocka $$(LIBS_$(1)) $(LIBS_kube2sky) -o $$@
$(B)/tests/fuzz/$(1)/%: $(B)/tests/fuzz/$(1)/%.o $(if $(filter fuzz,$(VARIANT)),,$(B)/tests/fuzz/replay.o) $(B)/tests/support/lib$(1).a $(2) $(B)/libcommon.a
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) $(LLD) $(if $(filter fuzz,$(VARIANT)),-fsanitize=fuzzer) $$^ $$(LIBS_$(1)) -o $$@
endef
$(eval $(call component_tests,common,))
$(foreach p,$(PROGRAMS),$(eval $(call component_tests,$(p),$(B)/lib$(p).a)))

$(B)/tests/bench/search_paths/bench_search_paths $(B)/tests/bench/transfer/bench_transfer: %: %.o $(B)/tests/support/libskydns.a $(B)/libskydns.a $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_skydns) -o $@
$(B)/tests/bench/cache_hits/%: $(B)/tests/bench/cache_hits/%.o $(B)/libskydns.a $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_skydns) -o $@
$(B)/tests/bench/kube2sky/%: $(B)/tests/bench/kube2sky/%.o $(B)/libkube2sky.a $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_kube2sky) -o $@
$(B)/tests/bench/pipeline/%: $(B)/tests/bench/pipeline/%.o $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_common) -o $@
$(B)/tests/bench/start/%: $(B)/tests/bench/start/%.o $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_common) -o $@
$(B)/tests/bench/readers/%: $(B)/tests/bench/readers/%.o $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_common) -o $@
# It learns of each version that is published.
$(B)/tests/bench/nodes/%: $(B)/tests/bench/nodes/%.o $(B)/libskydns.a $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -Wl,--wrap=publisher_publish $^ $(LIBS_skydns) -o $@
$(B)/tests/bench/etcd/%: $(B)/tests/bench/etcd/%.o $(B)/libkube2sky.a $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_kube2sky) -o $@
# Its hooks replace these calls of skydns (tests/bench/updates/hooks.h).
UPDATES_WRAPPED := recvmmsg sendmmsg publisher_enter store_garbage_free store_pool_alloc malloc calloc realloc \
                   sched_setscheduler
UPDATES_O := $(patsubst %.c,$(B)/%.o,$(wildcard tests/bench/updates/*.c)) \
             $(patsubst %,$(B)/tests/support/skydns/%.o,questions services)
$(B)/tests/bench/updates/bench_updates: $(UPDATES_O) $(B)/libskydns.a $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(UPDATES_WRAPPED:%=-Wl,--wrap=%) $^ $(LIBS_skydns) -o $@

# tests/bench/instructions/feed.c is what these calls reach.
INSTRUCTIONS_WRAPPED := recvmmsg sendmmsg getrandom clock_gettime resolver_defer
$(firstword $(INSTRUCTIONS_BIN)): $(patsubst %.c,$(B)/%.o,$(wildcard tests/bench/instructions/*.c)) $(B)/tests/support/libskydns.a $(B)/libskydns.a $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(INSTRUCTIONS_WRAPPED:%=-Wl,--wrap=%) $^ $(LIBS_skydns) -o $@

$(ANSWERS_BIN): %: %.o $(ANSWERS_O) $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_common) -o $@

$(B)/man/%: $(wildcard $(PROGRAMS:%=%/*.scd))
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)scdoc <$(filter %/$*.scd,$^) >$@

# ---- Targets to call ----

deps:
	@tests/support/deps check

# Also the servers that `make bench` compares against, and perf.
deps-bench:
	@tests/support/deps check bench

# Installs less than `make check`: a compiler, the libraries, etcd and client tools.
run:
	@tests/support/deps
	@$(MAKE) --no-print-directory all
	@$(PYTHON) tests/support/run.py --bin $(B)/bin

# SHARE=release and SHARE=asan leave out what the other one does (.ci/run): release builds no unit programs, since none
# of its own runs.
SHARE ?=
check: deps
	@$(MAKE) --no-print-directory $(if $(filter release,$(SHARE)),for-integration,tests) $(INSTRUCTIONS_BIN)
	@$(PYTHON) tests/support/check.py --build $(B) $(SHARE:%=--share %)

# Everything, for a release and before a large change is called done: over an hour.
check-all:
	@.ci/run --all

# Today's Kubernetes, etcd and CoreDNS, from Go modules, for check-cluster and bench: a quarter of an hour, once.
peers:
	@tests/peers/build

# docker/manifests and the objects of docker/monitoring from the chart, with the helm of `make peers`, after a change of the
# chart or of VERSION.
manifests:
	@docker/helm/render --all

check-unit: tests
	@$(PYTHON) tests/support/check.py --build $(B) --only unit

# What an integration test needs besides `all`.
NEEDS_test_bench     := $(ANSWERS_BIN)
NEEDS_test_bench_start := $(START_BIN)
NEEDS_test_encodings := $(B)/tests/unit/kube2sky/api/test_kube_encodings
NEEDS_test_bench_clients := $(BENCH_STORE)
NEEDS_test_bench_instructions := $(INSTRUCTIONS_BIN)
NEEDS_test_bench_nodes := $(NODES_BIN) $(BENCH_STORE) $(B)/tests/bench/answers/load_udp
NEEDS_test_kube2sky  := asan-kube2sky

# One test by name, with its output: TEST=test_fast, TEST=test_fast::test_srv, TEST=fuzz_query, TEST=test_dns.py.
ONE_TEST = '$(subst ','\'',$(TEST))'
ifneq ($(filter one,$(MAKECMDGOALS)),)
ONE := $(shell $(PYTHON) tests/support/one.py --find $(ONE_TEST))
ifeq ($(ONE),)
$(error nothing is built)
endif
endif
one: $(if $(filter tests/integration/%,$(ONE)),all $(NEEDS_$(notdir $(ONE))),$(ONE:%=$(B)/%))
	@$(PYTHON) tests/support/one.py --build $(B) $(ONE_TEST)

for-integration: all $(NEEDS_test_bench) $(NEEDS_test_bench_start) $(NEEDS_test_bench_clients) $(NEEDS_test_bench_instructions) $(NEEDS_test_bench_nodes) $(NEEDS_test_encodings)
check-integration: for-integration
	@$(PYTHON) tests/support/check.py --build $(B) --only integration

# Faults of etcd and of the network to it that take long, or need root for namespaces.
check-faults: all asan-kube2sky
	@$(PYTHON) tests/support/check.py --build $(B) --only faults

# kube2sky with random objects, faults, restarts and changes of the leader, against a model: a few are in `make check`.
ROUNDS ?= 300
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
check-rounds: all
	@ROUNDS=$(ROUNDS) SEED=$(SEED) $(PYTHON) tests/support/one.py --build $(B) test_rounds.py

asan-kube2sky:
	@$(MAKE) --no-print-directory VARIANT=asan $(BUILD)/asan/bin/kube2sky

# What threads share: the unit programs that start one and some of the integration tests under the thread sanitizer;
# with CHECK_ALL all unit programs and corpora.
check-tsan: deps
	@$(MAKE) --no-print-directory VARIANT=tsan programs $(if $(CHECK_ALL),unit,threads)
	@$(PYTHON) tests/support/check.py --build $(BUILD)/tsan --only tsan

# The legacy pod in containers of images just built, each of which is killed and hung in turn. As root.
check-pod: all
	@[ "$$(id -u)" -ne 0 ] || tests/support/deps check pod
	@$(PYTHON) tests/support/check.py --build $(B) --only pod

# A real Kubernetes with its controllers, and CoreDNS beside skydns. Without `make peers`, all is skipped.
check-cluster: all
	@$(PYTHON) tests/support/check.py --build $(B) --only cluster

# The pages in a real Chromium. Without npm, nothing is checked with axe; without Chromium, nothing at all.
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund
check-page: all
	@tests/support/deps check page || echo 'check-page: what is missing is skipped'
	@mkdir -p $(BUILD)/page && cp tests/integration/page/package*.json $(BUILD)/page/
	@cd $(BUILD)/page && $(NPM_CI) || echo 'check-page: axe is skipped'
	@PAGE_NODE_MODULES=$(abspath $(BUILD)/page/node_modules) $(PYTHON) tests/support/check.py --build $(B) --only page

# The previous release's programs, from its tag or SKEW_REF, for test_skew.py: without them, it is skipped.
SKEW_REF ?=
previous:
	@$(PYTHON) tests/support/previous.py --build $(BUILD) $(if $(SKEW_REF),--ref '$(SKEW_REF)')

# Whether skydns answers as at another commit, whose checkout and build lie below build/recorded.
RECORDED_FLAGS ?=
check-recorded:
	@$(PYTHON) tests/recorded/check_recorded.py --ref '$(REF)' --build $(BUILD) --cc '$(CC)' $(RECORDED_FLAGS)

# The pictures in README.md, from running programs: a minute.
screenshots: all
	@tests/support/deps check page
	@BIN_DIR=$(abspath $(B)/bin) $(PYTHON) tests/support/screenshots.py --out docs

# Lines that unit tests and fuzz corpora run, of each program at least its floor; FILES='skydns/pages/*' lists the others.
FILES ?=
coverage: deps
	@$(MAKE) --no-print-directory VARIANT=cov programs unit
	@$(PYTHON) tests/support/line_coverage.py --build $(BUILD)/cov --reset
	@$(PYTHON) tests/support/check.py --build $(BUILD)/cov --only unit
	@$(PYTHON) tests/support/line_coverage.py --build $(BUILD)/cov $(if $(FILES),--files $(FILES:%='%'))

# Container images of the three programs, one of node-local, and one of etcd for tests: NAME:VERSION, behind IMAGE_PREFIX.
ENGINE ?= podman
BASE ?= debian:bookworm-slim
IMAGE_PREFIX ?=
IMAGE_FLAGS ?=
IMAGE_BUILD = $(ENGINE) build $(if $(findstring podman,$(ENGINE)),--format docker) --build-arg BASE=$(BASE) $(IMAGE_FLAGS)
images:
	$(foreach p,$(PROGRAMS) node-local,$(IMAGE_BUILD) --build-arg VERSION=$(shell cat VERSION) -f docker/Dockerfile --target $(p) -t $(IMAGE_PREFIX)$(p):$(shell cat VERSION) . &&) \
	$(IMAGE_BUILD) -t $(IMAGE_PREFIX)etcd:3.4 docker/etcd

# Every fuzz target for FUZZ_S seconds each, from its corpus, or until FUZZ_RUNS executions of each (then
# FUZZ_S does not count). FUZZ_ONLY='query_parse tsig': these alone. FUZZ_SANITIZE=: without sanitizers, faster.
# FUZZ_JOBS: at once, as many as cores if not given.
FUZZ_S ?= 60
FUZZ_RUNS ?= 0
FUZZ_JOBS ?= 0
fuzz:
	@$(MAKE) --no-print-directory VARIANT=fuzz fuzz-run
fuzz-run: $(if $(FUZZ_ONLY),$(foreach f,$(FUZZ_ONLY),$(filter %/fuzz_$(f),$(FUZZ))),$(FUZZ))
	@$(PYTHON) tests/support/fuzz.py --build $(B) --seconds $(FUZZ_S) --runs $(FUZZ_RUNS) --jobs $(FUZZ_JOBS) $(FUZZ_ONLY)

# The cost of an answer, compared with a bare responder and the other installed servers.
BENCH_FLAGS ?=
bench: all $(ANSWERS_BIN) $(BENCH_STORE)
	@$(PYTHON) tests/bench/dns_answers.py --build $(B) --out $(BUILD)/bench $(BENCH_FLAGS)

# The last results of `make bench` into README.md and tests/bench/README.md; only what a quiet machine measured.
bench-readme:
	@$(PYTHON) tests/bench/readme_table.py --results $(BUILD)/bench

# Where skydns spends its time while it answers.
profile: all $(ANSWERS_BIN) $(BENCH_STORE)
	@$(PYTHON) tests/bench/dns_profile.py --build $(B) --out $(BUILD)/bench $(BENCH_FLAGS)

# Cost of the etcd client: CPU per put, key and event, keys/s.
bench-etcd: $(B)/tests/bench/etcd/bench_etcd
	@$(PYTHON) tests/bench/etcd_client.py --build $(B) $(BENCH_FLAGS)

# What a reader costs etcd, per event and idle, without and with etcd's grpc-proxy.
bench-readers: $(B)/tests/bench/readers/bench_readers
	@$(PYTHON) tests/bench/readers.py --build $(B) $(BENCH_FLAGS)

# kube2sky with many objects: time until everything is in etcd, time per event, and memory.
bench-kube2sky: all $(BENCH_STORE)
	@$(PYTHON) tests/bench/kube2sky_scale.py --build $(B) $(BENCH_FLAGS)

# From a change in the Kubernetes API to the right answer: single changes, bursts, everything (see KUBE_APISERVER).
bench-pipeline: all $(BENCH_STORE) $(B)/tests/bench/pipeline/bench_ask
	@$(PYTHON) tests/bench/pipeline.py --build $(B) $(BENCH_FLAGS)

# skydns' start from a snapshot: until answers are right, and what it costs etcd.
bench-start: all $(BENCH_STORE) $(START_BIN)
	@$(PYTHON) tests/bench/snapshot_start.py --build $(B) $(BENCH_FLAGS)

# Cost of updates to skydns, and answers meanwhile: time per batch, visibility, memory.
bench-updates: $(B)/tests/bench/updates/bench_updates
	@$(PYTHON) tests/bench/updates.py --build $(B) $(BENCH_FLAGS)

# A million Services, and a tenth of them: what grows faster than their number.
NEEDS_test_bench_scale := $(addprefix $(B)/tests/bench/answers/,bare_udp load_udp propagation) $(BENCH_STORE) $(START_BIN)
bench-scale: all $(NEEDS_test_bench_scale)
	@$(PYTHON) tests/bench/scale.py --build $(B) $(BENCH_FLAGS)

# Clients known by their pods: how soon after a pod has come or gone, and what it costs.
bench-clients: all $(BENCH_STORE)
	@$(PYTHON) tests/bench/clients.py --build $(B) $(BENCH_FLAGS)
	@$(PYTHON) tests/bench/client_records.py --build $(B)

# Memory and CPU of each program of docker/manifests/kube-dns.yaml.
bench-pod: all
	@$(PYTHON) tests/bench/pod_resources.py --build $(B) $(BENCH_FLAGS)

# Whether the programs' memory grows in an hour of changes.
bench-churn: all
	@$(PYTHON) tests/bench/churn.py --build $(B) $(BENCH_FLAGS)

# Hit rates of the response cache and of an LRU cache, and the cost of a hit.
FLOOD_BIN := $(B)/tests/bench/flood/bench_flood
$(FLOOD_BIN): %: %.o $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_common) -o $@

LIMITS_BIN := $(B)/tests/bench/flood/bench_limits
$(LIMITS_BIN): %: %.o $(B)/tests/support/libskydns.a $(B)/libskydns.a $(B)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS_skydns) -o $@

# What rates and cookies cost a query; one client beyond its rate beside 100 others.
bench-clients-flood: all $(BENCH_STORE) $(FLOOD_BIN) $(LIMITS_BIN)
	@$(LIMITS_BIN)
	@$(PYTHON) tests/bench/clients_flood.py --build $(B) $(BENCH_FLAGS)

# What attacks cost clients that behave: the fault tests test_attack_*.py, and their figures.
bench-attack: all
	@$(PYTHON) tests/bench/attack.py --build $(B) $(BENCH_FLAGS)

# What ten hostile namespaces do to the eleventh: its changes' way to etcd, /healthz.
bench-fair: all $(BENCH_STORE)
	@$(PYTHON) tests/bench/fair.py --build $(B) $(BENCH_FLAGS)

# Memory of both programs, whatever one namespace holds.
bench-memory: all $(BENCH_STORE)
	@$(PYTHON) tests/bench/hostile_memory.py --build $(B) $(BENCH_FLAGS)

# Of a skydns with the flags of docker/manifests/node-local.yaml.
bench-node-memory: all $(BENCH_STORE)
	@$(PYTHON) tests/bench/node_memory.py --build $(B) $(BENCH_FLAGS)

# A thousand of them behind etcd's grpc-proxies.
bench-node-readers: $(NODES_BIN) $(BENCH_STORE)
	@$(PYTHON) tests/bench/node_readers.py --build $(B) $(BENCH_FLAGS)

# A node's skydns beside NodeLocal DNSCache. Needs root, for network namespaces.
bench-node-local: all $(BENCH_STORE) $(B)/tests/bench/answers/load_udp
	@$(PYTHON) tests/bench/node_local.py --build $(B) $(BENCH_FLAGS)

bench-cache-hits: $(B)/tests/bench/cache_hits/bench_cache_hits
	@$<

# What a search path costs, beside the bare name.
bench-search-paths: $(B)/tests/bench/search_paths/bench_search_paths
	@$<

# How many instructions an answer takes, whatever else the machine does; a ceiling for each kind of question.
bench-instructions: $(INSTRUCTIONS_BIN)
	@$(PYTHON) tests/bench/instructions.py $(INSTRUCTIONS_BIN:%=--bench %) --out $(BUILD)/bench/instructions $(BENCH_FLAGS)

# What it costs to be watched: the page, the query log, dnstap.
bench-watching: all $(ANSWERS_BIN) $(BENCH_STORE)
	@$(PYTHON) tests/bench/watching.py --build $(B) $(BENCH_FLAGS)

# What zone transfers cost their thread.
bench-transfer: $(B)/tests/bench/transfer/bench_transfer all $(BENCH_STORE) $(FLOOD_BIN)
	@$<
	@$(PYTHON) tests/bench/transfers.py --build $(B) $(BENCH_FLAGS)

# gcc's analyser, clang-tidy with clang's warnings, and cppcheck over the programs, a stamp for each file: a file is
# looked at again when it or a header of it changes. DEEP=1: clang's analyser too, ten times as long.
DEEP     ?= 0
ANALYZED := $(patsubst %.c,$(BUILD)/analyze-$(DEEP)/%.ok,$(filter %.c,$(PRODUCT_C)))
ANALYSIS_FLAGS = -std=gnu11 -pthread -O2 -D_GNU_SOURCE -I. -I$(B)/proto $(PKG_CFLAGS) $(DEFINES_$*) \
                 $(if $(filter common/base/err,$*),,-include tests/support/analysis.h)
TIDY_0 := --checks=-clang-analyzer-*
# grpc.c counts who is inside a connection, and frees it when the last one leaves: gcc does not follow that.
GCC_ANALYSIS_common/grpc/grpc := -Wno-analyzer-use-after-free
# reversed_read is called for names that reverse_zone_is_reverse, and have a form.
GCC_ANALYSIS_skydns/publish/reverse_zone := -Wno-analyzer-null-dereference
# gcc does not see the bytes of the address that addr_ip returns as set.
GCC_ANALYSIS_skydns/tap/client_counts := -Wno-analyzer-use-of-uninitialized-value
$(BUILD)/analyze-$(DEEP)/%.ok: %.c .clang-tidy tests/support/cppcheck.txt tests/support/analysis.h | $(PROTO_C)
	$(call say,CHECK,$<)
	@mkdir -p $(@D)
	$(Q)gcc $(ANALYSIS_FLAGS) -fanalyzer -Werror $(GCC_ANALYSIS_$*) -MMD -MP -MF $(@:.ok=.d) -MT $@ -c $< -o /dev/null
	$(Q)clang-tidy --quiet --warnings-as-errors='*' $(TIDY_$(DEEP)) $< -- $(ANALYSIS_FLAGS) $(WARNINGS) 2>$(@:.ok=.count)
	$(Q)cppcheck -q --enable=warning,performance,portability --std=c11 -D_GNU_SOURCE -I. \
		--include=/usr/include/$(MULTIARCH)/sys/queue.h --suppressions-list=tests/support/cppcheck.txt \
		--inline-suppr --error-exitcode=1 $<
	@touch $@
analyzed: MULTIARCH := $(shell gcc -print-multiarch)
analyze:
	@tests/support/deps analysis
	@$(MAKE) --no-print-directory -k -j$$(nproc) analyzed
analyzed: $(ANALYZED)

lint: deps
	@$(MAKE) --no-print-directory $(PROTO_C)
	@tests/support/lint

# The tables of files in ARCHITECTURE.md, from the headers; lint says when they differ.
architecture:
	$(Q)$(PYTHON) tests/support/architecture.py --write

format:
	$(Q)$(CLANG_FORMAT) -i $(C_FILES)

# ---- Installing: the programs read nothing below PREFIX; DESTDIR is put before every path ----

# Read at run time; the settings are in /etc even with PREFIX=/usr/local.
SYSCONFDIR  ?= /etc
UNITDIR     ?= $(PREFIX)/lib/systemd/system
UNITS       := $(wildcard $(PROGRAMS:%=%/*.service) $(PROGRAMS:%=%/*.socket))
TO_BIN      = $(DESTDIR)$(PREFIX)/bin
TO_MAN      = $(DESTDIR)$(PREFIX)/share/man
MAN_FOLDERS = $(sort $(patsubst .%,man%,$(suffix $(MAN))))
TO_COMPLETE = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
TO_DOC      = $(DESTDIR)$(PREFIX)/share/doc/$(PACKAGE)
TO_UNITS    = $(DESTDIR)$(UNITDIR)
TO_DEFAULTS = $(DESTDIR)$(SYSCONFDIR)/default
DOCS        := README.md COMPATIBILITY.md CHANGELOG.md LICENSE
GUIDE       := $(wildcard docs/operator/*.md)

# Settings files that exist are the administrator's: kept.
install: all
	install -d $(TO_BIN) $(MAN_FOLDERS:%=$(TO_MAN)/%) $(TO_COMPLETE) $(TO_DOC)/docs/operator $(TO_UNITS) $(TO_DEFAULTS)
	install -m 755 $(BINARIES) $(TO_BIN)
	$(foreach m,$(MAN),install -m 644 $(m) $(TO_MAN)/man$(patsubst .%,%,$(suffix $(m))) &&) true
	install -m 644 $(DOCS) $(TO_DOC)
	install -m 644 $(GUIDE) $(TO_DOC)/docs/operator
	@set -e; for unit in $(UNITS); do \
	    to=$(TO_UNITS)/$${unit##*/}; echo "sed $$unit >$$to"; \
	    sed 's|=/usr/bin/|=$(PREFIX)/bin/|; s|=-/etc/default/|=-$(SYSCONFDIR)/default/|' $$unit >$$to; chmod 644 $$to; \
	done
	@set -ex; for p in $(PROGRAMS); do \
	    install -m 644 common/completion.bash $(TO_COMPLETE)/$$p; \
	    [ -e $(TO_DEFAULTS)/$$p ] || install -m 644 $$p/$$p.default $(TO_DEFAULTS)/$$p; \
	done

# Keeps settings files that were changed.
uninstall:
	rm -f $(patsubst %,$(TO_BIN)/%,$(notdir $(BINARIES))) $(foreach m,$(notdir $(MAN)),$(TO_MAN)/man$(patsubst .%,%,$(suffix $(m)))/$(m)) $(PROGRAMS:%=$(TO_COMPLETE)/%)
	rm -f $(patsubst %,$(TO_UNITS)/%,$(notdir $(UNITS))) $(DOCS:%=$(TO_DOC)/%) $(GUIDE:%=$(TO_DOC)/%)
	[ ! -d $(TO_DOC)/docs/operator ] || rmdir -p --ignore-fail-on-non-empty $(TO_DOC)/docs/operator
	@for p in $(PROGRAMS); do \
	    if cmp -s $$p/$$p.default $(TO_DEFAULTS)/$$p; then rm $(TO_DEFAULTS)/$$p; \
	    elif [ -e $(TO_DEFAULTS)/$$p ]; then echo "$(TO_DEFAULTS)/$$p was changed and is kept"; fi; \
	done

# The committed sources as a reproducible tarball.
DIST = $(BUILD)/$(PACKAGE)-$(shell git show HEAD:VERSION)
dist:
	@mkdir -p $(BUILD)
	git -c tar.umask=0022 archive --format=tar --prefix=$(notdir $(DIST))/ -o $(DIST).tar HEAD
	gzip -9nf $(DIST).tar
	@echo $(DIST).tar.gz

# Debian packages from that tarball, in build/deb; runs the unit tests unless DEB_BUILD_OPTIONS=nocheck.
deb: dist
	@tests/support/deps check packaging
	@tests/support/deb $(DIST).tar.gz $(BUILD)/deb

# The whole release in build/dist/VERSION, for amd64 and arm64 (docker/release/release says which variables there are);
# release-check makes it twice and compares; release-verify is for who has downloaded one.
RELEASE_DIR ?= $(BUILD)/dist/$(shell cat VERSION)
release: dist
	@tests/support/deps release
	@PYTHON=$(PYTHON) docker/release/release $(DIST).tar.gz $(RELEASE_DIR)
release-check: dist
	@tests/support/deps release
	@PYTHON=$(PYTHON) docker/release/check $(DIST).tar.gz $(BUILD)/dist-check
release-verify:
	@docker/release/verify $(RELEASE_DIR)

clean:
	rm -rf $(BUILD)

help:
	@echo 'make [VARIANT=$(subst $() ,|,$(VARIANTS))] [V=1] [WERROR=1] all|tests|compile_commands.json|run|one TEST=…|check|check-all|check-unit|check-integration|check-faults|check-rounds|check-tsan|check-pod|check-page|check-cluster|peers|previous|manifests|check-recorded REF=…|screenshots|coverage|images|fuzz|bench|bench-readme|bench-etcd|bench-readers|bench-kube2sky|bench-scale|bench-pipeline|bench-start|bench-updates|bench-clients|bench-pod|bench-churn|bench-cache-hits|bench-attack|bench-fair|bench-memory|bench-node-memory|bench-node-readers|bench-node-local|bench-clients-flood|bench-search-paths|bench-instructions|bench-transfer|bench-watching|profile|analyze|lint|architecture|format|install|uninstall|dist|deb|release|release-check|release-verify|deps|deps-bench|clean'

-include $(wildcard $(B)/*/*.d $(B)/*/*/*.d $(B)/tests/*/*/*.d $(B)/tests/*/*/*/*.d)
ifneq ($(filter analyzed,$(MAKECMDGOALS)),)
-include $(ANALYZED:.ok=.d)
endif
