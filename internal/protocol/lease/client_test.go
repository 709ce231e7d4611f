package lease

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/heartbeat"
	"github.com/rota-run/rota/internal/protocol/member"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// stubborn is a store that answers each write in one way.
type stubborn struct {
	protocol.Store
	says  error
	puts  int
	names map[string]bool // of writes
}

func (s *stubborn) Put(_ context.Context, d store.Doc) (store.Version, error) {
	var doc struct{ Write string }
	if err := json.Unmarshal(d.Value, &doc); err != nil {
		return "", err
	}
	s.names[doc.Write] = true
	if s.puts++; s.puts > 100 { // in virtual time a client without a pause would never end
		return "", store.ErrTooLarge
	}
	return "", s.says
}

// TestAClientTriesAgain with a pause where somebody was quicker, or nobody knows; what was not done it says at once.
func TestAClientTriesAgain(t *testing.T) {
	t.Parallel()
	for says, most := range map[error]int{store.ErrTooLarge: 1, store.ErrUnavailable: 1, store.ErrConflict: 11,
		store.ErrUnknown: 11} {
		synctest.Test(t, func(t *testing.T) {
			docs := memory.New().Open()
			defer docs.Close()
			s := &stubborn{Store: docs, says: says, names: map[string]bool{}}
			c, err := Protocol{}.Client(s)
			must.Succeed(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = c.Propose(ctx, cluster.SubmitJob{Job: "x",
				Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}})
			if most == 1 && !errors.Is(err, says) || most > 1 && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: it says %v", says, err)
			}
			if s.puts == 0 || s.puts > most || len(s.names) != s.puts && errors.Is(says, store.ErrConflict) {
				t.Errorf("%v: %d writes of %d names in a second, want at most %d", says, s.puts, len(s.names), most)
			}
		})
	}
}

// TestWhatIsDamagedIsTold: nobody is shown a value that lacks what is damaged, and a member has the record of its own
// session alone.
func TestWhatIsDamagedIsTold(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("a/1")
	p.offer("x", cluster.TaskSpec{})
	nodes, err := read[nodesDoc](p.docs[keyNodes])
	must.Succeed(t, err)
	nodes.Nodes[0].Token = "a/2"
	for key, text := range map[string][]byte{
		jobKey("x"): []byte("x"), partitionKey("x"): []byte("{}"), keyConfig: []byte("[]"),
		keyNodes: written(keyNodes, "", nodes).Value,
	} {
		docs := memory.New().Open()
		defer docs.Close()
		for _, d := range p.all() {
			if d.Version = ""; d.Key == key {
				d.Value = text
			}
			must.Succeed(t, must.Err(docs.Put(t.Context(), d)))
		}
		if _, err := (Protocol{}).Observe(t.Context(), docs, cluster.Value{}); err == nil ||
			!strings.Contains(err.Error(), key) {
			t.Errorf("with a damaged %s it says %v", key, err)
		}
	}
}

// TestAViewOfANewerFormat ends the member: no later read shows it more.
func TestAViewOfANewerFormat(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	defer docs.Close()
	c := calls(docs)
	value := newPaper(t).value()
	must.Succeed(t, must.Err(c.show(t.Context(), Show{View: 1, Value: value})))
	newer := value.Snapshot()
	newer[1]++
	packed, err := c.pack(newer)
	must.Succeed(t, err)
	must.Succeed(t, must.Err(docs.Put(t.Context(), store.Doc{Key: viewKey(2), Value: packed})))
	must.Succeed(t, must.Err(docs.Put(t.Context(), store.Doc{Key: viewKey(3), Value: packed[:3]})))
	for view, want := range []struct{ found, halts, fails bool }{{}, {found: true}, {halts: true}, {fails: true}} {
		got, _ := c.Call(t.Context(), ReadView{View: uint64(view)}).(ViewRead)
		if got.View != 0 != want.found || got.Halt != nil != want.halts || got.Err != "" != want.fails {
			t.Errorf("view %d: %+v, want %+v", view, got, want)
		}
	}
}

// TestWhoHasJoinedKnowsTheOthers at once: its rank comes of them.
func TestWhoHasJoinedKnowsTheOthers(t *testing.T) {
	t.Parallel()
	p := newPaper(t)
	p.join("b/1")
	s := &step{State: &State{Core: coreIn(member.PhaseJoining, member.Params{Member: "a", Nonce: "n"}), known: &facts{}}}
	p.put(written(nodeKey(s.Session()), "", nodeDoc{Text: heartbeat.Text{State: heartbeat.Live}}))
	v := p.verdict(cluster.PrepareJoin{Member: "a", Heartbeat: nodeKey(s.Session()), Slots: 1}, s.Session())
	s.joinTried(try{attempt: attempt{put: v.put, result: v.result}})
	if s.Inc == 0 || len(s.look.members) != 2 || s.look.index == 0 {
		t.Errorf("incarnation %d, it knows %v of index %d", s.Inc, s.look.members, s.look.index)
	}
}
