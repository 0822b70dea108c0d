package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/config"
)

// CompleteFlag sets the function that completes the values of a flag in shells. A flag that cmd does not have is a fault
// of the program.
func CompleteFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(fmt.Sprintf("complete --%s: %v", flag, err))
	}
}

// CompleteSettings completes the values of the flags of settings that cmd has.
func CompleteSettings(cmd *cobra.Command) {
	for _, c := range config.Completions() {
		switch {
		case cmd.Flags().Lookup(c.Flag) == nil:
		case c.Files:
			CompleteFlag(cmd, c.Flag, AnyFile)
		case c.Folders:
			CompleteFlag(cmd, c.Flag, AnyFolder)
		default:
			CompleteFlag(cmd, c.Flag, Words(c.Words...))
		}
	}
}

// Words returns a function that completes one of some words.
func Words(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return Beginning(typed, words), cobra.ShellCompDirectiveNoFileComp
	}
}

// AnyFile completes paths of files.
func AnyFile(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// AnyFolder completes paths of folders.
func AnyFolder(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// Beginning returns the completions that begin with what was typed.
func Beginning(typed string, all []cobra.Completion) []cobra.Completion {
	var some []cobra.Completion
	for _, c := range all {
		if strings.HasPrefix(c, typed) {
			some = append(some, c)
		}
	}
	return some
}
