package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/proof/server/child"
)

// Variable is the environment variable with the addresses of brokers to use instead of starting some: host:port,host:port.
const Variable = "ROTA_TEST_KAFKA"

// Options of [Start].
type Options struct {
	Dir   string // of the data; "" is a temporary folder that Stop removes
	Nodes int    // default 1
	// BrokerSession is how long a broker may be silent before another one leads its partitions; default 1 s, and at least 3 s for three.
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
type Cluster struct {
	java  string
	dir   string // removed by Stop; "": kept
	nodes []*node
	addrs []string // of brokers that were not started here

	release func() // gives up the ports; nil before they were found, and after
}

// ErrExternal refuses to kill brokers that were not started here.
var ErrExternal = errors.New("the brokers of " + Variable + " are not ours to stop")

// Start starts brokers and returns when all serve. A [MissingError] says what this machine lacks.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if list := os.Getenv(Variable); list != "" {
		return &Cluster{addrs: strings.Split(list, ",")}, nil
	}
	java, lib, err := Parts(ctx)
	if err != nil {
		return nil, err
	}
	made, err := template(ctx, java, lib)
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		c, err := start(ctx, java, lib, made, o)
		if err == nil || attempt == 4 || !errors.Is(err, child.ErrExited) { // somebody may have taken one of the ports
			return c, err
		}
	}
}

func start(ctx context.Context, java, lib, made string, o Options) (_ *Cluster, err error) {
	c := &Cluster{java: java}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "rota-kafka-"); err != nil {
			return nil, fmt.Errorf("make a folder for the brokers: %w", err)
		}
		c.dir = dir
	}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	if err := c.configure(dir, lib, made, o); err != nil {
		return nil, err
	}
	all := make([]int, len(c.nodes))
	for i := range all {
		all[i] = i
	}
	return c, c.Restart(ctx, all...)
}

// configure writes the brokers' folders.
func (c *Cluster) configure(dir, lib, made string, o Options) error {
	n, each := max(o.Nodes, 1), 2+len(o.Listeners)
	ports, release, err := child.Ports(each * n)
	if err != nil {
		return err
	}
	c.release = release // only at the end: a broker that is started again needs its ports
	for i := range n {
		own := ports[i*each : (i+1)*each]
		c.nodes = append(c.nodes, &node{id: i + 1, dir: filepath.Join(dir, fmt.Sprint(i+1)), port: own[0], controller: own[1], extra: own[2:], lib: lib})
	}
	for _, node := range c.nodes {
		if err := node.configure(c.nodes, o, made); err != nil {
			return fmt.Errorf("write the folder of a broker: %w", err)
		}
	}
	return nil
}

// Servers returns the addresses of all brokers, host:port.
func (c *Cluster) Servers() []string {
	if len(c.nodes) == 0 {
		return slices.Clone(c.addrs)
	}
	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, n.addr())
	}
	return addrs
}

// Listening returns the addresses of all brokers at listener i of the options.
func (c *Cluster) Listening(i int) []string {
	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", n.extra[i]))
	}
	return addrs
}

// URL is the store URL of a name on these brokers, such as kafka://127.0.0.1:9092/rota.
func (c *Cluster) URL(path string) string {
	return "kafka://" + strings.Join(c.Servers(), ",") + path
}

// Kill kills broker i, counted from 0, as kill -9 does. It returns when the process is gone.
func (c *Cluster) Kill(i int) error {
	if len(c.nodes) == 0 {
		return ErrExternal
	}
	c.nodes[i].kill()
	return nil
}

// Restart starts brokers that were killed, with their data and their ports, and returns when they serve.
func (c *Cluster) Restart(ctx context.Context, nodes ...int) error {
	for _, i := range nodes {
		if err := c.nodes[i].launch(c.java); err != nil {
			return fmt.Errorf("start a broker: %w", err)
		}
	}
	for _, i := range nodes {
		if err := c.nodes[i].ready(ctx, len(nodes)); err != nil {
			return err
		}
	}
	return nil
}

// Leader waits until a live broker says that a live one leads the only partition of a topic, and returns that one's number.
func (c *Cluster) Leader(ctx context.Context, topic string) (int, error) {
	req := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = kmsg.StringPtr(topic)
	req.Topics = []kmsg.MetadataRequestTopic{one}
	for {
		for _, n := range c.nodes {
			if n.Process == nil {
				continue
			}
			if i := c.leader(ctx, n, req); i >= 0 {
				return i, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for a leader of %s: %w", topic, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond): // no event says when it is elected
		}
	}
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
	if i < 0 || c.nodes[i].Process == nil {
		return -1
	}
	return i
}

// Client is a client of the brokers, for what a test wants to do beside the store. Close it.
func (c *Cluster) Client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Servers()...)}, opts...)...)
}

// Stop kills all brokers that were started here, and removes a temporary folder. It may be called again.
func (c *Cluster) Stop() {
	for _, n := range c.nodes {
		n.kill()
	}
	if c.release != nil {
		c.release()
		c.release = nil
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir) // it is a temporary one
	}
}
