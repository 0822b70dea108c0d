package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"strata/internal/lazy"
)

// operators are the characters with which a shell joins, redirects, groups or replaces commands.
const operators = ";&|<>$(){}`\n"

// words returns the words of a simple command as a shell reads them, nil if the line is none: it has an operator, or
// characters that terminals hide. Words with quotes or backslashes are returned as they are written.
func words(line string) []string {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if strings.ContainsAny(line, operators) || strings.ContainsFunc(line, isControl) {
		return nil
	}
	return strings.FieldsFunc(line, isBlank)
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// beginning returns the program and the first argument of a simple command, with a blank between them, if a rule may allow
// all simple commands that begin with them.
func beginning(line string) (string, bool) {
	all := words(line)
	if len(all) < 2 || slices.ContainsFunc(all[2:], runsAnother) {
		return "", false
	}
	begin := all[0] + " " + all[1]
	return begin, checkBeginning(begin) == nil
}

// checkBeginning returns why a rule must not allow all simple commands that begin with these words, nil if it may.
func checkBeginning(begin string) error {
	all := words(begin)
	if len(all) != 2 || !isLiteral(all[0]) || !isLiteral(all[1]) {
		return errors.New("a rule that allows needs the program and its first argument before *, without quotes and patterns")
	}
	program, argument := programName(all[0]), all[1]
	switch {
	case strings.HasPrefix(argument, "-"):
		return errors.New("the first argument is an option; a rule can only allow whole command lines")
	case slices.Contains(runners(), program) || slices.Contains(runners(), withoutVersion(program)):
		return fmt.Errorf("%s can run any program; a rule can only allow whole command lines", program)
	case program == "git" && !slices.Contains(gitCommands(), argument):
		return fmt.Errorf("git %s can run any program; a rule can only allow whole command lines", argument)
	case slices.Contains(runningArguments(program), argument):
		return fmt.Errorf("%s %s can run any program; a rule can only allow whole command lines", program, argument)
	}
	return nil
}

// isLiteral reports whether a shell takes a word as it is written. A program with = would be a variable.
func isLiteral(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,/:@") == ""
}

// programName returns the name of a program by which the tables have it.
func programName(word string) string {
	name := strings.ToLower(word[strings.LastIndex(word, "/")+1:])
	for _, end := range []string{".exe", ".cmd", ".bat", ".com", ".ps1"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// withoutVersion returns the name of a program before a number, such as python for python3.12.
func withoutVersion(program string) string {
	if at := strings.IndexAny(program, "0123456789"); at >= 0 {
		program = program[:at]
	}
	return strings.TrimRight(program, ".-")
}

// runsAnother reports whether an argument may be an option by which find, go, rg and others run a program or remove
// files. A shell removes quotes and backslashes before it compares, and replaces patterns.
func runsAnother(argument string) bool {
	option := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`"'\`, r) {
			return -1
		}
		return r
	}, argument)
	if !strings.HasPrefix(option, "-") {
		return false
	}
	if strings.ContainsAny(option, "*?[") {
		return true
	}
	name := strings.TrimLeft(option, "-")
	return slices.ContainsFunc(runningOptions, func(running string) bool { return strings.HasPrefix(name, running) })
}

// hasWords reports whether the words of a part are words of a line in a row, without regard to quotes, operators, and the
// folder of a program.
func hasWords(line, part string) bool {
	all, wanted := looseWords(line), looseWords(part)
	for ; len(wanted) > 0 && len(all) >= len(wanted); all = all[1:] {
		if slices.Equal(all[1:len(wanted)], wanted[1:]) && programName(all[0]) == programName(wanted[0]) {
			return true
		}
	}
	return false
}

// looseWords splits a line at blanks and operators, and removes quotes and backslashes.
func looseWords(line string) []string {
	line = strings.NewReplacer(`"`, "", "'", "", "\\\n", " ", `\`, "").Replace(line)
	return strings.FieldsFunc(line, func(r rune) bool { return r <= ' ' || strings.ContainsRune(operators, r) })
}

// runners are the programs that can run any other by their arguments or their input: shells, interpreters, wrappers, and
// those that run commands on other machines or exchange data with them.
var runners = lazy.Words(`
	sh ash bash csh dash fish ksh mksh rbash tcsh zsh busybox toybox cmd powershell pwsh elvish nu osh xonsh
	. source alias builtin command coproc eval exec trap if then else elif do while until for case function select time

	awk gawk mawk nawk bc bun clisp cscript dc deno ed elixir emacs erl ex expect fd gdb ghci ghc groovy guile irb java
	jshell julia lldb lua luajit m4 mshta mysql nim node nodejs npx nvim ocaml osascript perl php psql pypy python pythonw
	pry r racket raku rscript ruby runghc runhaskell sbcl scala scheme sed sqlite sqlite3 swift tclsh ts-node tsx vi vim
	wish wscript

	at batch bwrap bunx chroot chrt cpulimit dbus-run-session direnv dlx doas entr env faketime firejail flatpak flock
	fakeroot hyperfine ionice less ltrace man more nice nix nohup nsenter parallel perf pipx pkexec pnpx proot rtk run0
	rundll rundll32 runuser screen script setarch setpriv setsid setuidgid snap start stdbuf strace su sudo systemd-run
	tar taskset timeout tmux torsocks unbuffer unshare uvx valgrind watch watchexec xargs xdg-open xvfb-run zip

	adb ansible aws az buildah curl docker docker-compose ftp gcloud gh glab helm kubectl lftp lxc mosh nc ncat nerdctl
	netcat oc podman rclone rsh rsync scp sftp socat ssh telnet vagrant wget
`)

// runningArguments returns the first arguments with which a program runs any other.
func runningArguments(program string) []string {
	switch program {
	case "bundle", "cabal", "opam":
		return []string{"exec"}
	case "cargo", "conda", "hatch", "rustup":
		return []string{"run"}
	case "dotnet":
		return []string{"exec", "run"}
	case "go":
		return []string{"generate", "run", "tool"}
	case "mise":
		return []string{"exec", "x"}
	case "npm":
		return []string{"exec", "explore", "x"}
	case "pipenv", "poetry":
		return []string{"run", "shell"}
	case "pnpm", "yarn":
		return []string{"dlx", "exec"}
	case "stack":
		return []string{"exec", "runghc", "script"}
	case "uv":
		return []string{"run", "tool", "x"}
	}
	return nil
}

// runningOptions are the beginnings of options, without dashes, by which programs run another or remove
// files.
var runningOptions = []string{
	"checkpoint-action", "compress-program", "delete", "exec", "fls", "fprint", "ok", "pre", "rsh", "to-command", "toolexec",
	"use-compress-program", "vettool",
}

// gitCommands are the commands of git that run no other program by their arguments and talk to no other machine. git takes no
// alias for them.
var gitCommands = lazy.Words(`
	add am apply blame branch cat-file check-attr check-ignore checkout cherry cherry-pick clean commit count-objects
	describe diff diff-files diff-index diff-tree for-each-ref fsck log ls-files ls-tree merge-base mv name-rev notes
	reflog reset restore rev-list rev-parse revert rm shortlog show show-ref stash status switch tag worktree
`)
