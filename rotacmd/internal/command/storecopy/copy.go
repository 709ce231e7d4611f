package storecopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// Target is what a copy can be made to.
type Target interface {
	store.Full
	store.Seeder
}

// Report is what was copied.
type Report struct {
	Index      cluster.Index `json:"index"`
	Digest     string        `json:"digest"` // of the value, the same in both stores
	Members    []string      `json:"members"`
	Jobs       int           `json:"jobs"`       // without those of Rota itself
	Partitions int           `json:"partitions"` // the same
	Documents  int           `json:"documents"`
	Bytes      int           `json:"bytes"` // of the snapshot and the documents
}

// ErrMembers says that the source has members, which may be running.
var ErrMembers = errors.New("it has members")

// Copy copies what from holds to an empty target, which it opens when nothing of the source speaks against it: a copy
// that is refused makes no place. With live, members of the source don't matter: what they write meanwhile is not in
// the copy, and in the copy they count as dead. It writes nothing to from.
func Copy(ctx context.Context, p protocol.Protocol, from store.Full, open func() (Target, error),
	live bool) (Report, error) {
	if err := refresh(ctx, from); err != nil {
		return Report{}, fmt.Errorf("read the source: %w", err)
	}
	v, err := p.Observe(ctx, from, cluster.Value{})
	if err != nil {
		return Report{}, fmt.Errorf("read the source: %w", err)
	}
	if v.Index() == 0 {
		return Report{}, errors.New("the source holds no cluster")
	}
	r := describe(v)
	if len(r.Members) > 0 && !live {
		return r, fmt.Errorf("copy a cluster: %w: %s", ErrMembers, strings.Join(r.Members, ", "))
	}
	to, err := open()
	if err != nil {
		return r, err
	}
	// First of all, so that a target with a cluster is refused before anything is written.
	if err := to.SeedLog(ctx, uint64(v.Index())); err != nil {
		return r, fmt.Errorf("begin the target's log: %w", err)
	}
	if err := documents(ctx, from, to, &r); err != nil {
		return r, err
	}
	snapshot := v.Snapshot()
	r.Bytes += len(snapshot)
	if err := to.SaveSnapshot(ctx, store.Record{Index: uint64(v.Index()), Data: snapshot}); err != nil {
		return r, fmt.Errorf("write the value: %w", err)
	}
	return r, verify(ctx, p, to, v)
}

// refresh brings the lists of a store up to date: otherwise its newest documents would stay behind.
func refresh(ctx context.Context, s store.Full) error {
	if r, ok := s.(store.Refresher); ok {
		return r.Refresh(ctx)
	}
	return nil
}

func describe(v cluster.Value) Report {
	r := Report{Index: v.Index(), Digest: fmt.Sprint(v.Digest()), Members: []string{}}
	for m := range v.Members() {
		r.Members = append(r.Members, string(m.ID))
	}
	for j := range v.Jobs() {
		if !strings.HasPrefix(string(j.ID), "rota.") {
			r.Jobs++
		}
	}
	for p := range v.Partitions() {
		if !strings.HasPrefix(string(p.ID), "rota.") {
			r.Partitions++
		}
	}
	return r
}

// documents copies all but heartbeats. One that is there already with the same content is left: an earlier attempt has
// written it.
func documents(ctx context.Context, from store.Docs, to store.Docs, r *Report) error {
	docs, err := from.List(ctx, "")
	if err != nil {
		return fmt.Errorf("list the source's documents: %w", err)
	}
	for _, d := range docs {
		if strings.HasPrefix(d.Key, protocol.HeartbeatPrefix) {
			continue
		}
		_, err := to.Put(ctx, store.Doc{Key: d.Key, Value: d.Value})
		if errors.Is(err, store.ErrConflict) {
			err = same(ctx, to, d)
		}
		if err != nil {
			return fmt.Errorf("write document %s: %w", d.Key, err)
		}
		r.Documents++
		r.Bytes += len(d.Value)
	}
	return nil
}

func same(ctx context.Context, to store.Docs, d store.Doc) error {
	there, err := to.Get(ctx, d.Key)
	if err != nil {
		return err
	}
	if !bytes.Equal(there.Value, d.Value) {
		return fmt.Errorf("the target has another one under this key: %w", store.ErrConflict)
	}
	return nil
}

// verify reads the value back. From then on the lists of the target have all.
func verify(ctx context.Context, p protocol.Protocol, to store.Full, want cluster.Value) error {
	if err := refresh(ctx, to); err != nil {
		return fmt.Errorf("read the copy: %w", err)
	}
	got, err := p.Observe(ctx, to, cluster.Value{})
	if err != nil {
		return fmt.Errorf("read the copy: %w", err)
	}
	if got.Digest() != want.Digest() || got.Index() != want.Index() {
		return fmt.Errorf("the copy differs: digest %s at %d, the source has %s at %d", got.Digest(), got.Index(),
			want.Digest(), want.Index())
	}
	return nil
}
