//go:build !race

package stability

const less = 1
