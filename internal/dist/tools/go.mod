// The tools of `make dist`, apart from the modules of the program.
module strata/internal/dist/tools

go 1.26.8
