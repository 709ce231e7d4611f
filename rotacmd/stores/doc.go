// Package stores opens a store by its URL.
//
// # Purpose
//
// A program that reads the place of its cluster from its settings should not have to know the options of each store:
//
//	st, err := stores.Open(ctx, os.Getenv("ROTA_STORE"), stores.Options{})
//	member, err := rota.Join(ctx, rota.Config{Member: "web-1", Store: st})
//
// The URLs are those of rota run --store: file:DIR, memory:, and SCHEME://HOST:PORT,…/PATH?KEY=VALUE&… for elastic,
// etcd, kafka, nats, postgres and zookeeper. Options.Kinds adds stores of one's own.
//
// # Guarantees
//
// A wrong URL is an [*Error] that says what to write instead, before anything is connected. No error contains a secret.
//
// # What is not guaranteed
//
// The package links the clients of all servers. A program that needs one store only and wants to stay small opens it by
// its own package, such as store/file. Each memory: is a store of its own.
//
// # Failures
//
// With [Change] and [Look] a place that is not there is [store.ErrNotFound], or [io/fs.ErrNotExist] for a directory.
package stores
