# skillrt: `make help` lists the targets.
#
# One make, no recursion: what is built, `test` and `demo` are here, all else is in make/*.mk. A new .c,
# test or Lua file is picked up by its place. pkg-config is asked late (first use), so that one
# `make test` on a bare system can install the libraries and then build with them.
VERSION := 0.1.0
MODE    ?= release
BUILD   := build/$(MODE)
LUA     ?= lua5.4
LUAPC   ?= lua5.4
PKG     ?= pkg-config
OBJCOPY ?= objcopy
ifeq ($(origin CC),default)
CC      := gcc
endif
CFLAGS  ?=
LDFLAGS ?=
MODES   := release debug asan tsan cover record
ifeq ($(filter $(MODE),$(MODES)),)
$(error MODE=$(MODE) is unknown: use one of $(MODES))
endif

WARN  := -Wall -Wextra -Wshadow -Wconversion -Werror=implicit-function-declaration
SAN   := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Small but for what walks over bytes (QUICK): 30 KB of the program. Nothing is unwound but by debuggers, which have
# .debug_frame: the tables were 45 KB.
FLAGS_release := -Os -g -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
FLAGS_debug   := -O0 -g3 -DSKILLRT_FROM_DISK='"$(CURDIR)"'
FLAGS_asan    := -O1 -g $(SAN)
FLAGS_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
FLAGS_cover   := -O0 -g --coverage
# for `make nearest`: which lines a test runs
FLAGS_record  := -O0 -g -fsanitize-coverage=trace-pc -DSKILLRT_FROM_DISK='"$(CURDIR)"' \
  -Dlua_sethook=record_sethook -Dlua_gethook=record_gethook # tests/nearest/record.c
EMBED_debug   := --source
EMBED_record  := --source

# asked once, at first use: $(call pkg,NAME,WORDS) keeps the answer of pkg-config WORDS in NAME
pkg = $(or $($(1)),$(eval $(1) := $$(shell $(PKG) $(2)))$($(1)))
CFLAGS_LIBS = $(call pkg,asked_cflags,--cflags $(LUAPC) libuv zlib libpcre2-8)
CFLAGS_CURL = $(call pkg,asked_cflags_curl,--cflags libcurl)
LIBS_LUA    = $(call pkg,asked_lua,--libs $(LUAPC)) -lm -ldl
LIBS_UV     = $(call pkg,asked_uv,--libs libuv)
LIBS_Z      = $(call pkg,asked_z,--libs zlib libpcre2-8)
LIBS_CURL   = $(call pkg,asked_curl,--libs libcurl)
CFLAGS_PQ   = $(call pkg,asked_cflags_pq,--cflags libpq)
LIBS_PQ     = $(call pkg,asked_pq,--libs libpq)
CPPFLAGS_ALL = -Icsrc -D_GNU_SOURCE -DSKILLRT_VERSION='"$(VERSION)"' $(CFLAGS_LIBS) $(CPPFLAGS)
CFLAGS_ALL   = -std=c11 $(WARN) $(FLAGS_$(MODE)) $(QUICK_$(MODE)) -fPIC -fvisibility=hidden $(CFLAGS)
COMPILE      = $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL)

$(BUILD)/csrc/base/%.o $(BUILD)/csrc/lua/bind_json%.o $(BUILD)/csrc/store/journal%.o: private QUICK_release := -O2

