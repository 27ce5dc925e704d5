# install.mk: puts what was built where a system or LuaRocks wants it. Included by the Makefile.

PREFIX  ?= /usr/local
DESTDIR ?=
BINDIR  ?= $(PREFIX)/bin
LIBPATH ?= $(PREFIX)/lib
INCDIR  ?= $(PREFIX)/include
MANDIR  ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/skillrt
LUADIR  ?= $(PREFIX)/share/lua/5.4
LIBDIR  ?= $(PREFIX)/lib/lua/5.4
LUA_MODULES := $(shell cd lua 2>/dev/null && find skillrt -name '*.lua' | LC_ALL=C sort)
SCHEMAS := $(wildcard docs/schema/*.json)
HEADER  := $(wildcard csrc/skillrt.h)
MANUAL  := $(wildcard docs/skillrt.1)

##@ Install
.PHONY: install rock install-rock uninstall
install: all install-rock ## install into PREFIX (/usr/local): program, Lua modules, C library, manual, schemas
	install -d $(foreach d,$(BINDIR) $(LIBPATH)/pkgconfig $(INCDIR) $(MANDIR)/man1,'$(DESTDIR)$(d)')
	$(if $(PROGRAM),install -m 755 -s $(PROGRAM) '$(DESTDIR)$(BINDIR)/skillrt')
	install -m 644 $(LIBRARY) '$(DESTDIR)$(LIBPATH)/libskillrt.a'
	$(if $(HEADER),install -m 644 $(HEADER) '$(DESTDIR)$(INCDIR)/skillrt.h')
	$(if $(MANUAL),install -m 644 $(MANUAL) '$(DESTDIR)$(MANDIR)/man1/skillrt.1')
	install -d '$(DESTDIR)$(DATADIR)/schema'
	install -m 644 $(SCHEMAS) '$(DESTDIR)$(DATADIR)/schema/'
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBPATH)|; s|@INCLUDEDIR@|$(INCDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|; s|@LUAPC@|$(LUAPC)|' skillrt.pc.in \
	  > '$(DESTDIR)$(LIBPATH)/pkgconfig/skillrt.pc'

# what LuaRocks builds and installs (it passes LUADIR and LIBDIR): the Lua modules and the C modules
rock: $(CORE_SO) $(HTTP_SO) $(PG_SO)
install-rock: $(CORE_SO) $(HTTP_SO) $(PG_SO) $(PG_SO)
	install -d '$(DESTDIR)$(LIBDIR)/skillrt' $(foreach d,$(sort $(dir $(LUA_MODULES))),'$(DESTDIR)$(LUADIR)/$(d)')
	install -m 755 -s $^ '$(DESTDIR)$(LIBDIR)/skillrt/'
	@set -e; for f in $(LUA_MODULES); do install -m 644 "lua/$$f" '$(DESTDIR)$(LUADIR)'/"$$f"; done

uninstall: ## remove what install put there
	rm -f '$(DESTDIR)$(BINDIR)/skillrt' '$(DESTDIR)$(LIBPATH)/libskillrt.a' '$(DESTDIR)$(INCDIR)/skillrt.h' \
	  '$(DESTDIR)$(MANDIR)/man1/skillrt.1' '$(DESTDIR)$(LIBPATH)/pkgconfig/skillrt.pc'
	rm -rf '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(LUADIR)/skillrt' '$(DESTDIR)$(LIBDIR)/skillrt'
