# skillrt: `make help` lists the targets.
MODE    ?= release
BUILD   := build/$(MODE)
CC      ?= gcc
LUA     ?= lua5.4
LUAPC   ?= lua5.4
PKG     ?= pkg-config

WARN    := -Wall -Wextra -Wshadow -Wconversion
FLAGS_release := -O2 -g
FLAGS_debug   := -O0 -g3 -DSKILLRT_FROM_DISK='"$(CURDIR)"'
FLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FLAGS_cover   := -O0 -g --coverage
CFLAGS  ?=
CPPFLAGS_ALL := -Icsrc -D_GNU_SOURCE $(shell $(PKG) --cflags $(LUAPC) libuv)
CFLAGS_ALL   := -std=c11 $(WARN) $(FLAGS_$(MODE)) -fPIC -fvisibility=hidden $(CFLAGS)
LIBS_LUA  := $(shell $(PKG) --libs $(LUAPC))
LIBS_UV   := $(shell $(PKG) --libs libuv)
LIBS_CURL := $(shell $(PKG) --libs libcurl)

HTTP_C   := csrc/transport/http.c $(wildcard csrc/transport/http_*.c)
CORE_C   := $(filter-out $(HTTP_C),$(wildcard csrc/base/*.c csrc/store/*.c csrc/transport/*.c csrc/engine/*.c csrc/lua/*.c))
CORE_O   := $(CORE_C:%.c=$(BUILD)/%.o) $(BUILD)/embedded.o
HTTP_O   := $(HTTP_C:%.c=$(BUILD)/%.o) $(patsubst %.c,$(BUILD)/%.o,$(wildcard csrc/base/*.c))
LUA_SRC  := $(shell find lua strategies templates -type f 2>/dev/null | LC_ALL=C sort)

.PHONY: all test-c
all: $(BUILD)/skillrt $(BUILD)/lib/skillrt/core.so $(BUILD)/lib/skillrt/http.so $(BUILD)/libskillrt.a

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

$(BUILD)/embedded.c: csrc/embed.lua $(LUA_SRC)
	@mkdir -p $(@D)
	$(LUA) csrc/embed.lua $(LUA_SRC) > $@
$(BUILD)/embedded.o: $(BUILD)/embedded.c
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c $< -o $@

$(BUILD)/libskillrt.a: $(CORE_O)
	rm -f $@; ar rcs $@ $^
$(BUILD)/lib/skillrt/core.so: $(CORE_O)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -shared $^ $(LIBS_UV) -o $@
$(BUILD)/lib/skillrt/http.so: $(HTTP_O)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -shared $^ $(LIBS_UV) $(LIBS_CURL) -o $@
$(BUILD)/skillrt: $(BUILD)/csrc/main.o $(CORE_O)
	$(CC) $(CFLAGS_ALL) $^ $(LIBS_LUA) $(LIBS_UV) -Wl,-E -lm -ldl -lpthread -o $@

# tests/c/test_X.c: one program each, with tests/support/*.c, without Lua unless it asks
TEST_C   := $(wildcard tests/c/test_*.c)
TEST_BIN := $(TEST_C:tests/c/%.c=$(BUILD)/tests/%)
SUPPORT_O := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
$(BUILD)/tests/%: $(BUILD)/tests/c/%.o $(SUPPORT_O) $(BUILD)/libskillrt.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $< $(SUPPORT_O) $(BUILD)/libskillrt.a $(LIBS_LUA) $(LIBS_UV) -lm -ldl -lpthread -o $@
$(BUILD)/tests/c/%.o: tests/c/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) -Itests $(CFLAGS_ALL) -MMD -MP -c $< -o $@
test-c: $(TEST_BIN)
	@for t in $(TEST_BIN); do echo "# $$t"; $$t || exit 1; done

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
