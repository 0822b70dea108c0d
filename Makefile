# `make help` lists the targets. They need Go; `make test` and `make check` also need the tools of .ci/install-tools.

GO       ?= go
FUZZTIME ?= 5s
VERSION  := $(shell git describe --tags --exact-match --match 'v*' --dirty 2>/dev/null)
COMMIT   := $(shell git rev-parse HEAD 2>/dev/null)
DATE     := $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%d --format=%cd 2>/dev/null)
BUILD    := $(GO) build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)"

# Packages whose tests start the real binary. Races there occur in the other process, which has the race detector if the
# test has it: `make check` runs only the tests of internal/binary this way, `make race` all tests.
BINARY_USERS = {{range .}}{{if eq . "strata/internal/binary"}}{{$$.ImportPath}}{{end}}{{end}}
STARTS_BINARY = $(shell $(GO) list -f '{{with .TestImports}}$(BINARY_USERS){{end}} {{with .XTestImports}}$(BINARY_USERS){{end}}' ./...)
RACE_PACKAGES = $(filter-out $(STARTS_BINARY),$(shell $(GO) list ./...))

.DEFAULT_GOAL := help
.PHONY: help run build client hud vsix dist dist-sizes dist-test dist-roots image example screenshots test test-binary soak check format vet lint race-check race bench bench-packages bench-cache bench-fidelity kept models outlines fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build and start the server with an offline model
	STRATA_MODEL=offline/digest bin/strata serve $(ARGS)

build: ## build bin/strata
	$(BUILD) -o bin/ ./cmd/strata

client: ## build web/client/dist, the JavaScript client library with types
	.ci/install-tools node npm
	cd web/client && npm ci --prefer-offline --no-audit --no-fund && npm run --silent build

hud: ## build the HUD, the server's web page, from web/hud and web/client
	.ci/install-tools node npm
	cd web/hud && npm ci --ignore-scripts --no-audit --no-fund && npx tsc
	rm -f web/assets/hud*
	$(GO) tool esbuild hud=web/hud/src/main.tsx hud=web/hud/src/style/page.css hud-code=web/hud/src/code/worker.ts --bundle --splitting --minify --format=esm \
		--target=chrome115,firefox115,safari17 --charset=utf8 --legal-comments=eof --log-level=warning \
		--chunk-names=hud-[name]-[hash] --outdir=web/assets
	$(GO) test ./web -run BuildOfTheHUD -count=1 -args -update

vsix: ## build bin/strata.vsix, the extension for VS Code, from web/vscode, web/hud and web/client
	.ci/install-tools node npm
	cd web/hud && npm ci --ignore-scripts --no-audit --no-fund
	cd web/vscode && npm ci --ignore-scripts --no-audit --no-fund && npm run --silent check
	rm -rf web/vscode/dist
	GO=$(GO) web/vscode/build
	mkdir -p bin
	web/vscode/pack $(CURDIR)/bin/strata.vsix

# TARGETS limits the systems: make dist TARGETS='linux/amd64 windows/arm64'
dist: vsix client ## build bin/dist: archives, packages, the extension and the client library, with checksums and SBOM, and check them
	.ci/install-tools zip
	rm -rf bin/dist
	mkdir -p bin/dist
	cp bin/strata.vsix bin/dist/
	cd web/client && npm pack --silent --pack-destination $(CURDIR)/bin/dist
	GO=$(GO) internal/dist/build bin/dist $(TARGETS)
	$(GO) test ./internal/dist -run 'TestRelease$$|TestTableOfSizes' -count=1 -args -release $(CURDIR)/bin/dist -targets '$(TARGETS)'

dist-sizes: ## write the sizes of the files in bin/dist to docs/benchmarks.md
	$(GO) test ./internal/dist -run TestTableOfSizes -count=1 -args -release $(CURDIR)/bin/dist -targets '$(TARGETS)' -update

dist-test: ## check that two builds of a release, with different folders, caches and settings, are equal byte for byte
	.ci/install-tools git zip
	internal/dist/compare $(TARGETS)

DIST  ?= bin/dist
IMAGE ?= strata

dist-roots: ## install and remove the packages of bin/dist in a clean Debian system, and run the container image (Linux, as root)
	.ci/install-tools mmdebstrap systemd-nspawn podman crun ca-certificates
	$(GO) test ./internal/dist/trial -v -count=1 -timeout 30m -args -dist $(abspath $(DIST)) -root "$$(internal/dist/root)"

image: ## build the container image of the server from bin/dist, with podman or buildah (IMAGE=name)
	.ci/install-tools podman ca-certificates
	internal/dist/image $(DIST)/strata_*_linux_$$($(GO) env GOARCH).tar.gz $(IMAGE)

EXAMPLE_PORT ?= 7720

example: ## serve the page with an editor in web/example (EXAMPLE_PORT=n)
	.ci/install-tools node npm
	cd web/example && npm ci --ignore-scripts --no-audit --no-fund && npm run --silent check
	@echo 'The page is at http://localhost:$(EXAMPLE_PORT). The server must allow its origin, for example:'
	@echo '  bin/strata serve --origins http://localhost:$(EXAMPLE_PORT),http://127.0.0.1:$(EXAMPLE_PORT)'
	@echo '`bin/strata token show` prints the token.'
	GO=$(GO) web/example/build ../../bin/example --servedir=../../bin/example --serve=localhost:$(EXAMPLE_PORT)