HTTP_C  := $(wildcard csrc/transport/http.c csrc/transport/http_*.c)
PG_C    := $(wildcard csrc/store/postgres*.c)
BASE_C  := $(wildcard csrc/base/*.c)
CORE_C  := $(filter-out $(HTTP_C) $(PG_C),$(BASE_C) $(wildcard $(addprefix csrc/,jail/*.c store/*.c transport/*.c engine/*.c lua/*.c))) csrc/transport/http_address.c
CORE_O  := $(CORE_C:%.c=$(BUILD)/%.o) $(BUILD)/embedded.o
MAIN_O  := $(BUILD)/csrc/main.o $(BUILD)/csrc/signals.o
HTTP_O  := $(HTTP_C:%.c=$(BUILD)/%.o) $(BASE_C:%.c=$(BUILD)/%.o) $(BUILD)/csrc/transport/retry_after.o
PG_O    := $(PG_C:%.c=$(BUILD)/%.o) $(BASE_C:%.c=$(BUILD)/%.o) $(patsubst %,$(BUILD)/csrc/store/%.o,batch blob file journal_format journal_lines stamp)
SERVE_C := $(wildcard csrc/serve/*.c)
SIGN_C  := $(wildcard csrc/sign/*.c)
LUA_SRC := $(shell find lua strategies templates -type f 2>/dev/null | LC_ALL=C sort)
PROGRAM := $(if $(wildcard csrc/main.c),$(BUILD)/skillrt)
CORE_SO := $(BUILD)/lib/skillrt/core.so
HTTP_SO := $(if $(HTTP_C),$(BUILD)/lib/skillrt/http.so)
# without libpq a build has all but runs in PostgreSQL
PG_SO   := $(if $(shell $(PKG) --exists libpq 2>/dev/null && echo yes),$(BUILD)/lib/skillrt/postgres.so)
SERVER_SO := $(if $(SERVE_C),$(BUILD)/lib/skillrt/server.so)
SIGN_SO := $(if $(SIGN_C),$(BUILD)/lib/skillrt/sign.so)
LIBRARY := $(BUILD)/libskillrt.a
INSIDE  := $(BUILD)/inside.a
HOST_C  := $(wildcard examples/*/*.c)
HOSTS   := $(HOST_C:%.c=$(BUILD)/%)

##@ Everyday
.DEFAULT_GOAL := all
.PHONY: all test demo pictures review clean help
all: $(PROGRAM) $(CORE_SO) $(HTTP_SO) $(PG_SO) $(SERVER_SO) $(SIGN_SO) $(LIBRARY) ## build the program, the Lua modules and the library (the default)

include make/deps.mk make/tests.mk make/bench.mk make/install.mk make/static.mk

ifneq ($(FULL),)
test: ## install what is missing, build, run lint, the quick tests and those near to what has changed (ONLY=name: some, of all sets; FULL=1: what CI runs; NIGHTLY=1: all)
	@env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u FULL bash .ci/run
else
test: all $(call named,$(SIM) $(TEST_BIN) $(REPLAYS)) $(AGENT) $(HOSTS) | $(NEED)
	@$(UNDER) SPEC_ENV="$(PRELOAD_$(MODE))" ONLY='$(ONLY)' LUA='$(LUA)' \
	  $(LUA) tests/all.lua lint $(SIM) $(TEST_BIN) $(REPLAYS) $(SPECS)
	$(if $(NIGHTLY),$(if $(ONLY),,@$(MAKE) --no-print-directory test-mcp))
endif
demo: all | $(NEED) ## install what is missing, build, run a skill and a workflow that is killed, asked and held by a budget
	@sh make/demo.sh $(BUILD)
pictures: all | $(NEED) ## take screenshots of a report, graphs and the page of skillrt serve, into build/pictures
	@sh make/pictures.sh $(BUILD)
review: all | $(NEED) ## review this source tree (DIR=another) with examples/review; says where the report lies
	@sh make/review.sh $(BUILD)

# NEED (make/deps.mk) makes the first compilation wait for the installation of what is missing.
# flags and inputs change only when their text does, so that other flags, or a file that came
# or went, rebuild what they must.
$(BUILD)/flags $(BUILD)/inputs: $(BUILD)/%: FORCE | $(NEED)
	@$(PKG) --exists $(LUAPC) libuv libcurl zlib libpcre2-8 || { echo "make: $(PKG) does not find $(LUAPC), libuv, libcurl, zlib and libpcre2-8: run make deps"; exit 1; }
	@mkdir -p $(@D)
	@printf '%s\n' $(call quote,$(if $(filter flags,$*),$(COMPILE) $(LDFLAGS) $(LUA),$(CORE_O) $(HTTP_O) $(PG_O) $(LUA_SRC))) > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
quote = '$(subst ','\'',$(1))'
.PHONY: FORCE
FORCE:

# commands are told by a short line; V=1 shows them whole
say = $(if $(V),,@printf '%-5s %s\n' '$(1)' '$@';)
$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) $(call also,$<) -MMD -MP -c $< -o $@
also = $(if $(filter $(HTTP_C),$(1)),$(CFLAGS_CURL)) $(if $(filter $(PG_C) bench/floor_postgres.c,$(1)),$(CFLAGS_PQ)) $(if $(filter tests/%,$(1)),-Itests) $(if $(filter tests/sim/%,$(1)),-Itests/sim)

