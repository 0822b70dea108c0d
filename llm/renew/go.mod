// The program that writes llm/models.tsv has a module of its own, so that the server does not need its dependencies.
module strata/llm/renew

go 1.26.8

require charm.land/catwalk v0.52.1

require github.com/charmbracelet/x/etag v0.2.0 // indirect
