//go:build !race

package llm

const less = 1