$(BUILD)/embedded.c: csrc/embed.lua csrc/started.txt $(LUA_SRC) $(BUILD)/inputs
	$(call say,EMBED)$(LUA) csrc/embed.lua $(EMBED_$(MODE)) $(LUA_SRC) > $@.new
	@mv $@.new $@
$(BUILD)/embedded.o: $(BUILD)/embedded.c $(BUILD)/flags csrc/lua/embedded.h
	$(call say,CC)$(COMPILE) -c $< -o $@

# a host sees skillrt_* and luaopen_* only: all else is its own to name. Tests link the inside.
$(LIBRARY): $(CORE_O) $(BUILD)/inputs
	@rm -f $@
	@$(CC) -r -nostdlib $(CORE_O) -o $(BUILD)/libskillrt.o
	@$(OBJCOPY) --localize-hidden $(BUILD)/libskillrt.o
	$(call say,AR)$(AR) rcs $@ $(BUILD)/libskillrt.o
$(INSIDE): $(CORE_O) $(BUILD)/inputs
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $(CORE_O)
# core.so takes the Lua API from the program that loads it: linking liblua would bring a second one
$(CORE_SO): $(CORE_O) $(BUILD)/inputs
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared $(CORE_O) $(LIBS_UV) $(LIBS_Z) -o $@
$(HTTP_SO): $(HTTP_O) $(BUILD)/inputs
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared $(HTTP_O) $(LIBS_UV) $(LIBS_CURL) -o $@
$(PG_SO): $(PG_O) $(BUILD)/inputs
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared $(PG_O) $(LIBS_UV) $(LIBS_PQ) -o $@
# what `skillrt serve` alone loads; a build without libmicrohttpd is one without it
$(SERVER_SO): $(SERVE_C) $(wildcard csrc/serve/*.h) $(BASE_C:%.c=$(BUILD)/%.o) $(BUILD)/inputs
	@mkdir -p $(@D)
	$(if $(V),,@)if $(PKG) --exists libmicrohttpd; then $(if $(V),,printf '%-5s %s\n' LINK '$@';) \
	  $(COMPILE) $(LDFLAGS) -shared $(filter-out $(BUILD)/inputs %.h,$^) $$($(PKG) --cflags --libs libmicrohttpd) -o $@; \
	else echo 'NOTE  $@: left out, for there is no libmicrohttpd: skillrt serve needs it'; fi
# what signs and verifies alone loads; a build without libcrypto is one without receipts and webhooks
$(SIGN_SO): $(SIGN_C) $(BUILD)/inputs
	@mkdir -p $(@D)
	$(if $(V),,@)if $(PKG) --exists libcrypto; then $(if $(V),,printf '%-5s %s\n' LINK '$@';) \
	  $(COMPILE) $(LDFLAGS) -shared $(SIGN_C) $$($(PKG) --cflags --libs libcrypto) -o $@; \
	else echo 'NOTE  $@: left out, for there is no libcrypto: skillrt receipt, verify and webhooks need it'; fi
# relocations of its tables in an eighth of the room, 25 KB less, which a C library from glibc 2.36 on reads
PACKED = $(shell getconf GNU_LIBC_VERSION 2>/dev/null | awk '$$1 == "glibc" && $$2 + 0 >= 2.36 {print "-Wl,-z,pack-relative-relocs"}')
$(BUILD)/skillrt: $(MAIN_O) $(CORE_O) $(BUILD)/inputs
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(PACKED) $(MAIN_O) $(CORE_O) -Wl,-E $(LIBS_LUA) $(LIBS_UV) $(LIBS_Z) -o $@
# a host program links the library alone, as a stranger would
$(HOSTS): $(BUILD)/%: $(BUILD)/%.o $(LIBRARY)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $< $(LIBRARY) -Wl,-E $(LIBS_LUA) $(LIBS_UV) $(LIBS_Z) -o $@

clean: ## remove build/
	rm -rf build

help: ## list the targets
	@awk -f make/help.awk $(MAKEFILE_LIST)
	@printf '\nVariables: MODE=release|debug|asan|tsan|cover  PREFIX=/usr/local  DESTDIR=  CC=  CFLAGS=  LUA=  PKG=\n'
	@printf '           ONLY=name (of the tests to run)  FULL=1  NIGHTLY=1  JOBS=  FUZZ_SECONDS=60  FOR="build test lint fuzz rock deb" (of deps)\n'

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
