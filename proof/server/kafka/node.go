package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/proof/server/child"
)

// node is one broker: its folder, its ports, and its process while it lives.
type node struct {
	id             int
	dir, java, lib string
	controller     int   // its port
	extra          []int // the ports of the listeners of Options.Listeners
	classes        string
	child.Server
}

// configure writes the broker's folder. template is empty where it is to be formatted by Kafka's own tool.
func (n *node) configure(all []*node, o Options, template string) error {
	if err := os.MkdirAll(filepath.Join(n.dir, "data"), 0o700); err != nil {
		return err
	}
	if template != "" {
		n.classes = filepath.Join(template, classes)
		b, err := os.ReadFile(filepath.Join(template, checkpoint))
		if err != nil {
			return err
		}
		meta := fmt.Sprintf("version=1\ncluster.id=%s\nnode.id=%d\n", clusterID, n.id)
		if err := errors.Join(n.write("data/"+checkpoint, string(b)),
			n.write("data/meta.properties", meta)); err != nil {
			return err
		}
	}
	return n.write("server.properties", n.properties(all, o))
}

func (n *node) properties(all []*node, o Options) string {
	var voters []string
	for _, v := range all {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", v.id, v.controller))
	}
	copies := len(all)
	listeners := fmt.Sprintf("PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d", n.Addr(), n.controller)
	protocols, advertised := "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "PLAINTEXT://"+n.Addr()
	for i, l := range o.Listeners {
		at := fmt.Sprintf(",%s://127.0.0.1:%d", l.Name, n.extra[i])
		listeners, advertised, protocols = listeners+at, advertised+at, protocols+","+l.Name+":"+l.Protocol
	}
	session, election := o.BrokerSession, 300*time.Millisecond
	if session == 0 {
		session = time.Second
	}
	if copies > 1 { // they must not lose each other on a busy machine
		session, election = max(session, 3*time.Second), time.Second
	}
	lines := []string{
		"process.roles=broker,controller", fmt.Sprintf("node.id=%d", n.id), "controller.quorum.voters=" +
			strings.Join(voters, ","),
		"listeners=" + listeners, "advertised.listeners=" + advertised, "listener.security.protocol.map=" + protocols,
		"controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAINTEXT",
		"log.dirs=" + filepath.ToSlash(filepath.Join(n.dir, "data")),
		"log.cleaner.dedupe.buffer.size=2097152", fmt.Sprintf("broker.session.timeout.ms=%d", session.Milliseconds()),
		fmt.Sprintf("broker.heartbeat.interval.ms=%d", session.Milliseconds()/10),
		"offsets.topic.num.partitions=1", fmt.Sprintf("offsets.topic.replication.factor=%d", copies),
		"transaction.state.log.num.partitions=1",
		fmt.Sprintf("transaction.state.log.replication.factor=%d", copies),
		fmt.Sprintf("transaction.state.log.min.isr=%d", copies/2+1),
		fmt.Sprintf("default.replication.factor=%d", copies), "group.initial.rebalance.delay.ms=0",
		"group.min.session.timeout.ms=100",
		"group.consumer.min.heartbeat.interval.ms=100", "group.consumer.heartbeat.interval.ms=200",
		"group.consumer.min.session.timeout.ms=1000",
		fmt.Sprintf("controller.quorum.fetch.timeout.ms=%d", session.Milliseconds()),
		fmt.Sprintf("controller.quorum.election.timeout.ms=%d", election.Milliseconds()),
		fmt.Sprintf("controller.quorum.election.backoff.max.ms=%d", election.Milliseconds()),
		"auto.create.topics.enable=false",
	}
	return strings.Join(append(lines, o.Config...), "\n") + "\n"
}

// arguments start a broker; more is for the program java.
func (n *node) arguments(more ...string) []string {
	args := append([]string{
		"-Xms32m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
	}, more...)
	return append(args, "-cp", filepath.Join(n.lib, "*"), "kafka.Kafka", filepath.Join(n.dir, "server.properties"))
}

// Launch implements child.Node.
func (n *node) Launch() error {
	cmd := exec.Command(n.java, n.arguments("-XX:SharedArchiveFile="+n.classes)...)
	cmd.Dir = n.dir
	return n.Begin(cmd)
}

// Ready implements child.Node: the broker says that so many brokers serve, itself among them.
func (n *node) Ready(ctx context.Context, brokers int) error {
	return n.Await(ctx, n.Addr(), func() bool {
		serving, err := n.serving(ctx)
		return err == nil && len(serving) >= brokers && serving[int32(n.id)]
	})
}

// serving asks a broker for those that serve.
func (n *node) serving(ctx context.Context) (map[int32]bool, error) {
	resp, err := n.ask(ctx, kmsg.NewPtrMetadataRequest())
	if err != nil {
		return nil, err
	}
	out := make(map[int32]bool)
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers { //nolint:forcetypeassert // the answer to such a request
		out[b.NodeID] = true
	}
	return out, nil
}

// ask sends one request to the broker.
func (n *node) ask(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := reach(ctx, n.Addr()); err != nil {
		return nil, err
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(n.Addr()), kgo.RetryTimeout(time.Second))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.SeedBrokers()[0].Request(ctx, req)
}

// reach fails fast where nobody listens.
func reach(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (n *node) write(name, text string) error {
	return os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600)
}
