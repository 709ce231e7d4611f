package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store/internal/remote"
)

// line is what is known of the connection to the server. The client connects again by itself; what was asked before
// stays unanswered.
type line struct {
	log *slog.Logger

	mu    sync.Mutex
	up    bool            // there is a connection
	most  int64           // the greatest message that the server takes
	ctx   context.Context // ends when the present connection breaks
	lost  context.CancelFunc
	fault func(error)   // called with what the server does not allow; nil once the store is open
	back  chan struct{} // closed when there is a connection
	why   error         // what came of the last attempt, or what the server said; nil: nothing yet
	// asked are the subjects of the requests that wait. The server does not answer one that the user may not send.
	asked map[*nc.Msg]context.CancelCauseFunc
}

func newLine(log *slog.Logger) *line {
	l := &line{log: log, up: true, back: make(chan struct{}), // calls begin when the first connection is there
		asked: map[*nc.Msg]context.CancelCauseFunc{}}
	l.ctx, l.lost = context.WithCancel(context.Background())
	return l
}

// whole reports whether there is a connection. While there is none the client may hold its lock, for as long as a
// server lets it wait for a hello, and whatever is asked of it does not return before: so nothing must be.
func (l *line) whole() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

// broken is why there is no connection.
func (l *line) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return fmt.Errorf("%w: %w", errNotConnected, l.why)
	}
	return errNotConnected
}

// waits has refuse called if the server says that the user may not send m.
func (l *line) waits(m *nc.Msg, refuse context.CancelCauseFunc) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[m] = refuse
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.asked, m)
	}
}

// maxPayload is the greatest message that the server takes, by the newest connection.
func (l *line) maxPayload() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

// connected notes what a new connection says.
func (l *line) connected(c *nc.Conn) {
	most := c.MaxPayload()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up, l.most, l.why = true, most, nil
	select {
	case <-l.back: // by the first connection, or twice
	default:
		close(l.back)
	}
}

// await returns when there is a connection, or ctx ends.
func (l *line) await(ctx context.Context) {
	l.mu.Lock()
	back := l.back
	l.mu.Unlock()
	select {
	case <-back:
	case <-ctx.Done():
	}
}

// current ends when the connection breaks that is there now.
func (l *line) current() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

// onFault has f called with what the server reports outside of an answer; nil: it is logged.
func (l *line) onFault(f func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

func (l *line) disconnected(_ *nc.Conn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost()
	if l.up {
		l.back = make(chan struct{})
	}
	l.up = false
	l.ctx, l.lost = context.WithCancel(context.Background())
	if err != nil {
		l.log.Warn("connection to NATS broke", "err", err)
	}
}

func (l *line) reconnected(c *nc.Conn) {
	l.log.Info("connected to NATS again", "server", c.ConnectedServerName(), "version", c.ConnectedServerVersion())
	if err := checkServerVersion(c.ConnectedServerVersion()); err != nil {
		l.log.Error("a node of the NATS cluster is too old", "err", err)
	}
	l.connected(c)
}

// refused notes why an attempt to connect again has failed.
func (l *line) refused(_ *nc.Conn, err error) {
	if hint := remote.CertificateHint(err); hint != "" {
		err = fmt.Errorf("%w (%s)", err, hint)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.up {
		l.why = err
	}
}

func (l *line) failed(_ *nc.Conn, _ *nc.Subscription, err error) {
	l.mu.Lock()
	fault := l.fault
	if !l.up {
		l.why = err
	}
	for m, refuse := range l.asked {
		if errors.Is(err, nc.ErrPermissionViolation) && strings.Contains(err.Error(), strconv.Quote(m.Subject)) {
			refuse(err)
		}
	}
	l.mu.Unlock()
	if fault != nil {
		fault(err)
		return
	}
	l.log.Warn("NATS reports an error", "err", err)
}

func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost()
}
