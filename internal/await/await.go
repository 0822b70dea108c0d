// Package await waits for the reply of a method that calls a function with it.
package await

import "context"

// Reply calls a method and waits for its reply, which the method passes to a function from any goroutine. If ctx ends first,
// the error is its cause, and the reply is dropped.
func Reply[T any](ctx context.Context, call func(reply func(T, error))) (T, error) {
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	call(func(value T, err error) { results <- result{value, err} })
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
