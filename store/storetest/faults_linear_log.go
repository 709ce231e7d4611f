package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rota-run/rota/store"
)

// logCalls appends and reads near the end at random.
func logCalls[S store.Log](s *storm) calling[S] {
	after := make([]uint64, stormThrough+stormDirect)
	return func(ctx context.Context, log S, client, n int, r *rand.Rand) {
		in := logInput{after: after[client], limit: 1 + r.IntN(20)}
		if r.IntN(2) == 0 {
			in = logInput{data: fmt.Sprintf("%d.%d", client, n)}
		}
		s.record(client, in, func() (any, error) {
			out := logDo(ctx, log, in)
			if len(out.records) > 0 {
				after[client] = out.records[len(out.records)-1].index
			}
			return out, out.err
		})
	}
}

func logDo(ctx context.Context, log store.Log, in logInput) (out logOutput) {
	if in.data != "" {
		out.index, out.err = log.Append(ctx, []byte(in.data))
		return out
	}
	page, err := log.Read(ctx, in.after, in.limit)
	out.head, out.err = page.Head, err
	for _, record := range page.Records {
		out.records = append(out.records, logRecord{record.Index, string(record.Data)})
	}
	return out
}

// checkLog reads the whole log, which shows the appends with unknown outcomes, and checks the history.
func (s *storm) checkLog(t *testing.T, ctx context.Context, witness store.Log) {
	t.Helper()
	all := readAll(t, ctx, witness, 0, 1000)
	read := time.Since(s.h.began).Nanoseconds()
	found := map[string]uint64{}
	for _, record := range all {
		if at, twice := found[string(record.Data)]; twice {
			t.Errorf("%q stands in the log twice, at %d and %d", record.Data, at, record.Index)
		}
		found[string(record.Data)] = record.Index
	}
	for _, op := range s.h.ops {
		in, out := op.Input.(logInput), op.Output.(logOutput)
		if in.data != "" && out.err == nil && found[in.data] != out.index {
			t.Errorf("%q was acknowledged at %d, and stands at %d", in.data, out.index, found[in.data])
		}
	}
	s.h.ops = slices.DeleteFunc(s.h.ops, func(op porcupine.Operation) bool {
		return op.Return == forever && found[op.Input.(logInput).data] == 0
	})
	for i, op := range s.h.ops {
		if out := op.Output.(logOutput); errors.Is(out.err, store.ErrUnknown) {
			s.h.ops[i].Output = logOutput{index: found[op.Input.(logInput).data]}
			s.h.ops[i].Return = read
		}
	}
	s.h.check(t, logModel)
}
