package nats_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store/nats"
)

// A pipeline of the benchmarks: a source, and three stages after it, of which the last one puts nothing out. A message
// has a hundred segments of 200 bytes.
const (
	pipeMessages = 4000
	pipeStages   = 3
	pipeParts    = 4 // in which the source is read
	pipeSegments = 100
	pipeFetch    = 64 // messages that the bare client fetches at once
)

var pipeData = make([]byte, pipeSegments*200)

// measured reports segments a second, and CPU of each, of this process.
func measured(b *testing.B, pipe func() error) {
	b.Helper()
	cpu := func() time.Duration {
		var u syscall.Rusage
		must.Succeed(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := cpu()
	for b.Loop() {
		must.Succeed(b, pipe())
	}
	segments := float64(b.N * pipeMessages * pipeSegments)
	b.ReportMetric(segments/b.Elapsed().Seconds(), "segments/s")
	b.ReportMetric(float64((cpu()-began).Nanoseconds())/segments, "cpu-ns/segment")
}

// BenchmarkPipeline runs a flow of a source, read in four parts, and three stages, each on one slot, from its
// submission to the end of its job. It compares with BenchmarkBarePipeline.
func BenchmarkPipeline(b *testing.B) {
	s := openWith(b, nats.Options{Bucket: bucket()})
	var written atomic.Int64
	segment := make([]byte, len(pipeData)/pipeSegments)
	m, err := rota.Join(b.Context(), rota.Config{Member: "m", Store: s, Slots: pipeStages + pipeParts,
		Types: []rota.Type{
			rota.NewInput("in", rota.Input[struct{}, []byte]{Ahead: 16, Read: func(_ context.Context, _ *rota.Grant,
				_ struct{}, at []byte, out *rota.Sender[[]byte]) ([]byte, bool, error) {
				n := 0
				_, _ = fmt.Sscan(string(at), &n) // 0 at first
				for range pipeSegments {
					_ = out.Send(segment) // its error fails the batch
				}
				return fmt.Append(nil, n+1), n+1 == pipeMessages/pipeParts, nil
			}}),
			rota.NewStage("hop", rota.Stage[struct{}, []byte, []byte]{Do: func(_ context.Context, _ *rota.Grant,
				_ struct{}, in [][]byte, out *rota.Sender[[]byte]) error {
				for _, s := range in {
					_ = out.Send(s)
				}
				return nil
			}}),
			rota.NewOutput("out", rota.Output[struct{}, []byte]{Write: func(_ context.Context, _ *rota.Grant,
				_ struct{}, in [][]byte) error {
				written.Add(int64(len(in)))
				return nil
			}}),
		}})
	must.Succeed(b, err)
	b.Cleanup(func() {
		if err := m.Leave(context.Background()); err != nil {
			b.Error(err)
		}
	})
	round := 0
	measured(b, func() error {
		round++
		id := fmt.Sprint("pipe", round)
		_, err := m.SubmitFile(b.Context(), id+".yaml",
			[]byte("tasks: [{name: in, type: in, parts: 4, max: 4}, {name: a, type: hop, from: in, max: 1}, {name: b, type: hop, from: a, max: 1}, {name: out, type: out, from: b, max: 1}]"))
		if err != nil {
			return err
		}
		if err := m.Wait(b.Context(), id); err != nil {
			return err
		}
		if n := written.Swap(0); n < pipeMessages*pipeSegments {
			return fmt.Errorf("%d segments were written, %d were read", n, pipeMessages*pipeSegments)
		}
		return nil
	})
}

// BenchmarkBarePipeline is the same with the vendor's client, each stage a goroutine: fetch, publish create-only,
// acknowledge. Nothing ends it but the number of messages.
func BenchmarkBarePipeline(b *testing.B) {
	var edges []*bareEdge
	for range pipeStages {
		edges = append(edges, newBareEdge(b))
	}
	round := 0
	measured(b, func() error {
		round++
		errs := make([]error, pipeParts+pipeStages)
		var wg sync.WaitGroup
		for part := range pipeParts {
			wg.Go(func() { errs[part] = edges[0].fill(round, part*pipeMessages/pipeParts, pipeMessages/pipeParts) })
		}
		for i := range pipeStages {
			var to *bareEdge
			if i+1 < pipeStages {
				to = edges[i+1]
			}
			wg.Go(func() { errs[pipeParts+i] = edges[i].move(to, round, pipeMessages) })
		}
		wg.Wait()
		return errors.Join(errs...)
	})
}

// bareEdge is a stream with a consumer.
type bareEdge struct {
	js       jetstream.JetStream
	consumer jetstream.Consumer
	subject  string
}

func newBareEdge(b *testing.B) *bareEdge {
	b.Helper()
	js := backdoorTo(b, "").js
	e := &bareEdge{js: js, subject: "hop." + bucket()}
	name := "hop_" + bucket()
	must.Succeed(b, must.Err(js.CreateStream(b.Context(),
		jetstream.StreamConfig{Name: name, Subjects: []string{e.subject + ".>"}})))
	var err error
	e.consumer, err = js.CreateConsumer(b.Context(), name,
		jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1})
	must.Succeed(b, err)
	return e
}

// put publishes a message, of which there is one in a round.
func (e *bareEdge) put(round, i int, data []byte) (jetstream.PubAckFuture, error) {
	m := &nc.Msg{Subject: fmt.Sprintf("%s.%d.%d", e.subject, round, i), Data: data,
		Header: nc.Header{jetstream.ExpectedLastSubjSeqHeader: {"0"}}}
	return e.js.PublishMsgAsync(m)
}

// stored waits for an answer.
func stored(a jetstream.PubAckFuture) error {
	select {
	case <-a.Ok():
		return nil
	case err := <-a.Err():
		return err
	}
}

// fill publishes messages one by one: after a crash it continues after the last one that is stored.
func (e *bareEdge) fill(round, from, n int) error {
	for i := from; i < from+n; i++ {
		a, err := e.put(round, i, pipeData)
		if err == nil {
			err = stored(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// move takes messages to the next edge, if there is one.
func (e *bareEdge) move(to *bareEdge, round, n int) error {
	for done := 0; done < n; {
		batch, err := e.consumer.Fetch(min(pipeFetch, n-done))
		if err != nil {
			return err
		}
		var got []jetstream.Msg
		var acks []jetstream.PubAckFuture
		for m := range batch.Messages() {
			if to != nil {
				a, err := to.put(round, done+len(got), m.Data())
				if err != nil {
					return err
				}
				acks = append(acks, a)
			}
			got = append(got, m)
		}
		if err := batch.Error(); err != nil && !errors.Is(err, nc.ErrTimeout) {
			return err
		}
		for _, a := range acks {
			if err := stored(a); err != nil {
				return err
			}
		}
		for _, m := range got {
			if err := m.Ack(); err != nil {
				return err
			}
		}
		done += len(got)
	}
	return nil
}
