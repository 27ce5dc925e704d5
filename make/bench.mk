# bench.mk: measuring. Included by the Makefile. bench/run.lua prints ratios taken in one run.

BENCH_C   := $(filter-out bench/count.c $(if $(PG_SO),,bench/floor_postgres.c),$(wildcard bench/*.c))
BENCH_BIN := $(BENCH_C:bench/%.c=$(BUILD)/bench/%) $(BUILD)/bench/count.so
##@ Measure
.PHONY: bench
bench: all $(BENCH_BIN) | $(NEED) ## measure against the programs in bench/ (ONLY=name: some rows)
	@$(UNDER) ONLY='$(ONLY)' LUA='$(LUA)' $(LUA) bench/run.lua
# floors stand alone: they show what the machine can do without skillrt
$(patsubst bench/%.c,$(BUILD)/bench/%,$(filter-out bench/hosts.c,$(BENCH_C))): $(BUILD)/bench/%: $(BUILD)/bench/%.o
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $< $(LIBS_OF) -o $@
$(BUILD)/bench/requests: LIBS_OF = $(LIBS_CURL)
$(BUILD)/bench/floor_postgres: LIBS_OF = $(LIBS_PQ)
# what embeds us links the library
$(BUILD)/bench/hosts: $(BUILD)/bench/hosts.o $(LIBRARY)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $< $(LIBRARY) -Wl,-E $(LIBS_LUA) $(LIBS_UV) $(LIBS_Z) -o $@
$(BUILD)/bench/count.so: $(BUILD)/bench/count.o
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared $< -ldl -o $@
