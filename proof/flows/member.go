package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/proof/server"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// memberVariable makes this process a member: it has a place as JSON.
const memberVariable = "ROTA_FLOWS_MEMBER"

// place is what a member needs to know.
type place struct {
	Member string
	Store  string // a directory, or the URL of a server
	Queue  string // the same, of the queue; "" for the store's own
	Dir    string // of the output
}

const (
	name  = "flows" // of the store on a server
	each  = 250     // segments of a source
	chunk = 5       // segments of a batch
	slots = 8
)

// counted begins the segments that say how many segments a shard of b has seen: counted/SHARD/N.
const counted = "counted/"

const job = `id: crash
tasks:
- {name: s1, type: source}
- {name: s2, type: source}
- {name: s3, type: source}
- {name: a, type: pass, from: [{task: s1, shards: 2}, {task: s2, shards: 2}]}
- {name: b, type: count, keyed: true, from: [{task: a, shards: 2, by: "*"}, {task: s3, shards: 2, by: "*"}]}
- {name: out, type: out, from: {task: b, shards: 2, by: "*"}}
`

// live is a member until the job has ended, or ctx.
func live(ctx context.Context, text string) error {
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	st, err := open(ctx, p.Store)
	if err != nil {
		return err
	}
	defer st.Close()
	var broker rota.Broker
	if p.Queue != "" {
		queue, err := open(ctx, p.Queue)
		if err != nil {
			return err
		}
		defer queue.Close()
		broker = rota.Broker{Queue: queue.(store.Queue), Place: p.Queue}
	}
	m, err := rota.Join(ctx, rota.Config{Member: p.Member, Store: st, Broker: broker, TTL: 3 * time.Second,
		Slots: slots, Types: p.types(), Logger: log})
	if err != nil {
		return err
	}
	go func() {
		<-m.Done() // it cannot go on: another process takes its place
		log.Warn("the member has ended")
		os.Exit(2)
	}()
	if err := again(ctx, func() error {
		_, err := m.SubmitFile(ctx, "crash.yaml", []byte(job))
		return err
	}); err != nil {
		return err
	}
	if err := again(ctx, func() error { return m.Wait(ctx, "crash") }); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "ended"), nil, 0o600); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// open opens a store as soon as the server lets it.
func open(ctx context.Context, place string) (st store.Full, err error) {
	err = again(ctx, func() error {
		if !strings.Contains(place, "://") {
			st, err = file.Open(ctx, place, file.Options{})
			return err
		}
		s := server.Server{URL: place}
		st, err = s.Open(ctx, name, false)
		return err
	})
	return st, err
}

// again calls until there is no error, or ctx ends.
func again(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || ctx.Err() != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "again:", err)
		if ended := pause(ctx, 200*time.Millisecond); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

func (p place) types() []rota.Type {
	type none struct{}
	return []rota.Type{
		rota.NewInput("source", rota.Input[none, string]{Read: func(ctx context.Context, g *rota.Grant, _ none,
			at []byte, out *rota.Sender[string]) ([]byte, bool, error) {
			n, _ := strconv.Atoi(string(at)) // 0 where there is no position
			for i := n; i < min(n+chunk, each); i++ {
				_ = out.Send(fmt.Sprintf("%s/%d", g.Task, i)) // an error fails the batch by itself
			}
			return []byte(strconv.Itoa(n + chunk)), n+chunk >= each, pause(ctx, 60*time.Millisecond)
		}}),
		rota.NewStage("pass", rota.Stage[none, string, string]{Attempts: 1 << 30,
			Do: func(ctx context.Context, _ *rota.Grant, _ none, in []string, out *rota.Sender[string]) error {
				for _, s := range in {
					_ = out.Send(s)
				}
				return pause(ctx, 10*time.Millisecond)
			}}),
		rota.NewKeyed("count", rota.Keyed[none, string, string, int]{
			Attempts: 1 << 30,
			Do: func(ctx context.Context, _ *rota.Grant, _ none, seen *int, in []string,
				out *rota.Sender[string]) error {
				*seen += len(in)
				for _, s := range in {
					_ = out.Send(s)
				}
				return pause(ctx, 10*time.Millisecond)
			},
			End: func(_ context.Context, g *rota.Grant, _ none, seen *int, out *rota.Sender[string]) error {
				return out.Send(fmt.Sprintf("%s%d/%d", counted, g.Index, *seen))
			},
		}),
		rota.NewOutput("out", rota.Output[none, string]{
			Write: func(ctx context.Context, g *rota.Grant, _ none, in []string) error {
				return p.put("out/"+rota.BatchName(ctx), g, in)
			},
			Seal: func(_ context.Context, g *rota.Grant, _ none) error {
				var all []string
				files, err := filepath.Glob(filepath.Join(p.Dir, "out", "*.json"))
				for _, f := range files {
					b, err := readBatch(f)
					if err != nil {
						return err
					}
					all = append(all, b...)
				}
				if err != nil {
					return err
				}
				return p.put(fmt.Sprintf("seals/%s-%d-%d", strings.ReplaceAll(g.Key, ":", "-"), g.Token,
					time.Now().UnixNano()), g, all)
			},
		}),
	}
}

// put makes a file appear whole. What was there under its name is kept beside it, to be compared.
func (p place) put(name string, g *rota.Grant, in []string) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	path := filepath.Join(p.Dir, name+".json")
	onTheWay := fmt.Sprintf("%s.%s.%d.tmp", path, strings.ReplaceAll(g.Key, ":", "-"), g.Token)
	if err := os.WriteFile(onTheWay, data, 0o600); err != nil {
		return err
	}
	if err := os.Link(onTheWay, path); errors.Is(err, os.ErrExist) {
		return os.Rename(onTheWay, fmt.Sprintf("%s.again-%d", path, time.Now().UnixNano()))
	} else if err != nil {
		return err
	}
	return os.Remove(onTheWay)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d): // waits: what makes a flow slow enough to be killed, and between two attempts
		return nil
	}
}

func readBatch(path string) (out []string, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}
