package approval

import (
	"slices"
	"strings"
	"unicode"

	"strata/internal/lazy"
)

// The tables contain known programs and options. An unknown program is not safe: a user's rule trusts it with every argument
// that the tables do not contain.

// runners are the programs that can run any other by their arguments or their input: shells, interpreters, compilers, wrappers,
// installers, and those that run commands on other machines or exchange data with them.
var runners = lazy.Words(`
	sh ash bash csh dash fish ksh mksh rbash tcsh zsh busybox toybox cmd powershell pwsh elvish nu osh xonsh wsl
	. source alias bind builtin call command compgen complete coproc enable eval exec fc mapfile readarray trap
	if then else elif fi do done while until for in case esac function select time forfiles

	awk gawk mawk nawk bc bpython bun clisp coffee cscript dc deno elixir erl escript expect gdb ghci ghc groovy guile hy iex
	ipython irb janet java jbang jruby jshell julia jupyter jython kotlin lldb lua luajit m4 micropython mshta mysql mariadb
	nim node nodejs npx octave ocaml osascript perl php psql py pypy python pythonw pry qjs r racket raku rscript ruby runghc
	runhaskell sage sbcl scala scheme sed sqlite sqlite3 swift swipl tclsh texlua ts-node tsx vite-node wish wscript zx

	c++ cc clang clang++ cpp g++ gcc gfortran ld latex lualatex pdflatex rustc tex xelatex
	code cursor ed emacs emacsclient ex gio gvim helix hx kak less man micro more nano nvim open rvim start vi view vim vimdiff
	xdg-open

	at batch bwrap bunx chroot chrt cpulimit crontab dbus-run-session direnv dlx doas entr env faketime fakeroot fd firejail
	flatpak flock hyperfine ionice ltrace mount nice nix nohup nsenter openssl parallel perf pipx pkexec pnpx proot rtk run0
	rundll rundll32 runuser schtasks screen script service setarch setpriv setsid setuidgid snap stdbuf strace su sudo systemctl
	systemd-run tar taskset timeout tmux torsocks unbuffer unshare uvx valgrind watch watchexec wmic xargs xvfb-run zip

	apk apt apt-get brew choco cpan cpanm dnf dpkg easy_install luarocks msiexec pacman regsvr rpm scoop winget yum

	adb ansible ansible-playbook aws az bitsadmin buildah certutil curl dig docker docker-compose fly flyctl ftp gcloud gh glab
	gsutil helm heroku host kubectl lftp lxc mongo mongosh mosh nc ncat nerdctl net netcat netlify nslookup oc packer podman
	pulumi rclone redis-cli rsh rsync scp sftp socat ssh telnet terraform tofu vagrant vercel wget whois wrangler
	bzr cvs fossil hg jj svn
`)

// writers are the programs that change or remove the files, or end the processes, in all of their arguments. For them, the first
// argument is no restriction.
var writers = lazy.Words(`
	attrib cacls chgrp chmod chown copy cp csplit dd del erase format ffmpeg gunzip gzip bzip2 bunzip2 convert icacls install
	kill killall ln magick md mkdir mkfifo mklink mknod move mv objcopy patch pkill rd reg ren rename rm rmdir robocopy sc setx
	shred shuf split strip takeown taskkill tee touch truncate uniq unlink unxz unzip xcopy xxd xz zstd 7z 7za
`)

// runsAny reports whether a program can run any other. cmd.exe takes cmd/c for cmd /c, so each name of a path counts.
func runsAny(written string) bool {
	for name := range strings.SplitSeq(written, "/") {
		name = programName(name)
		isPath := (name == "." || name == "..") && name != written
		if !isPath && (slices.Contains(runners(), name) || slices.Contains(runners(), withoutVersion(name))) {
			return true
		}
	}
	return false
}

// known returns the first arguments with which a program runs only programs that the folder configures, and does not reach
// other machines. It is nil for a program without such a list. An alias of git cannot replace one of its commands.
func known(program string) []string {
	switch program {
	case "git":
		return gitCommands()
	case "cargo":
		return cargoCommands()
	case "go":
		return []string{"build", "clean", "doc", "fix", "fmt", "list", "mod", "test", "version", "vet", "work"}
	case "npm":
		return []string{"help", "list", "ls", "outdated", "prefix", "root", "run", "run-script", "t", "test", "tst", "why"}
	case "pnpm":
		return []string{"build", "lint", "list", "ls", "outdated", "run", "t", "test", "typecheck", "why"}
	case "yarn":
		return []string{"build", "lint", "list", "outdated", "test", "typecheck", "why"}
	case "vitest":
		return []string{"list", "related", "run"}
	}
	if withoutVersion(program) == "pip" {
		return []string{"check", "freeze", "inspect", "list", "show"}
	}
	return nil
}

var gitCommands = lazy.Words(`
	add am apply blame branch cat-file check-attr check-ignore checkout cherry cherry-pick clean commit count-objects
	describe diff diff-files diff-index diff-tree for-each-ref fsck log ls-files ls-tree merge-base mv name-rev notes
	reflog reset restore rev-list rev-parse revert rm shortlog show show-ref stash status switch tag worktree
`)

var cargoCommands = lazy.Words(`
	b bench build c check clean clippy d doc fetch fmt generate-lockfile locate-project metadata pkgid t test tree
	verify-project version
`)

