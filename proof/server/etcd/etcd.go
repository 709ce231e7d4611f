// Package etcd starts etcd servers on this machine, for tests and for the demo.
//
// # Purpose
//
// [StartCluster] runs each member of a fresh cluster as a process of its own, which can be killed, frozen, and started
// again with its data on the same ports. The process is [child.Program], or the program itself once more: for that it
// calls [Child] before anything else.
//
//	func TestMain(m *testing.M) {
//		if etcd.Child() {
//			return
//		}
//		...
//	}
//
// # Guarantees
//
// Servers listen on the loopback address alone, on ports that were free a moment before. They keep nothing outside of
// Options.Dir, and log nothing. A member's process ends when the one that started it ends, however that ends.
//
// # What is not guaranteed
//
// On other systems than Linux a port may be taken by somebody else between being found and being used; then the start
// is tried again with other ports, a few times. These servers are for one machine: they have no defaults that a
// production cluster should have.
package etcd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/rota-run/rota/internal/proof/port"
	"github.com/rota-run/rota/proof/server/child"
)

// Options of [StartCluster].
type Options struct {
	Dir   string // of the data, one folder for each member; "" is a temporary folder that Stop removes
	Nodes int    // default 1
	// NoSync leaves out all syncing to disk: faster, and right for what nobody needs after a power cut. What was
	// written survives the end of the process all the same.
	NoSync bool
	// Quota is how many bytes the database of a member may have; 0 is etcd's own default.
	Quota int64
	// TxnOps is how many operations a transaction may have; 0 is etcd's own default.
	TxnOps uint
	// CertFile and KeyFile, if given, make the members speak TLS with clients.
	CertFile, KeyFile string
}

// Cluster is a cluster whose members are processes. It is not safe for concurrent use.
type Cluster struct{ child.Cluster[*node] }

// StartCluster starts each member of a fresh cluster as a process of its own, and waits until all serve. ctx bounds the
// start alone.
func StartCluster(ctx context.Context, o Options) (*Cluster, error) {
	c, err := child.Run(ctx, o.Dir, "etcd", func(dir string) ([]*node, func(), error) { return plan(dir, o) })
	return &Cluster{c}, err
}

// plan finds ports for all members. What an attempt with other ports has left is removed.
func plan(dir string, o Options) (nodes []*node, release func(), err error) {
	count := max(o.Nodes, 1)
	ports, release, err := port.Find(2 * count)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for i := range count {
		name, client, peer := fmt.Sprint("n", i+1), ports[2*i], ports[2*i+1]
		nodes = append(nodes, &node{Server: child.Server{Address: client},
			member: member{Options: o, Name: name, Dir: filepath.Join(dir, name), Client: client, Peer: peer}})
		names = append(names, name+"=http://"+peer)
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
	}
	for _, n := range nodes {
		n.Cluster = strings.Join(names, ",")
	}
	return nodes, release, err
}

// node is one member: how it is started, and its process while it lives.
type node struct {
	child.Server
	member
}

// member says how one member is started; its process gets it as JSON.
type member struct {
	Options
	Name    string
	Dir     string
	Client  string // host:port
	Peer    string // host:port
	Cluster string // name=url,name=url
}

// variable tells a process that it is a member, and which.
const variable = "ROTA_ETCD_NODE"

// readyLine is what a member's process prints when it serves. A member that waits for others prints it as soon as they
// are there.
const readyLine = "this member of etcd is ready"

// Launch implements child.Node.
func (n *node) Launch() error {
	if n.Running() {
		return fmt.Errorf("start etcd member %s: it runs", n.Name)
	}
	cmd, err := child.Itself(variable, n.member)
	if err != nil {
		return err
	}
	return n.Begin(cmd)
}

// Ready implements child.Node.
func (n *node) Ready(ctx context.Context, _ int) error {
	return n.Await(ctx, "etcd member "+n.Name, func() bool { return strings.Contains(n.Said(), readyLine) })
}

// Child runs a member of a [Cluster], if this process was started to be one, until its parent ends; then it returns
// true, and the program should end. Otherwise it returns false at once.
func Child() bool { return child.Serve[member](variable) }

// Serve serves as the member until ctx ends.
func (m member) Serve(ctx context.Context) error {
	e, err := embed.StartEtcd(m.config())
	if err != nil {
		return err
	}
	defer e.Close()
	ready := e.Server.ReadyNotify()
	for {
		select {
		case <-ready:
			ready = nil
			if _, err := fmt.Fprintln(os.Stdout, readyLine); err != nil {
				return err
			}
		case err := <-e.Err():
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

func (m member) config() *embed.Config {
	scheme := "http"
	cfg := embed.NewConfig()
	if m.CertFile != "" {
		scheme = "https"
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = m.CertFile, m.KeyFile
	}
	client, peer := []url.URL{{Scheme: scheme, Host: m.Client}}, []url.URL{{Scheme: "http", Host: m.Peer}}
	cfg.Name, cfg.Dir = m.Name, m.Dir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = client, client
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = peer, peer
	cfg.InitialCluster, cfg.InitialClusterToken = m.Cluster, "rota-local"
	cfg.UnsafeNoFsync, cfg.QuotaBackendBytes = m.NoSync, m.Quota
	cfg.BcryptCost = 4 // passwords of these servers are worth nothing
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "periodic", "5m"
	if m.TxnOps > 0 {
		cfg.MaxTxnOps = m.TxnOps
	}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	return cfg
}

// Endpoints returns the addresses for clients, host:port, in the order of the members.
func (c *Cluster) Endpoints() []string { return c.Servers() }

// URL is the store URL of a prefix on these servers; "" leaves it out.
func (c *Cluster) URL(prefix string) string {
	return "etcd://" + strings.Join(c.Servers(), ",") + prefix
}

// Leader asks which member leads. It waits for one to be elected until ctx ends.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Servers(), Logger: zap.NewNop()})
	if err != nil {
		return 0, fmt.Errorf("ask for the leader: %w", err)
	}
	defer client.Close() //nolint:errcheck // it was only asked
	return c.First(ctx, "a leader", func(n *node) bool { return leads(ctx, client, n.Addr()) })
}

// leads asks a member whether it leads. One that does not answer for a while does not.
func leads(ctx context.Context, client *clientv3.Client, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	st, err := client.Status(ctx, addr)
	return err == nil && st.Leader != 0 && st.Leader == st.Header.MemberId
}

// receivedMetric counts what came in on calls and on streams: a renewal of a lease is one message of a stream that is
// never done.
const receivedMetric = "grpc_server_msg_received_total"

// Messages is how many messages a member has got from its clients since it started, by its own count.
func (c *Cluster) Messages(ctx context.Context, i int) (uint64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Servers()[i]+"/metrics", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	defer resp.Body.Close()
	n, err := sum(resp.Body, receivedMetric)
	if err != nil {
		return 0, fmt.Errorf("count messages: %s: %w", req.URL, err)
	}
	return n, nil
}

// sum adds up all series of a metric.
func sum(text io.Reader, metric string) (uint64, error) {
	var total float64
	found := false
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), metric)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			continue
		}
		n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		total, found = total+n, true
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("there is no metric %s", metric)
	}
	return uint64(total), nil
}
