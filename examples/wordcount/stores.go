package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/kafka"
	"github.com/rota-run/rota/store/nats"
)

// openStore opens the store that the members meet in: a directory, or servers as nats://HOST:PORT,HOST:PORT/NAME or
// kafka://HOST:PORT/NAME.
func openStore(ctx context.Context, place string) (store.Full, error) {
	scheme, rest, ok := strings.Cut(place, "://")
	if !ok {
		return opened(file.Open(ctx, strings.TrimPrefix(place, "file:"), file.Options{}))
	}
	hosts, name, _ := strings.Cut(rest, "/")
	servers := strings.Split(hosts, ",")
	switch scheme {
	case "nats":
		for i := range servers {
			servers[i] = "nats://" + servers[i]
		}
		return opened(nats.Open(ctx, nats.Options{URLs: servers, Bucket: name}))
	case "kafka":
		return opened(kafka.Open(ctx, kafka.Options{Brokers: servers, Name: name}))
	}
	return nil, fmt.Errorf("store %s: unknown kind: try a directory, nats://127.0.0.1:4222/rota or kafka://127.0.0.1:9092/rota", scheme)
}

// opened gives a store the type of all stores; an error leaves none.
func opened[S store.Full](s S, err error) (store.Full, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
