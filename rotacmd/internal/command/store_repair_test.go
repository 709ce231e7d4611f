package command

import (
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/store"
)

// poisoned is a store whose log has something of the kind.
func poisoned(t *testing.T, kind string) {
	t.Helper()
	st := must.Get(openStore(t.Context(), env{}, "file:store", member))(t)
	defer st.Close()
	var v cluster.Value
	put := func(wrong cluster.Hash, commands ...cluster.Command) {
		e := cluster.Entry{Writer: "w", Seq: uint64(v.Index()) + 1, BaseIndex: v.Index(), BaseChain: v.Chain() + wrong,
			Commands: commands}
		index := must.Get(st.Append(t.Context(), e.Encode()))(t)
		if wrong == 0 {
			e.Index = cluster.Index(index)
			v, _ = v.Apply(e)
		}
	}
	put(0, cluster.Configure{Retention: 5})
	switch kind {
	case "format":
		must.Succeed(t, must.Err(st.Append(t.Context(), []byte{0xE7, 99})))
	case "chain":
		put(1, cluster.Configure{Retention: 77})
	case "snapshot":
		must.Succeed(t, st.SaveSnapshot(t.Context(), store.Record{Index: uint64(v.Index()), Data: []byte{0xA7, 99, 1}}))
	case "trimmed":
		must.Succeed(t, st.SaveSnapshot(t.Context(), store.Record{Index: uint64(v.Index()), Data: []byte{0xA7, 1}}))
		must.Succeed(t, st.Trim(t.Context(), uint64(v.Index())))
	}
}

// readable tells whether a member could read the log, and what it would find.
func readable(t *testing.T) (int64, error) {
	t.Helper()
	st := must.Get(openStore(t.Context(), env{}, "file:store", look))(t)
	defer st.Close()
	v, err := fold.Observe(t.Context(), st, cluster.Value{})
	return v.Settings().Retention, err
}
