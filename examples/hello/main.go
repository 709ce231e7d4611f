// Program hello is the first program of docs/guide/library.md: run it twice, and kill one of the two.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/store/file"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		log.Fatal("usage: hello MEMBER")
	}
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name string) error {
	store, err := file.Open(ctx, "rota-hello", file.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	hello := rota.NewCheck("hello", func(_ context.Context, g *rota.Grant, _ struct{}) error {
		fmt.Println("hello from", g.Member, "under token", g.Token)
		return nil
	})
	member, err := rota.Join(ctx, rota.Config{Member: name, Store: store, Types: []rota.Type{hello}})
	if err != nil {
		return err
	}
	if err := member.Submit(ctx, "greeting", rota.Task{Type: "hello", Every: time.Second}); err != nil {
		return err
	}
	select {
	case <-ctx.Done(): // ctrl-c
	case <-member.Done():
	}
	return member.Leave(context.Background()) // its tasks move to the others
}