// wrapping are the first arguments with which programs without a list run others, change what they run, or exchange data with
// other machines.
var wrapping = lazy.Words(`
	add config console create deploy dlx eval exec execute explore get init install login publish pull push repl run runghc
	script shell spawn ssh tool update upgrade upload watch x
`)

// isKnown reports whether a program may be given the argument first.
func isKnown(program, argument string) bool {
	if listed := known(program); listed != nil {
		return slices.Contains(listed, argument)
	}
	return argument == "." || !slices.Contains(wrapping(), argument) && !runsAny(argument)
}

// builders are the programs that take variables, goals and files of rules as arguments.
var builders = lazy.Words(`
	ant bazel bazelisk buck cmake ctest gmake gradle gradlew invoke just lein mage make meson mix msbuild mvn mvnw ninja nmake nox
	rake sbt scons task tox xcodebuild
`)

// isHarmful reports whether an argument, as written in the line, may make a program run another, or write or remove a file in
// the argument. A shell removes quotes and escapes before the program reads the argument, and replaces a pattern by names of
// files, which may look like options. Some programs convert other characters to dashes.
func isHarmful(program, written string) bool {
	if isPattern(written) {
		return true
	}
	argument := plain(written)
	if slices.Contains(builders(), program) {
		return !isTarget(argument)
	}
	name := strings.TrimLeft(argument, "-")
	switch dashes := len(argument) - len(name); {
	case dashes == 0:
		return false
	case strings.ContainsAny(argument, "*?["):
		return true
	case dashes == 1 && strings.ContainsAny(name, letters(program)):
		return true
	default:
		abbreviates := dashes > 1 || program == "npm" // which takes -name for --name
		is := func(harmful string) bool { return isOption(name, harmful, abbreviates) }
		return slices.ContainsFunc(harmfulOptions(), is) || slices.ContainsFunc(harmfulOptionsOf(program), is)
	}
}

// isPattern reports whether a shell may replace a word by a name with another beginning.
func isPattern(written string) bool {
	for strings.HasPrefix(written, `""`) || strings.HasPrefix(written, "''") {
		written = written[2:]
	}
	return written != "" && strings.ContainsAny(written[:1], "*?[")
}

// plain returns an argument in the form in which options are compared: in lower case, without quotes and escapes.
func plain(written string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`"'\^!`, r):
			return -1
		case unicode.Is(unicode.Pd, r), r == '\u2212':
			return '-'
		case r == '_':
			return '-'
		case r >= '\uff01' && r <= '\uff5e': // the full-width forms of ASCII
			return r - '\uff01' + '!'
		}
		return r
	}, written))
}

// isTarget reports whether an argument of a builder is a target, or an option for the number of jobs and the like.
func isTarget(argument string) bool {
	if options, is := strings.CutPrefix(argument, "-"); is {
		return strings.Trim(options, "jkqv0123456789") == ""
	}
	return !strings.ContainsAny(argument, "=:")
}

// isOption reports whether the name of an option, with its value, is a harmful one or begins like one, as in exec-batch or
// config.shell.
func isOption(name, harmful string, abbreviates bool) bool {
	name, _, _ = strings.Cut(name, "=")
	if rest, is := strings.CutPrefix(name, harmful); is {
		return rest == "" || rest[0] < 'a' || rest[0] > 'z'
	}
	return abbreviates && name != "" && strings.HasPrefix(harmful, name)
}

// harmfulOptions are options of many programs, without dashes.
var harmfulOptions = lazy.Words(`
	command compress-program config delete editor eval exec execdir execute fls fprint fprintf globalconfig hostname-bin
	import init-command init-hook init-script interpreter linker load-plugins loader log-file manifest-path node-options ok
	okdir open-files-in-pager out outdir outfile output pager parser plugin plugins pre prefix preload python-executable rcfile
	receive-pack require rulesdir script-shell shell strategy toolexec unsafe-paths upload-pack userconfig vettool wrapper
`)

// harmfulOptionsOf returns the further harmful options of a program.
func harmfulOptionsOf(program string) []string {
	switch {
	case slices.Contains(loaders(), program):
		return loadingOptions()
	case program == "go":
		return goOptions()
	case program == "pytest":
		return []string{"basetemp", "confcutdir", "junit-xml", "junitxml", "override-ini", "pdbcls", "rootdir"}
	}
	return nil
}

// loaders are programs that run the files in certain options.
var loaders = lazy.Words(`
	ava c8 cypress esbuild eslint jest karma mocha nyc parcel phpunit playwright prettier rollup rspec rubocop stylelint tap vite
	vitest webpack
`)

var loadingOptions = lazy.Words(`
	bootstrap environment file format globalsetup globalteardown reporter reporters resolver runner setupfiles testenvironment
	testrunner transform ui
`)

var goOptions = lazy.Words(`
	asmflags blockprofile compiler coverprofile cpuprofile gccgoflags gcflags ldflags memprofile modfile mutexprofile o outputdir
	overlay pkgdir test trace
`)

// letters returns the harmful options of one letter, which may be written together with others.
func letters(program string) string {
	switch {
	case slices.Contains(loaders(), program):
		return "cdfor"
	case program == "cargo":
		return "z"
	case program == "pytest":
		return "cop"
	case slices.Contains([]string{"iconv", "sort", "tree"}, program):
		return "o"
	}
	return ""
}
