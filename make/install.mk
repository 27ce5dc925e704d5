# install.mk: puts what was built where a system or LuaRocks wants it. Included by the Makefile.

PREFIX  ?= /usr/local
DESTDIR ?=
BINDIR  ?= $(PREFIX)/bin
LIBPATH ?= $(PREFIX)/lib
INCDIR  ?= $(PREFIX)/include
MANDIR  ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/skillrt
DOCDIR  ?= $(PREFIX)/share/doc/skillrt
UNITDIR ?= $(PREFIX)/lib/systemd/system
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
LUADIR  ?= $(PREFIX)/share/lua/5.4
LIBDIR  ?= $(PREFIX)/lib/lua/5.4
LUA_MODULES := $(shell cd lua 2>/dev/null && find skillrt -name '*.lua' | LC_ALL=C sort)
PAGES   := README.md CHANGELOG.md LICENSE $(shell find docs examples -type f ! -name '*.json' ! -name '*.1' ! -path 'docs/*.lua' | LC_ALL=C sort)
UNITS   := $(wildcard examples/systemd/*)
SHELLS  := $(addprefix $(BUILD)/completions/,bash zsh fish)

$(SHELLS): $(BUILD)/completions/%: make/completions.lua $(CORE_SO) $(LUA_SRC)
	@mkdir -p $(@D)
	$(call say,SHELL)SKILLRT_BUILD=$(BUILD) $(LUA) make/completions.lua $* > $@.new
	@mv $@.new $@

##@ Install
# $(call put,WHAT,MODE,FILE,PLACE): installs FILE as PLACE, and says so
put = @install -D -m $(2) $(3) '$(DESTDIR)$(4)' && printf '%-12s %s\n' '$(1)' '$(4)'
.PHONY: install rock install-rock install-program uninstall
install: all install-rock install-program $(SHELLS) ## install into PREFIX (/usr/local): program, Lua module, C library, manual, pages, examples, units, completions
	$(call put,library,644,$(LIBRARY),$(LIBPATH)/libskillrt.a)
	$(call put,header,644,csrc/skillrt.h,$(INCDIR)/skillrt.h)
	@install -d '$(DESTDIR)$(LIBPATH)/pkgconfig'
	@sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBPATH)|; s|@INCLUDEDIR@|$(INCDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|; s|@LUAPC@|$(LUAPC)|' skillrt.pc.in \
	  > '$(DESTDIR)$(LIBPATH)/pkgconfig/skillrt.pc'
	@printf '%-12s %s\n' pkg-config '$(LIBPATH)/pkgconfig/skillrt.pc'
	$(call put,manual,644,docs/skillrt.1,$(MANDIR)/man1/skillrt.1)
	$(call put,bash,644,$(BUILD)/completions/bash,$(BASHDIR)/skillrt)
	$(call put,zsh,644,$(BUILD)/completions/zsh,$(ZSHDIR)/_skillrt)
	$(call put,fish,644,$(BUILD)/completions/fish,$(FISHDIR)/skillrt.fish)
	@install -d '$(DESTDIR)$(DATADIR)/schema' '$(DESTDIR)$(UNITDIR)'
	@install -m 644 docs/schema/*.json '$(DESTDIR)$(DATADIR)/schema/' && printf '%-12s %s\n' schemas '$(DATADIR)/schema/'
	$(call put,types,644,docs/skillrt.d.lua,$(DATADIR)/skillrt.d.lua)
	$(call put,types,644,docs/workflow.d.ts,$(DATADIR)/workflow.d.ts)
	@install -m 644 $(UNITS) '$(DESTDIR)$(UNITDIR)/' && printf '%-12s %s\n' units '$(UNITDIR)/'
	@set -e; for f in $(PAGES); do m=644; [ ! -x "$$f" ] || m=755; install -D -m $$m "$$f" '$(DESTDIR)$(DOCDIR)'/"$$f"; done
	@printf '%-12s %s\n' pages '$(DOCDIR)/docs/' examples '$(DOCDIR)/examples/'

# what LuaRocks builds and installs (it passes LUADIR, LIBDIR and BINDIR): the Lua modules, the C modules, the program
rock: $(PROGRAM) $(CORE_SO) $(HTTP_SO) $(PG_SO) $(SERVER_SO) $(SIGN_SO)
install-rock: $(CORE_SO) $(HTTP_SO) $(PG_SO) $(SERVER_SO) $(SIGN_SO)
	@install -d '$(DESTDIR)$(LIBDIR)/skillrt' $(foreach d,$(sort $(dir $(LUA_MODULES))),'$(DESTDIR)$(LUADIR)/$(d)')
	@set -e; for f in $^; do [ ! -e "$$f" ] || install -m 755 -s "$$f" '$(DESTDIR)$(LIBDIR)/skillrt/'; done
	@set -e; for f in $(LUA_MODULES); do install -m 644 "lua/$$f" '$(DESTDIR)$(LUADIR)'/"$$f"; done
	@printf '%-12s %s\n' 'Lua module' '$(LUADIR)/skillrt/' 'C modules' '$(LIBDIR)/skillrt/'
install-program: $(PROGRAM)
	$(call put,program,755 -s,$(PROGRAM),$(BINDIR)/skillrt)

uninstall: ## remove what install put there
	rm -f '$(DESTDIR)$(BINDIR)/skillrt' '$(DESTDIR)$(LIBPATH)/libskillrt.a' '$(DESTDIR)$(INCDIR)/skillrt.h' \
	  '$(DESTDIR)$(MANDIR)/man1/skillrt.1' '$(DESTDIR)$(LIBPATH)/pkgconfig/skillrt.pc' '$(DESTDIR)$(BASHDIR)/skillrt' \
	  '$(DESTDIR)$(ZSHDIR)/_skillrt' '$(DESTDIR)$(FISHDIR)/skillrt.fish' \
	  $(patsubst examples/systemd/%,'$(DESTDIR)$(UNITDIR)/%',$(UNITS))
	rm -rf '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)' '$(DESTDIR)$(LUADIR)/skillrt' '$(DESTDIR)$(LIBDIR)/skillrt'

# the Debian packages are made of the same installation (make/debian)
.PHONY: deb
deb: | $(NEED) ## build the Debian packages in build/deb, and look at them with lintian
	@VERSION='$(VERSION)' CC='$(CC)' sh make/deb.sh
