package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/rota-run/rota/store"
)

type logInput struct {
	data  string // "": a read
	after uint64
	limit int
}

type logRecord struct {
	index uint64
	data  string
}

type logOutput struct {
	index   uint64 // of the append
	records []logRecord
	head    uint64
	err     error
}

// logModel is the sequential specification of a log without trimming; its state is all records.
var logModel = porcupine.Model{
	Init: func() any { return []logRecord(nil) },
	Step: func(state, input, output any) (bool, any) {
		return logStep(state.([]logRecord), input.(logInput), output.(logOutput))
	},
	Equal: func(a, b any) bool { return slices.Equal(a.([]logRecord), b.([]logRecord)) },
	DescribeOperation: func(input, output any) string {
		in, out := input.(logInput), output.(logOutput)
		if in.data != "" {
			return fmt.Sprintf("append %q → %d, %v", in.data, out.index, out.err)
		}
		return fmt.Sprintf("read after %d → %v head %d, %v", in.after, out.records, out.head, out.err)
	},
}

func logStep(all []logRecord, in logInput, out logOutput) (bool, any) {
	last := uint64(0)
	if len(all) > 0 {
		last = all[len(all)-1].index
	}
	switch {
	case out.err != nil:
		return false, all
	case in.data != "":
		return out.index > last, append(slices.Clip(all), logRecord{out.index, in.data})
	case out.head != last:
		return false, all
	}
	var behind []logRecord
	for _, r := range all {
		if r.index > in.after {
			behind = append(behind, r)
		}
	}
	if len(out.records) == 0 {
		return len(behind) == 0, all
	}
	return len(out.records) <= len(behind) && slices.Equal(out.records, behind[:len(out.records)]), all
}

func logLinearizable[S store.Log](t *testing.T, open Open[S]) {
	s := calm()
	ctx, witness := atOnce(t, open, 6, 50, logCalls[S](s))
	s.checkLog(t, ctx, witness)
}
