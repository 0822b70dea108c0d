package cli

import (
	"context"
	"fmt"
	"io"
	"time"
)

// inputPatience is the time after which ReadInput says what it waits for.
const inputPatience = 2 * time.Second

// ReadInput reads all of standard input, at most limit bytes. The end of ctx interrupts it. If the input has not ended
// after a while, a remark says that the command waits for it.
func (p *Process) ReadInput(ctx context.Context, limit int) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() { // ends with the process if the input does not end
		data, err := io.ReadAll(io.LimitReader(p.Stdin, int64(limit)+1))
		read <- input{data, err}
	}()
	waiting := time.NewTimer(inputPatience)
	defer waiting.Stop()
	for {
		select {
		case in := <-read:
			switch {
			case in.err != nil:
				return nil, fmt.Errorf("standard input: %w", in.err)
			case len(in.data) > limit:
				return nil, fmt.Errorf("standard input exceeds the limit of %d bytes", limit)
			}
			return in.data, nil
		case <-waiting.C:
			fmt.Fprintln(p.Stderr, "[waiting for the end of standard input]")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
