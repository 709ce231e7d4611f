package zookeeper

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"time"
)

// The value of a sync depends on the server that answers it.
//
// A following server forwards it to the leader, which answers after the transactions that it has sent to that server; so a later read there is not
// older than the sync. The leader itself answers a sync at once, like any read (matchSyncs in its CommitProcessor), and it sends a transaction to its followers before it applies
// it: for a moment, the leader may lack what a follower has acknowledged, even after a sync. So at the leader, and if the role of the
// server is unknown, a barrier is an empty transaction, which is applied in its turn. A single server does all in one order, and a read comes after everything that it has
// acknowledged: there, any request is enough.
//
// The server is asked with the command srvr, on a separate connection, because a session cannot ask it. A server drops its connections when it
// becomes or stops being the leader, so its answer holds as long as a connection lasts.

const (
	askCommand = "srvr"
	askAnswer  = "Mode: "
	askMost    = 4 << 10          // bytes of the answer, which has about 200
	askPause   = 30 * time.Second // before a server that did not tell is asked again
)

// remedy is what must come before a read, for that to see all that was acknowledged.
type remedy int

const (
	byTransaction remedy = iota
	bySync
	byNothing
)

// remedyOf is what a server of a mode needs.
func remedyOf(mode string) remedy {
	switch mode {
	case "follower", "observer":
		return bySync
	case "standalone":
		return byNothing
	}
	return byTransaction
}

// askMode asks the server at an address what it is; "" where it does not tell.
func askMode(ctx context.Context, addr string, config *tls.Config) string {
	c, err := connect(ctx, addr, config)
	if err != nil {
		return ""
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := io.WriteString(c, askCommand); err != nil {
		return ""
	}
	return readMode(c)
}

func readMode(r io.Reader) string {
	for lines := bufio.NewScanner(io.LimitReader(r, askMost)); lines.Scan(); {
		if mode, ok := strings.CutPrefix(lines.Text(), askAnswer); ok {
			return strings.TrimSpace(mode)
		}
	}
	return ""
}

// teller knows what the server is that a link is connected to.
type teller struct {
	gen   uint64    // of the connection that was asked about
	mode  string    // "" while it is not known
	busy  bool      // it is being asked
	again time.Time // not before, if it did not tell
}

// alone reports whether the server of the newest connection is known to be a single one.
func (l *link) alone() bool { return l.remedy(l.generation()) == byNothing }

// remedy is what makes the server of a connection catch up. It does not wait for that to be found out.
func (l *link) remedy(gen uint64) remedy {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.teller
	if gen != l.gen || l.wire == nil || !l.up || l.done {
		return byTransaction
	}
	if t.gen != gen {
		*t = teller{gen: gen, busy: t.busy}
	}
	if t.mode == "" && !t.busy && time.Now().After(t.again) {
		t.busy = true
		addr, config := l.wire.peer(l.o.tls)
		l.wg.Go(func() { l.tell(gen, addr, config) })
	}
	return remedyOf(t.mode)
}

// tell asks a server what it is.
func (l *link) tell(gen uint64, addr string, config *tls.Config) {
	ctx, cancel := context.WithTimeout(context.Background(), l.attempt())
	defer cancel()
	defer l.cancelOnClose(cancel)()
	mode := askMode(ctx, addr, config)
	if remedyOf(mode) == byTransaction {
		l.o.logger.Debug("reads of this connection are transactions: its server leads, or does not tell by srvr what it is", "server", addr, "mode", mode)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.teller.busy = false
	if l.gen == gen && l.up && l.teller.gen == gen { // it has stood all the time
		l.teller.mode, l.teller.again = mode, time.Now().Add(askPause)
	}
}

// peer is where the server of a connection can be reached that it leads to, whatever its name leads to now.
func (w *wire) peer(config *tls.Config) (addr string, _ *tls.Config) {
	if config != nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(w.named)
	}
	return w.RemoteAddr().String(), config
}
