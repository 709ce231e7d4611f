package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// link is one ZooKeeper session and the connection that carries it. The library below connects again by itself; link
// adds what it lacks: calls that end with their ctx, a proof for each call that it was or was not sent, and the end of
// the session as a fact. It is safe for concurrent use.
type link struct {
	o       linkOptions
	hosts   *hosts
	conn    *zk.Conn
	ended   <-chan zk.Event // closed when the library's goroutines have ended
	closing chan struct{}   // closed by close
	expired chan struct{}   // closed when the server said that the session has expired; never where it is renewed

	mu        sync.Mutex
	ready     chan struct{} // closed while there is a connection with a session
	up        bool          // ready is closed
	gen       uint64        // grows with each connection
	wire      *wire         // the newest
	granted   time.Duration // the session's timeout as the server wants it
	identity  identity      // of the session
	heard     time.Time     // when the newest request that was answered was sent
	lastErr   error         // of the newest attempt to connect
	confirmed bool          // the server confirmed the end of the session
	done      bool          // close was called
	over      bool          // expired is closed
	teller    teller

	turn chan struct{} // holds one: whose read leaves now
	left chan struct{} // holds one: a read has left

	wg sync.WaitGroup // of what asks servers what they are, and of reads
}

// linkOptions say how to connect.
type linkOptions struct {
	servers []string
	tls     *tls.Config
	user    string
	pass    string
	timeout time.Duration // of the session
	wait    time.Duration // how long a call waits for a connection
	once    bool          // no other session after this one has expired
	onEvent func(zk.Event)
	leaves  func(at spot) bool // whether a read shall leave one of ZooKeeper's watches; nil: never
	logger  *slog.Logger
}

func newLink(o linkOptions) (*link, error) {
	l := &link{o: o, hosts: &hosts{}, closing: make(chan struct{}), expired: make(chan struct{}),
		ready: make(chan struct{})}
	l.turn, l.left = make(chan struct{}, 1), make(chan struct{}, 1)
	opened := make(chan struct{}) // the library calls back before it has returned
	conn, ended, err := zk.Connect(o.servers, o.timeout,
		zk.WithHostProvider(l.hosts), zk.WithLogInfo(false), zk.WithLogger(libraryLogger{o.logger}),
		zk.WithDialer(func(_, addr string, _ time.Duration) (net.Conn, error) {
			<-opened
			return l.dial(addr)
		}),
		zk.WithEventCallback(l.event))
	if err != nil {
		return nil, err
	}
	l.conn, l.ended = conn, ended
	close(opened)
	return l, nil
}

// libraryLogger gives the library's lines to the log. They hold no credentials.
type libraryLogger struct{ log *slog.Logger }

func (l libraryLogger) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}

// attempt is how long one attempt to connect, and one handshake, may take.
func (l *link) attempt() time.Duration {
	return min(max(l.o.timeout/3, 500*time.Millisecond), 3*time.Second, l.o.wait/2) // so that Open hears why
}

// dial is called by the library's one goroutine.
func (l *link) dial(addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.attempt())
	defer cancel()
	if err := l.pauseBefore(); err != nil {
		return nil, err
	}
	stop := l.cancelOnClose(cancel)
	defer stop()
	c, err := connect(ctx, addr, l.o.tls)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.lastErr = err
		return nil, err
	}
	if l.done || l.over {
		_ = c.Close() // nothing was sent
		return nil, errGivenUp
	}
	w := &wire{Conn: c, named: addr, patience: l.attempt(), leaves: l.o.leaves, sent: make(map[int32]time.Time)}
	w.onRead = l.readLeft
	w.onShake = l.shaken
	w.onIssue = l.issued
	w.onAnswer = l.answered
	w.onClosed = l.closeConfirmed
	l.wire = w
	return &failing{w, l}, nil
}

// pauseBefore waits between rounds of attempts; an error means that there shall be no further one.
func (l *link) pauseBefore() error {
	select {
	case <-l.closing:
		l.hosts.giveUp()
		return errGivenUp
	case <-l.expired:
		// A session that holds documents is never replaced by another one: what waits would be written there.
		l.hosts.giveUp()
		return errGivenUp
	case <-time.After(l.hosts.pause()):
		return nil
	}
}

func (l *link) cancelOnClose(cancel func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-l.closing:
			cancel()
		case <-done:
		}
	}()
	return func() { close(done) }
}

// failing remembers why a handshake failed.
type failing struct {
	*wire
	l *link
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.wire.Read(p)
	if err != nil && !f.shaken {
		f.l.mu.Lock()
		f.l.lastErr = &handshakeError{f.RemoteAddr().String(), err}
		f.l.mu.Unlock()
	}
	return n, err
}

