# make test is what CI runs: it gets everything that it needs.

GO          ?= go
STATICCHECK  = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT      = $(GO) run mvdan.cc/gofumpt@v0.12.0
SUDO         = $(shell [ "$$(id -u)" = 0 ] || echo sudo)
FUZZTIME    ?= 30s

.PHONY: build test thorough pages specimens selftest check redis chromium bench fuzz update docs clean

build:
	$(GO) build -o rlbench .

# Everything: static checks, all tests with the race detector, the command line
# against the embedded and a real Redis, pages in a browser. Nothing may skip for want of either. GOGC
# saves a third of the time, which the race detector makes garbage collection take.
# Many tests wait for a clock, so that three of a package go well on two processors.
test: redis chromium check
	GOGC=400 RLBENCH_REQUIRE_REDIS=1 $(GO) test -race -shuffle=on -count=1 -parallel 3 -timeout 20m ./...
	cd testdata/peers && $(GO) vet ./... && $(GO) test -race -count=1 ./...
	$(MAKE) -j2 thorough pages specimens

# What is tried less often under the race detector, as often as it should be.
thorough:
	$(GO) test -count=1 -run TestConformance/embedded ./limiter
	$(GO) test -shuffle=on -count=1 ./report/... ./cmd/tuning

# Pages in a browser, and a selftest of some seconds: each leaves room for the other.
pages: chromium
	cd testdata/browser && $(GO) vet ./... && $(GO) test -count=1 ./...

specimens: redis
	$(GO) run . selftest --redis managed --seeds 2 --count 10 --quiet

# The score of BENCHMARKS.md: no sound limiter accused under 1000 seeds.
selftest: redis
	$(GO) run . selftest --redis managed --seeds 1000 --count 10 --quiet

check:
	$(GO) vet ./...
	$(STATICCHECK) ./...
	@unformatted=$$($(GOFUMPT) -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofumpt:"; echo "$$unformatted"; exit 1; fi

# Install what is missing where we can: one of some commands, the package of Debian that
# has it, what Homebrew calls it.
define install
	@for c in $(1); do if command -v $$c >/dev/null; then exit 0; fi; done; \
	echo "nothing on the PATH of: $(1); installing it"; \
	if command -v apt-get >/dev/null; then $(SUDO) apt-get update -q && $(SUDO) apt-get install -qy $(2); \
	elif command -v brew >/dev/null; then brew install $(3); \
	else echo "install one of: $(1), then run make test again" >&2; exit 1; fi
endef

redis:
	$(call install,redis-server valkey-server,redis-server,redis)

chromium:
	$(call install,chromium chromium-browser google-chrome,chromium,--cask google-chrome)

# The figures of BENCHMARKS.md: Go benchmarks, then other rate limiters beside these.
bench: redis
	RLBENCH_REQUIRE_REDIS=1 $(GO) test -run '^$$' -bench . -benchmem -count=$(or $(COUNT),1) ./limiter ./limiter/httplimit ./limiter/identity
	$(GO) test -run '^$$' -bench . -benchmem -cpu 1 -count=$(or $(COUNT),1) ./scenarios/simulator ./scenarios/trace ./scenarios/crowd
	RLBENCH_REQUIRE_REDIS=1 $(GO) test -run '^$$' -bench . -benchtime $(or $(ROUNDS),3)x ./cmd
	cd testdata/peers && $(GO) run . -rounds $(or $(ROUNDS),3)

fuzz:
	$(GO) test ./limiter -run '^$$' -fuzz FuzzParseLimit -fuzztime $(FUZZTIME)
	$(GO) test ./cmd/demo -run '^$$' -fuzz FuzzRead -fuzztime $(FUZZTIME)
	$(GO) test ./limiter/audit -run '^$$' -fuzz FuzzFind -fuzztime $(FUZZTIME)
	$(GO) test ./limiter/backend -run '^$$' -fuzz FuzzFramer -fuzztime $(FUZZTIME)
	$(GO) test ./limiter/httplimit -run '^$$' -fuzz FuzzNoEscape -fuzztime $(FUZZTIME)
	$(GO) test ./limiter/identity -run '^$$' -fuzz FuzzForwardedFor -fuzztime $(FUZZTIME)
	$(GO) test ./limiter/identity -run '^$$' -fuzz 'FuzzForwarded$$' -fuzztime $(FUZZTIME)
	$(GO) test ./limiter/identity -run '^$$' -fuzz FuzzParseKey -fuzztime $(FUZZTIME)
	$(GO) test ./limiter/identity -run '^$$' -fuzz 'FuzzParse$$' -fuzztime $(FUZZTIME)
	$(GO) test ./scenarios -run '^$$' -fuzz FuzzParseExpr -fuzztime $(FUZZTIME)
	$(GO) test ./scenarios -run '^$$' -fuzz FuzzRead -fuzztime $(FUZZTIME)
	$(GO) test ./scenarios -run '^$$' -fuzz FuzzParseCheck -fuzztime $(FUZZTIME)
	$(GO) test ./scenarios -run '^$$' -fuzz FuzzParseAssignment -fuzztime $(FUZZTIME)
	$(GO) test ./scenarios/trace -run '^$$' -fuzz FuzzLines -fuzztime $(FUZZTIME)
	$(GO) test ./scenarios/target -run '^$$' -fuzz FuzzConvention -fuzztime $(FUZZTIME)
	$(GO) test ./scenarios/target -run '^$$' -fuzz FuzzMappingComment -fuzztime $(FUZZTIME)

# Rewrite golden files, the JSON Schema and docs/scenarios.md; read the diff.
update:
	$(GO) test ./report ./cmd ./scenarios -update

# The pictures of the README: counts in virtual time, the same on any machine.
docs:
	$(GO) run . run boundary-burst --redis embedded -q -o svg=docs/boundary-burst.svg
	$(GO) run . run counter-worst -a log,counter --redis embedded -q -o svg=docs/counter-worst.svg

clean:
	rm -f rlbench
