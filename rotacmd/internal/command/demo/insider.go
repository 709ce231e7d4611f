package demo

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/rota-run/rota/internal/store/handle"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

var _ member = (*insider)(nil)

// Inside says how members run inside this process.
type Inside struct {
	Store *memory.Server // where they meet
	// Run is one member: it does what rota run does with these arguments, but on this handle, which stays the caller's, and without listening for
	// signals. When ctx ends it leaves gracefully. It returns when nothing of it is left.
	Run func(ctx context.Context, args []string, on store.Full, log io.Writer) error
}

// insider is a member inside this process. Goroutines can't be killed or suspended from outside; what stands for that is done to its handle.
type insider struct {
	on    *handle.Handle
	end   context.CancelFunc
	ended chan struct{} // closed when it has ended
	how   error         // written before that
}

// startInsider starts a member with a handle of its own. It closes handle and log when the member has ended.
func startInsider(in *Inside, args []string, log *os.File) *insider {
	ctx, end := context.WithCancel(context.Background())
	m := &insider{on: handle.New(in.Store.Open()), end: end, ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		defer log.Close()
		defer end()
		m.how = errors.Join(in.Run(ctx, args, m.on, log), m.on.Close())
	}()
	return m
}

func (m *insider) done() <-chan struct{} { return m.ended }
func (m *insider) err() error            { return m.how }

// crash implements member: it loses the store, ends itself for that, and then its handle falls. The handle falls last because tasks that can't be
// killed would else go on for a moment after others have seen their owner die, which no process does.
func (m *insider) crash() (protocol.Instant, error) {
	at := protocol.Now()
	m.on.Lose()
	return at, nil
}

// suspend implements member: all its calls wait from now on.
func (m *insider) suspend(context.Context) (protocol.Instant, error) {
	at := protocol.Now()
	m.on.Freeze()
	return at, nil
}

func (m *insider) resume() error {
	m.on.Thaw()
	return nil
}

func (m *insider) leave() (protocol.Instant, error) {
	at := protocol.Now()
	m.end()
	return at, nil
}
