package rota_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/file"
)

// The ten identifiers that most programs need. docs/core.md shows these lines, each with a few words.
func Example_core() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "rota-core-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fmt.Println(core(ctx, dir))
	// Output:
	// hello shard 1
	// 42
	// one of us
	// written
	// <nil>
}

func core(ctx context.Context, dir string) error {
	store, err := file.Open(ctx, dir, file.Options{}) // or etcd.Open, nats.Open, postgres.Open …
	if err != nil {
		return err
	}
	defer store.Close()

	consume := rota.NewType("consume", consumeShard) // consumeShard is below, at Grant
	double := rota.NewFunc("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })

	config := rota.Config{
		Member: "web-1", Store: store, Slots: 4,
		Types: []rota.Type{consume}, Functions: []rota.Function{double},
	}

	member, err := rota.Join(ctx, config)
	if err != nil {
		return err
	}
	defer member.Leave(ctx) // its tasks move to the others

	task := rota.Task{
		Type: "consume", Config: Greeting{"hello"},
		Spread: rota.Partitioned, Partitions: []string{"shard 1"},
	}

	if err := member.Submit(ctx, "shards", task); err != nil {
		return err
	}
	if err := member.Wait(ctx, "shards"); err != nil {
		return err
	}

	call, err := double.Submit(ctx, member, 21) // stored when this returns
	if err != nil {
		return err
	}
	result, err := call.Wait(ctx)
	fmt.Println(result)
	if err != nil {
		return err
	}

	err = member.Singleton(ctx, "report", func(ctx context.Context, token rota.Token) error {
		fmt.Println("one of us")
		return ctx.Err()
	})
	if err != nil {
		return err
	}

	err = member.Lock("warehouse").Do(ctx, func(ctx context.Context, token rota.Token) error {
		return write(ctx, token)
	})
	return err
}

type Greeting struct{ Text string }

func consumeShard(ctx context.Context, g *rota.Grant, config Greeting) error {
	last, err := g.LoadPosition(ctx) // nil at first
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(string(last))
	if n == 0 {
		fmt.Println(config.Text, g.Key)
	}
	return g.SavePosition(ctx, []byte(strconv.Itoa(n+1))) // rota.ErrToken: a newer owner has begun
}

// write stands for a resource that refuses smaller tokens.
func write(_ context.Context, token rota.Token) error {
	if token == 0 {
		return errors.New("a token is never 0")
	}
	fmt.Println("written")
	return nil
}

// shards has the lines with which README.md divides work.
func shards(ctx context.Context, member *rota.Member, shards []string) (rota.Type, error) {
	var err error
	consume := rota.NewType("consume", consumeShard) // goes into rota.Config.Types
	err = member.Submit(ctx, "shards", rota.Task{Type: "consume", Spread: rota.Partitioned, Partitions: shards})
	return consume, err
}

var _ = shards
