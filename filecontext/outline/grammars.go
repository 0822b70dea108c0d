package outline

import (
	"maps"
	"slices"
	"sync"
)

// grammars returns the grammar of each language of the module, whose indexes are those of shim.c. They are made at the
// first use.
var grammars = sync.OnceValue(func() map[string]*grammar {
	all := map[string]*grammar{
		"c": cGrammar(), "cpp": cGrammar(), "csharp": csharpGrammar(), "java": javaGrammar(), "javascript": scriptGrammar(),
		"php": phpGrammar(), "python": pythonGrammar(), "ruby": rubyGrammar(), "rust": rustGrammar(), "tsx": scriptGrammar(),
		"typescript": scriptGrammar(),
	}
	for index, language := range slices.Sorted(maps.Keys(all)) {
		all[language].index = uint32(index)
	}
	return all
})
