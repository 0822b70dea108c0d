package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// operators are the characters with which a shell joins, redirects, groups or replaces commands.
const operators = ";&|<>$(){}`\n"

// words returns the words of a line; nil for a line with operators or control characters. The words keep their quotes and
// backslashes.
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
	if len(all) < 2 || !isSimple(line) {
		return "", false
	}
	begin := all[0] + " " + all[1]
	if checkBeginning(begin) != nil {
		return "", false
	}
	program := programName(all[0])
	return begin, !slices.ContainsFunc(all[2:], func(written string) bool { return isHarmful(program, written) })
}

// isSimple reports whether a line without operators is one command to sh and to cmd.exe. They differ in quotes, so operators
// count in quotes, too. cmd.exe expands variables between two % or two !.
func isSimple(line string) bool {
	isHidden := func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }
	return utf8.ValidString(line) && !strings.ContainsFunc(line, isHidden) &&
		strings.Count(line, "%") < 2 && strings.Count(line, "!") < 2 && isClosed(line)
}

// isClosed reports whether each quote of a line is closed, and a character follows each backslash.
func isClosed(line string) bool {
	quote, escapes := rune(0), false
	for _, r := range line {
		switch {
		case escapes:
			escapes = false
		case r == '\\' && quote != '\'':
			escapes = true
		case quote == r:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		}
	}
	return quote == 0 && !escapes
}

// checkBeginning returns why a rule must not allow all simple commands that begin with these words, nil if it may.
func checkBeginning(begin string) error {
	all := words(begin)
	if len(all) != 2 || !isLiteral(all[0]) || !isLiteral(all[1]) || strings.ContainsAny(all[0], ",:@") || strings.ContainsAny(all[0][:1], "-+") {
		return errors.New("a rule that allows needs the program and its first argument before *, without quotes and patterns")
	}
	const only = "; a rule can only allow whole command lines"
	program, argument := programName(all[0]), all[1]
	switch {
	case strings.HasPrefix(argument, "-"):
		return errors.New("the first argument is an option" + only)
	case runsAny(all[0]):
		return fmt.Errorf("%s can run any program"+only, program)
	case slices.Contains(writers(), program):
		return fmt.Errorf("%s can change any file"+only, program)
	case !isKnown(program, argument):
		return fmt.Errorf("%s %s can run any program"+only, program, argument)
	case isHarmful(program, argument):
		return fmt.Errorf("%s %s can change what %s runs"+only, program, argument, program)
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

// hasWords reports whether a line contains the words of a part in a row. It ignores quotes, operators, the folder of a program,
// and options between the words.
func hasWords(line, part string) bool {
	all, wanted := looseWords(line), looseWords(part)
	for ; len(wanted) > 0 && len(all) > 0; all = all[1:] {
		if programName(all[0]) == programName(wanted[0]) && follow(all[1:], wanted[1:]) {
			return true
		}
	}
	return false
}

// maxSkipped is the maximum number of options that follow skips before a word.
const maxSkipped = 32

// follow reports whether a line continues with the wanted words. Before each there may be options, each of which may have a value.
func follow(all, wanted []string) bool {
	for _, word := range wanted {
		for range maxSkipped {
			if len(all) == 0 || all[0] == word || !strings.HasPrefix(all[0], "-") {
				break
			}
			if all = all[1:]; len(all) > 0 && all[0] != word && !strings.HasPrefix(all[0], "-") {
				all = all[1:]
			}
		}
		if len(all) == 0 || all[0] != word {
			return false
		}
		all = all[1:]
	}
	return true
}

// looseWords splits a line at blanks and operators, and removes quotes and escapes.
func looseWords(line string) []string {
	line = strings.NewReplacer(`"`, "", "'", "", "\\\r\n", "", "\\\n", "", `\`, "", "^", "", "${IFS}", " ", "$IFS", " ").Replace(line)
	return strings.FieldsFunc(line, func(r rune) bool { return r <= ' ' || strings.ContainsRune(operators+",@", r) })
}
