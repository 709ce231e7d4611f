package storerepair

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// short is a log that gives one record at a time, and has somebody else write before it is trimmed.
type short struct {
	store.Log
	other []byte
}

func (l short) Read(ctx context.Context, after uint64, _ int) (store.Page, error) {
	return l.Log.Read(ctx, after, 1)
}

func (l short) Trim(ctx context.Context, upTo uint64) error {
	if l.other != nil {
		if _, err := l.Append(ctx, l.other); err != nil {
			return err
		}
	}
	return l.Log.Trim(ctx, upTo)
}

// TestRepair: what is wrong is found on all pages, all that there was is in the backup, and what is left is the value
// without what is lost. A writer beside it is noticed.
func TestRepair(t *testing.T) {
	t.Parallel()
	l := short{Log: memory.New().Open()}
	var v cluster.Value
	entry := func(retention int64) []byte {
		return cluster.Entry{Writer: "w", Seq: uint64(v.Index()) + 1, BaseIndex: v.Index(), BaseChain: v.Chain(),
			Commands: []cluster.Command{cluster.Configure{Retention: retention}}}.Encode()
	}
	put := func(data []byte) {
		index := cluster.Index(must.Get(l.Append(t.Context(), data))(t))
		if e, ok, _ := v.Decode(index, data); ok {
			v, _ = v.Apply(e)
		} else {
			v = v.Skip(index, data)
		}
	}
	put(entry(5))
	must.Succeed(t, l.SaveSnapshot(t.Context(), store.Record{Index: 1, Data: v.Snapshot()}))
	for _, data := range [][]byte{[]byte("garbage"), {0xE7, 99}, entry(6)} {
		put(data)
	}
	backup := func(want string) {
		t.Helper()
		var out strings.Builder
		must.Succeed(t, Backup(t.Context(), l, &out))
		got := regexp.MustCompile(`\{"kind":"(.*?)","index":(\d+).*\n`).ReplaceAllString(out.String(), "$1 $2 ")
		if strings.TrimSpace(got) != want {
			t.Errorf("the backup has %q, want %q", got, want)
		}
	}
	backup("snapshot 1 record 1 record 2 record 3 record 4")
	must.Succeed(t, l.Trim(t.Context(), 1))
	backup("snapshot 1 record 2 record 3 record 4")
	r := must.Get(Look(t.Context(), l))(t)
	if len(r.Lost) != 1 || r.Lost[0].Index != 3 || r.Garbage != 1 || len(r.Refused) != 0 || r.Index != 4 ||
		r.Digest != v.Digest().String() {
		t.Errorf("%+v, want digest %s", r, v.Digest())
	}
	if err := Repair(t.Context(), short{l.Log, entry(7)}, r); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("beside another writer: %v", err)
	}
	must.Succeed(t, Repair(t.Context(), l, must.Get(Look(t.Context(), l))(t)))
	if got := must.Get(fold.Observe(t.Context(), l, cluster.Value{}))(t); got.Settings().Retention != 7 {
		t.Errorf("after the repair the retention is %d", got.Settings().Retention)
	}
}
