# deps.mk: what must be on the machine, and how the goals wait for it.
#
# make/deps.sh probes for each thing by use (a command, a pkg-config name, a Lua module) and
# installs the Debian packages of what is missing; with nothing missing it runs no apt.

##@ Set-up
.PHONY: deps
deps: ## install what is missing (apt on Debian; elsewhere says what to install). FOR="build test lint fuzz bench rock static arm64 deb bare pictures"
	@CC='$(CC)' LUA='$(LUA)' LUAPC='$(LUAPC)' PKG='$(PKG)' sh make/deps.sh $(FOR)

# what each goal needs; a plain `make` asks for nothing and installs nothing
FOR_demo := build test
FOR_test := build test lint
FOR_test-c := build
FOR_test-lua := build test
FOR_test-specs := build test
FOR_bench := build test bench
FOR_cover := build test
FOR_lint := build test lint
FOR_fuzz := build fuzz
FOR_static := build static
FOR_static-arm64 := build arm64
FOR_deb := build deb
FOR_pictures := build pictures
FOR ?= $(or $(sort $(foreach goal,$(MAKECMDGOALS),$(FOR_$(goal)))),build test)
NEED := $(if $(strip $(foreach goal,$(MAKECMDGOALS),$(FOR_$(goal)))),deps)
