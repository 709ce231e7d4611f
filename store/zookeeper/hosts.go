package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// errGivenUp ends attempts to connect.
var errGivenUp = errors.New("the connection was given up")

// hosts tells the library which server to try next. The library's own provider waits a second before it comes back to a server, also when that has
// just dropped the connection because of an election that takes a third of it.
type hosts struct {
	mu      sync.Mutex
	servers []string
	next    int
	failed  int // attempts since the last success
}

// Init implements zk.HostProvider.
func (h *hosts) Init(servers []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers = servers
	return nil
}

// Len implements zk.HostProvider.
func (h *hosts) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.servers)
}

// quickRounds is how many times all servers are tried with short pauses. After that the library pauses for a second, and refuses what waits.
const quickRounds = 6

// Next implements zk.HostProvider.
func (h *hosts) Next() (server string, retryStart bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next%len(h.servers)]
	h.next++
	round, first := h.failed/len(h.servers), h.failed%len(h.servers) == 0
	h.failed++
	return server, first && round >= quickRounds
}

// Connected implements zk.HostProvider.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = 0
}

// pause is how long to wait before the present attempt: nothing in the first round, then 20 ms, 40 ms, and so on to 320 ms for each round.
func (h *hosts) pause() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	round, first := (h.failed-1)/len(h.servers), (h.failed-1)%len(h.servers) == 0
	if !first || round < 1 || round >= quickRounds {
		return 0
	}
	return 10 * time.Millisecond << round
}

// connect opens a connection, through TLS if there is a configuration.
func connect(ctx context.Context, addr string, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", addr)
}
