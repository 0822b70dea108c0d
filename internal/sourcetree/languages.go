package sourcetree

import (
	"fmt"
	"path"
	"strings"
)

// A language has the texts of its files.
type language struct {
	head       func(file int) string
	reference  func(to int) string // an import of another file's first definition
	use        func(to int) string // of that definition; nil if the import names it
	definition string              // with its number as %[1]d
}

// endings are the endings of the files, in turn.
var endings = []string{"c", "go", "java", "py", "rs", "ts"}

// languages are the languages of the files by their endings.
var languages = map[string]language{
	"c": {
		head:       func(int) string { return "#include <stdlib.h>\n" },
		reference:  func(to int) string { return fmt.Sprintf("#include %q\n", "../../"+Path(to)) },
		definition: "struct point%[1]d { int x; int y; };\n\nint distance%[1]d(struct point%[1]d *a) {\n\treturn a->x + a->y + %[1]d;\n}\n\n",
	},
	"go": {
		head:       func(file int) string { return "package " + module(file) + "\n\n" },
		reference:  func(to int) string { return fmt.Sprintf("import %q\n", goModule+"/"+path.Dir(Path(to))) },
		use:        func(to int) string { return fmt.Sprintf("var handle%d = %s.Handle%d\n\n", to, module(to), first(to)) },
		definition: "// Handle%[1]d handles one.\nfunc Handle%[1]d(in Request) (Response, error) {\n\tif in.Size > %[1]d {\n\t\treturn Response{}, errTooLarge\n\t}\n\treturn next.Handle(in)\n}\n\n",
	},
	"java": {
		head: func(file int) string { return "package " + dotted(path.Dir(Path(file))) + ";\n\n" },
		reference: func(to int) string {
			return fmt.Sprintf("import %s.Service%d;\n", dotted(path.Dir(Path(to))), first(to))
		},
		definition: "class Service%[1]d {\n  private final Repo repo;\n\n  public int count%[1]d(String name) {\n    return repo.find(name).size() + %[1]d;\n  }\n}\n\n",
	},
	"py": {
		head:       func(int) string { return "from abc import ABC\n" },
		reference:  func(to int) string { return fmt.Sprintf("from %s import Order%d\n", dotted(stem(to)), first(to)) },
		definition: "class Order%[1]d(ABC):\n    def total_%[1]d(self, items: list[int]) -> int:\n        return sum(i.price for i in items) + %[1]d\n\n",
	},
	"rs": {
		head: func(int) string { return "use std::collections::HashMap;\n" },
		reference: func(to int) string {
			return fmt.Sprintf("use crate::%s::Node%d;\n", strings.ReplaceAll(stem(to), "/", "::"), first(to))
		},
		definition: "pub struct Node%[1]d {\n    value: u32,\n}\n\nimpl Node%[1]d {\n    pub fn value%[1]d(&self) -> u32 {\n        self.value + %[1]d\n    }\n}\n\n",
	},
	"ts": {
		head:       func(int) string { return "import { Item } from \"shop\";\n" },
		reference:  func(to int) string { return fmt.Sprintf("import { Cart%d } from %q;\n", first(to), "../../"+stem(to)) },
		definition: "export class Cart%[1]d {\n  constructor(private readonly items: Item[]) {}\n\n  total%[1]d(): number {\n    return this.items.reduce((a, i) => a + i.price, %[1]d);\n  }\n}\n\n",
	},
}

const goModule = "example.com/shop"

func dotted(path string) string { return strings.ReplaceAll(path, "/", ".") }

// first returns the number of a file's first definition.
func first(file int) int { return file * 100 }
