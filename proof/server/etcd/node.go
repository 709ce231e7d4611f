package etcd

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/rota-run/rota/internal/proof/port"
)

// node says how one member is started; a child process gets it as JSON.
type node struct {
	Name     string
	Dir      string
	Client   string // host:port
	Peer     string // host:port
	Cluster  string // name=url,name=url
	NoSync   bool
	Quota    int64
	TxnOps   uint
	CertFile string
	KeyFile  string
}

// plan finds ports for all members, which are kept until release: a member that was killed finds them when it comes back.
func plan(o Options) (_ []node, release func(), err error) {
	ports, release, err := port.Find(2 * o.Nodes)
	if err != nil {
		return nil, nil, err
	}
	nodes := make([]node, o.Nodes)
	var members []string
	for i := range nodes {
		name := fmt.Sprintf("n%d", i+1)
		nodes[i] = node{
			Name: name, Dir: filepath.Join(o.Dir, name), Client: ports[2*i], Peer: ports[2*i+1],
			NoSync: o.NoSync, Quota: o.Quota, TxnOps: o.TxnOps, CertFile: o.CertFile, KeyFile: o.KeyFile,
		}
		members = append(members, name+"=http://"+ports[2*i+1])
	}
	for i := range nodes {
		nodes[i].Cluster = strings.Join(members, ",")
	}
	return nodes, release, nil
}

func (n node) config() *embed.Config {
	scheme := "http"
	cfg := embed.NewConfig()
	if n.CertFile != "" {
		scheme = "https"
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = n.CertFile, n.KeyFile
	}
	client, peer := []url.URL{{Scheme: scheme, Host: n.Client}}, []url.URL{{Scheme: "http", Host: n.Peer}}
	cfg.Name, cfg.Dir = n.Name, n.Dir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = client, client
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = peer, peer
	cfg.InitialCluster, cfg.InitialClusterToken = n.Cluster, "rota-local"
	cfg.UnsafeNoFsync, cfg.QuotaBackendBytes = n.NoSync, n.Quota
	cfg.BcryptCost = 4 // passwords of these servers are worth nothing
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = "periodic", "5m"
	if n.TxnOps > 0 {
		cfg.MaxTxnOps = n.TxnOps
	}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	return cfg
}

// launch starts the member; it may not serve yet.
func (n node) launch() (*embed.Etcd, error) {
	e, err := embed.StartEtcd(n.config())
	if err != nil {
		return nil, fmt.Errorf("start etcd member %s: %w", n.Name, err)
	}
	return e, nil
}

// await waits until a member has joined its cluster.
func await(ctx context.Context, e *embed.Etcd) error {
	select {
	case <-e.Server.ReadyNotify():
		return nil
	case err := <-e.Err():
		return fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("wait for etcd to be ready: %w", context.Cause(ctx))
	}
}