// handshakeError says that a server took the connection and no session.
type handshakeError struct {
	addr string
	err  error
}

func (e *handshakeError) Error() string { return fmt.Sprintf("%s: handshake: %v", e.addr, e.err) }
func (e *handshakeError) Unwrap() error { return e.err }

// shaken is a handshake that was answered: the leader of the servers was asked about the session, and has renewed it.
func (l *link) shaken(asked time.Time, granted time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.granted, l.heard = granted, asked
}

// issued notes what the server knows the session by.
func (l *link) issued(i identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.identity = i
}

// answered notes when a request was sent that has been answered: the server had heard of the session then or later. One
// that came after a long silence proves nothing: see lease.go.
func (l *link) answered(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if gap := sent.Sub(l.heard); gap > 0 && gap <= l.granted/2 {
		l.heard = sent
	}
}

func (l *link) closeConfirmed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed = true
}

// event is called by the library's goroutines; it must not block.
func (l *link) event(e zk.Event) {
	if e.Type == zk.EventSession {
		l.state(e.State)
	}
	if l.o.onEvent != nil {
		l.o.onEvent(e)
	}
}

func (l *link) state(s zk.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s {
	case zk.StateHasSession:
		l.gen++
		l.lastErr = nil
		if !l.up {
			l.up = true
			close(l.ready)
		}
	case zk.StateExpired:
		l.down()
		if l.o.once && !l.over {
			l.over = true
			close(l.expired)
		}
	case zk.StateDisconnected:
		l.down()
	}
}

func (l *link) down() {
	if l.up {
		l.up = false
		l.ready = make(chan struct{})
	}
}

// generation tells connections apart.
func (l *link) generation() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gen
}

// await waits for a connection with a session. An error proves that nothing was sent.
func (l *link) await(ctx context.Context) error {
	timeout := time.NewTimer(l.o.wait)
	defer timeout.Stop()
	for {
		l.mu.Lock()
		ready, up := l.ready, l.up
		l.mu.Unlock()
		select {
		case <-l.closing:
			return errLinkClosed
		case <-l.expired:
			return errExpired
		default:
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if up {
			return nil
		}
		select {
		case <-ready:
		case <-l.closing:
		case <-l.expired:
		case <-ctx.Done():
			return l.away(context.Cause(ctx))
		case <-timeout.C:
			return l.away(nil)
		}
	}
}

// connected waits for a connection, and says which one it is.
func (l *link) connected(ctx context.Context) (gen uint64, err error) {
	err = l.await(ctx)
	return l.generation(), err
}

// away says that there is no connection, and why there is none if that is known.
func (l *link) away(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &awayError{cause: cause, last: l.lastErr}
}

// do makes one call of the library: fn runs once there is a connection, on a goroutine of its own, because the library
// knows no ctx. What the error proves is said by [sentError].
func do[T any](ctx context.Context, l *link, fn func(*zk.Conn) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var zero T
	if err := l.await(ctx); err != nil {
		return zero, err
	}
	if ctx.Done() == nil { // nobody can end it but the link
		v, err := fn(l.conn)
		if err != nil {
			return v, classify(err)
		}
		return v, nil
	}
	got := make(chan answer, 1)
	go func() { // ends when the request is answered or refused, at the latest with the link
		v, err := fn(l.conn)
		got <- answer{v, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return a.value, classify(a.err)
		}
		return a.value, nil
	case <-ctx.Done():
		return zero, &sentError{context.Cause(ctx)}
	}
}

// reconnect drops the connection, so that the session is taken up again with the leader of the servers.
func (l *link) reconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up && l.wire != nil {
		l.down()
		_ = l.wire.Close() // the library notices
	}
}

// authenticate gives the credentials to the server, now and with each further connection.
func (l *link) authenticate(ctx context.Context) error {
	if l.o.user == "" {
		return nil
	}
	for {
		_, err := do(ctx, l, func(c *zk.Conn) (struct{}, error) {
			return struct{}{}, c.AddAuth("digest", []byte(l.o.user+":"+l.o.pass))
		})
		var sent *sentError
		if err == nil || ctx.Err() != nil || !errors.As(err, &sent) {
			return err
		}
	}
}

// close ends the session and all calls; it reports whether the server confirmed it. Only the first call does anything.
func (l *link) close() (confirmed bool) {
	l.mu.Lock()
	first := !l.done
	l.done = true
	up := l.up
	l.mu.Unlock()
	if first {
		close(l.closing)
		if !up {
			l.drop()
		}
		l.conn.Close()
		l.drop()
	}
	for range l.ended { //nolint:revive // until the library's goroutines have ended
	}
	l.wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.confirmed || l.over
}

func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wire != nil {
		_ = l.wire.Close() // it may be closed already
	}
}
