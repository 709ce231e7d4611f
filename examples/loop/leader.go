package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rota-run/rota"
)

// leader is the process whose turn it is to hand out files.
type leader struct {
	client   *rota.Client
	download rota.Func[string, int]
	bucket   bucket
	say      io.Writer
}

// lead gives each outstanding file to an idle worker, and returns when all are done.
func (l *leader) lead(ctx context.Context) error {
	files, err := l.bucket.outstanding()
	if err != nil {
		return err
	}
	fmt.Fprintf(l.say, "leads %d files\n", len(files))
	// A file is in one of them, or with a worker.
	waiting, done := make(chan string, len(files)), make(chan string, len(files))
	for _, f := range files {
		waiting <- f
	}
	for left := len(files); left > 0; {
		select {
		case file := <-waiting:
			if err := l.give(ctx, file, waiting, done); err != nil {
				return err
			}
		case file := <-done:
			fmt.Fprintf(l.say, "done %q\n", file)
			left--
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// give waits for an idle worker and submits the file to it. A worker that fails or is late is marked dead, and the file
// waits again.
func (l *leader) give(ctx context.Context, file string, waiting, done chan<- string) error {
	idle, err := l.client.IdleWorkers(ctx)
	if err != nil {
		return err
	}
	worker := idle[0].Member
	o := downloads
	o.On = worker
	call, err := l.download.With(o).Submit(ctx, l.client, file)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.say, "gives %q to %s\n", file, worker)
	call.OnDone(func(int) { done <- file })
	call.OnFailureOrTimeout(func(err error) {
		fmt.Fprintf(l.say, "puts back %q: %v\n", file, err)
		err = l.client.MarkDead(ctx, worker)
		if err != nil && !errors.Is(err, rota.ErrRefused) { // refused: the others have removed it
			fmt.Fprintf(l.say, "cannot mark %s: %v\n", worker, err)
		}
		waiting <- file
	})
	return nil
}
