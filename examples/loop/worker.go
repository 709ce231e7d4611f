package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rota-run/rota"
)

// bucket is where the files are, and what is done.
type bucket struct {
	in, out string
	pause   time.Duration
}

const suffix = ".done"

// outstanding are the files that nobody has committed.
func (b bucket) outstanding() (out []string, err error) {
	entries, err := os.ReadDir(b.in)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(b.out, e.Name()+suffix)); e.Type().IsRegular() &&
			errors.Is(err, os.ErrNotExist) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// downloads are the options of a call: one attempt, so that the leader hears of each failure.
var downloads = rota.FuncOptions{Attempts: 1, Timeout: time.Minute}

// download is what runs on a worker. It has the queue of its process in scope: the name of the file is all that
// travels.
func (b bucket) download(q *queue) rota.Func[string, int] {
	return rota.NewFunc("download", func(ctx context.Context, file string) (int, error) {
		return b.fetch(ctx, q, file)
	}, downloads)
}

// fetch puts a file into the queue, and commits it.
func (b bucket) fetch(ctx context.Context, q *queue, file string) (int, error) {
	data, err := os.ReadFile(filepath.Join(b.in, file))
	if err == nil {
		err = q.say("begin", file, nil)
	}
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(b.pause):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if err := q.say("event", file, data); err != nil {
		return 0, err
	}
	return len(data), os.WriteFile(filepath.Join(b.out, file+suffix), nil, 0o600)
}

// queue is the one from which this process would go on: a file of lines, on the disk when say returns.
type queue struct {
	mu sync.Mutex
	*os.File
}

// line is what say writes.
type line struct {
	Verb string `json:"verb"`
	File string `json:"file"`
	Data []byte `json:"data,omitempty"`
}

func openQueue(dir, member string) (*queue, error) {
	f, err := os.OpenFile(filepath.Join(dir, member+".queue"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the queue: %w", err)
	}
	return &queue{File: f}, nil
}

func (q *queue) say(verb, file string, data []byte) error {
	text, err := json.Marshal(line{verb, file, data})
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	_, err = q.Write(append(text, '\n'))
	return errors.Join(err, q.Sync())
}
