//go:build race

package tokens

func init() { scale = 16 }
