package nats_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// A hop of the benchmarks: so many messages of a hundred segments of 200 bytes.
const (
	hopMessages = 64
	hopSegments = 100
)

var hopData = make([]byte, hopSegments*200)

// measured reports segments a second, and CPU of each: of this process, which the server is in as well.
func measured(b *testing.B, hop func() error) {
	b.Helper()
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := cpu()
	for b.Loop() {
		if err := hop(); err != nil {
			b.Fatal(err)
		}
	}
	segments := float64(b.N * hopMessages * hopSegments)
	b.ReportMetric(segments/b.Elapsed().Seconds(), "segments/s")
	b.ReportMetric(float64((cpu()-began).Nanoseconds())/segments, "cpu-ns/segment")
}

// BenchmarkHop moves messages from one shard to the next: received, and committed with their outputs.
func BenchmarkHop(b *testing.B) {
	s := openWith(b, nats.Options{Bucket: bucket()})
	ctx := context.Background()
	from, to := store.Shard{Edge: "a"}, store.Shard{Edge: "b"}
	if err := s.MakeFlow(ctx, "f@1", []store.Shard{from, to}); err != nil {
		b.Fatal(err)
	}
	for i := range hopMessages {
		u := store.Unit{Name: fmt.Sprint("first/", i), Outputs: []store.Put{{Shard: from, Segments: hopSegments, Data: hopData}}, Steady: true}
		if _, err := s.Commit(ctx, "f@1", u); err != nil {
			b.Fatal(err)
		}
	}
	measured(b, func() error {
		var units []store.Unit
		for len(units) < hopMessages {
			got, err := s.Receive(ctx, "f@1", store.Receive{Shard: from, Limit: hopMessages - len(units), Lease: time.Minute})
			if err != nil {
				return err
			}
			for i := range got {
				units = append(units, store.Unit{Inputs: got[i : i+1], Outputs: []store.Put{{Shard: to, Segments: hopSegments, Data: got[i].Data}}, Steady: true})
			}
		}
		_, err := s.Commit(ctx, "f@1", units...)
		from, to = to, from
		return err
	})
}

// BenchmarkBareHop is the same with the vendor's client: fetch, publish create-only without waiting for each answer, acknowledge.
func BenchmarkBareHop(b *testing.B) {
	js, _ := client(b)
	ctx := context.Background()
	var consumers []jetstream.Consumer
	var subjects []string
	for range 2 {
		name := bucket()
		subject := "hop." + name
		stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "hop_" + name, Subjects: []string{subject + ".>"}})
		if err != nil {
			b.Fatal(err)
		}
		c, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1})
		if err != nil {
			b.Fatal(err)
		}
		consumers, subjects = append(consumers, c), append(subjects, subject)
	}
	put := func(to, round, i int, data []byte) (jetstream.PubAckFuture, error) {
		m := &nc.Msg{Subject: fmt.Sprintf("%s.%d.%d", subjects[to], round, i), Data: data, Header: nc.Header{jetstream.ExpectedLastSubjSeqHeader: {"0"}}}
		return js.PublishMsgAsync(m)
	}
	for i := range hopMessages {
		if _, err := put(0, 0, i, hopData); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	from, round := 0, 0
	measured(b, func() error {
		round++
		var got []jetstream.Msg
		var acks []jetstream.PubAckFuture
		for len(got) < hopMessages {
			batch, err := consumers[from].FetchNoWait(hopMessages - len(got))
			if err != nil {
				return err
			}
			for m := range batch.Messages() {
				ack, err := put(1-from, round, len(got), m.Data())
				if err != nil {
					return err
				}
				got, acks = append(got, m), append(acks, ack)
			}
			if err := batch.Error(); err != nil && !errors.Is(err, nc.ErrTimeout) {
				return err
			}
		}
		for i, a := range acks {
			select {
			case <-a.Ok():
			case err := <-a.Err():
				return err
			}
			if err := got[i].Ack(); err != nil {
				return err
			}
		}
		from = 1 - from
		return nil
	})
}