screenshots: ## write the screenshots of the HUD to docs/images, of the extension to web/vscode/media, and of the example
	.ci/install-tools chromium node npm
	$(GO) test ./internal/hudtest -run TestScreenshots -count=1 -screenshots $(CURDIR)/docs/images
	$(GO) test ./internal/vscodetest -run TestScreenshots -count=1 -screenshots $(CURDIR)/web/vscode/media
	$(GO) test ./web/example -run TestScreenshots -count=1 -screenshots $(CURDIR)/web/example

# The packages whose tests take longest, first, and four at once: the others fill the gaps while these wait.
LONG = ./web/client ./internal/hudtest ./internal/vscodetest ./internal/crash ./server

test: test-binary ## run all tests, including those with the real binary and real clients
	.ci/install-tools git node npm chromium zip
	$(GIVE_BINARY) $(GO) test -p 4 -vet off -timeout 30m $(LONG) ./...

# The packages that start the binary get one build of it (internal/binary) and run again if it changes.
GIVE_BINARY = STRATA_TEST_BINARY=$(CURDIR)/bin/test/strata STRATA_TEST_BINARY_BUILD="$$(cksum <bin/test/strata)"

test-binary:
	$(GO) build -buildvcs=false -ldflags '-s -w' -o bin/test/ ./cmd/strata

SEED  ?= $(shell date +%s)
soak: SEED := $(SEED)
SOAK   = $(GIVE_BINARY) $(GO) test -v -count=1 -timeout 0

soak: test-binary ## run the tests with random or long sequences at full length (SEED=n)
	.ci/install-tools chromium
	@echo "seed $(SEED)"
	$(SOAK) ./stability -run TestRandomSessions -seed $(SEED) -walks 5000
	$(SOAK) ./historystore -run TestStoreMatchesModel -seed $(SEED) -changes 20000
	$(SOAK) ./session -run TestEveryRequestFits -seed $(SEED) -walks 2000
	$(SOAK) ./session/events -run TestSubscribersEndWithTheTranscript -seed $(SEED) -walks 20000
	$(SOAK) ./llm -run InAllWritings -writings
	$(SOAK) ./server -run 'TestRandomSessionsOnACachingProvider|TestRestartsChangeNoByte' -walkseed $(SEED) -walks 40
	$(SOAK) ./internal/crash -run 'RandomKills|LargeSession' -seed $(SEED) -kills 500 -large 9000
	$(SOAK) ./internal/mcpcheck -run RandomKills -seed $(SEED) -kills 200
	$(SOAK) ./internal/crash -run TestF35StopAndGoOn -stops 50
	$(SOAK) ./internal/crash -run TestUseLevelsOff -seed $(SEED) -sessions 300 -use 30m
	$(SOAK) ./internal/hudtest -run TestLongUseLevelsOff -turns 2000
	$(SOAK) ./internal/hudtest -run TestADayOfUse -day-sessions 12 -day-turns 400

check: format vet lint race-check ## run all checks of CI except `make test`

format:
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || { echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; }
	$(GO) mod tidy -diff

vet:
	$(GO) vet ./...
	$(GO) test ./internal/architecture -run TestEverythingCompiles -systems windows,darwin

lint:
	$(GO) tool staticcheck ./...

# Without the tests that are long for their amount of data: `make race` runs them too.
race-check:
	.ci/install-tools git gcc
	CGO_ENABLED=1 $(GO) test -race -short -timeout 30m $(RACE_PACKAGES)

race: ## run all tests with the race detector, also in the binary that they start
	.ci/install-tools git gcc node npm chromium
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./...

bench: ## measure the server and compare each figure to its reference (8 minutes)
	.ci/bench

bench-packages: ## run the benchmarks of the packages
	.ci/bench packages

bench-fidelity: ## count the facts in sessions that survive three compactions
	$(GO) test ./session/compacting -run 'TestFidelity$$' -v -count=1

bench-cache: build ## calculate the cost of recorded sessions with each layout
	bin/strata replay --bill internal/replay/testdata/train

kept: test-binary ## make a database of the present schema for the tests of upgrades (internal/kept)
	$(GIVE_BINARY) $(GO) test ./internal/kept -run TestMakeADatabase -count=1 -args -keep testdata

models: ## update llm/models.tsv, the list of models, from the module in llm/renew/go.mod
	cd llm/renew && $(GO) run . ../models.tsv

outlines: ## build the parsers of filecontext/outline, a WebAssembly module, from the npm packages in its file sources
	.ci/install-tools node npm clang wasm-ld wasi-libc libclang-rt-dev-wasm32
	filecontext/outline/wasm/build
	$(GO) test ./filecontext/outline -run TestModule -count=1

fuzz: ## run each fuzz test briefly (FUZZTIME=5s)
	.ci/fuzz $(FUZZTIME)

clean: ## remove build results
	rm -rf bin web/client/dist web/vscode/dist
