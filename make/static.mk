# static.mk: one program that needs no library but the C library. Included by the Makefile.
#
# Lua, libuv, zlib, PCRE2, LPeg, lyaml's parser and lua-cjson are linked in. libcurl and libpq are not:
# HTTP and PostgreSQL are the modules lib/skillrt/http.so and postgres.so beside the program, which take libuv from it and
# those two from the system. server.so, for `skillrt serve`, and sign.so, for receipts, lie beside them.

STATIC := $(BUILD)/static
.PHONY: static
static: $(STATIC)/skillrt $(STATIC)/lib/skillrt/http.so $(if $(PG_SO),$(STATIC)/lib/skillrt/postgres.so) ## build a program that runs where no library is installed, in build/release/static

$(STATIC)/main.o: csrc/main.c $(BUILD)/flags | $(NEED)
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -DSKILLRT_BUNDLED -MMD -MP -c $< -o $@
STATIC_O = $(STATIC)/main.o $(filter-out $(BUILD)/csrc/main.o,$(MAIN_O) $(CORE_O))
$(STATIC)/skillrt: $(STATIC_O)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) $^ -Wl,-E -Wl,-Bstatic \
	  $(addprefix -l$(LUAPC)-,lpeg yaml cjson) -lyaml -l$(LUAPC) -l:libuv_a.a -lz -lpcre2-8 -Wl,-Bdynamic -lm -ldl -lpthread -o $@
$(STATIC)/lib/skillrt/http.so: $(HTTP_O) | $(SERVER_SO) $(SIGN_SO)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared $^ $(LIBS_CURL) -o $@
	@for f in $(SERVER_SO) $(SIGN_SO); do [ ! -e $$f ] || cp $$f $(STATIC)/lib/skillrt/; done
$(STATIC)/lib/skillrt/postgres.so: $(PG_O)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared $^ $(LIBS_PQ) -o $@

.PHONY: static-arm64
static-arm64: | $(NEED) ## build the same program for ARM64, in build/arm64/static, and try it with qemu-user (Debian only)
	@CC='$(CC)' LUA='$(LUA)' sh make/arm64.sh
