package kafka

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/proof/server/child"
)

// Variable is the environment variable with the addresses of brokers to use instead of starting some:
// host:port,host:port.
const Variable = "ROTA_TEST_KAFKA"

// Options of [Start].
type Options struct {
	Dir   string // of the data; "" is a temporary folder that Stop removes
	Nodes int    // default 1
	// BrokerSession is how long a broker may be silent before another one leads its partitions; default 1 s, and at
	// least 3 s for three.
	BrokerSession time.Duration
	Listeners     []Listener // more than the plain one
	Config        []string   // more lines of the configuration
}

// Listener is one more address on which a broker listens.
type Listener struct {
	Name     string // such as SASL
	Protocol string // such as SASL_PLAINTEXT or SSL
}

// Cluster is one broker or three. It is not safe for concurrent use.
type Cluster struct{ child.Cluster[*node] }

// Start starts brokers and returns when all serve. A [MissingError] says what this machine lacks.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if c, ok := child.External[*node](Variable); ok {
		return &Cluster{c}, nil
	}
	java, lib, err := Parts(ctx)
	if err != nil {
		return nil, err
	}
	made, err := template(ctx, java, lib)
	if err != nil {
		return nil, err
	}
	c, err := child.Run(ctx, o.Dir, "kafka",
		func(dir string) ([]*node, func(), error) { return plan(dir, java, lib, made, o) })
	return &Cluster{c}, err
}

// plan writes the brokers' folders.
func plan(dir, java, lib, made string, o Options) (nodes []*node, release func(), err error) {
	n, each := max(o.Nodes, 1), 2+len(o.Listeners)
	ports, release, err := child.Ports(each * n)
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		own := ports[i*each : (i+1)*each]
		nodes = append(nodes, &node{id: i + 1, dir: filepath.Join(dir, fmt.Sprint(i+1)), Server: at(own[0]),
			controller: own[1], extra: own[2:], java: java, lib: lib})
	}
	for _, node := range nodes {
		if err := node.configure(nodes, o, made); err != nil {
			return nil, release, err
		}
	}
	return nodes, release, nil
}

func at(port int) child.Server { return child.Server{Address: fmt.Sprintf("127.0.0.1:%d", port)} }

// Listening returns the addresses of all brokers at listener i of the options.
func (c *Cluster) Listening(i int) []string {
	var addrs []string
	for _, n := range c.Nodes() {
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", n.extra[i]))
	}
	return addrs
}

// URL is the store URL of a name on these brokers, such as kafka://127.0.0.1:9092/rota.
func (c *Cluster) URL(path string) string {
	return "kafka://" + strings.Join(c.Servers(), ",") + path
}

// Leader waits until a live broker says that a live one leads the only partition of a topic, and returns that one's
// number.
func (c *Cluster) Leader(ctx context.Context, topic string) (int, error) {
	req := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = kmsg.StringPtr(topic)
	req.Topics = []kmsg.MetadataRequestTopic{one}
	leader := -1
	_, err := c.First(ctx, "a leader of "+topic, func(n *node) bool {
		leader = c.leader(ctx, n, req)
		return leader >= 0
	})
	return leader, err
}

// leader is the number of the live leader that a broker knows of; below 0: none.
func (c *Cluster) leader(ctx context.Context, n *node, req *kmsg.MetadataRequest) int {
	resp, err := n.ask(ctx, req)
	if err != nil {
		return -1
	}
	topics := resp.(*kmsg.MetadataResponse).Topics //nolint:forcetypeassert // the answer to such a request
	if len(topics) != 1 || len(topics[0].Partitions) == 0 {
		return -1
	}
	i := int(topics[0].Partitions[0].Leader) - 1
	if i < 0 || !c.Nodes()[i].Running() {
		return -1
	}
	return i
}

// Client is a client of the brokers, for what a test wants to do beside the store. Close it.
func (c *Cluster) Client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Servers()...)}, opts...)...)
}
