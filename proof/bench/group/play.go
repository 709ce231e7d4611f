package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/protocol"
)

// patience is how long the group may take to come to rest.
const patience = 2 * time.Minute

// play is a group of processes.
type play struct {
	options
	binary  string
	lines   chan line
	ended   chan string // members that have ended
	running map[string]*exec.Cmd
	names   int
	owners  *owners
}

// gapsOf kills so many members at a time, again and again, and returns how long their partitions had no owner.
func gapsOf(ctx context.Context, o options, dead int) (gaps []time.Duration, err error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	o.group = fmt.Sprintf("rota-bench-%d-%d", os.Getpid(), dead)
	if err := createTopic(ctx, o); err != nil {
		return nil, err
	}
	p := &play{
		options: o, binary: binary, lines: make(chan line, 1000), ended: make(chan string, 1000),
		running: make(map[string]*exec.Cmd), owners: newOwners(o.partitions),
	}
	defer p.stop()
	for len(gaps) < o.kills {
		if err := p.fill(ctx); err != nil {
			return nil, err
		}
		if err := p.rest(ctx, rand.N(o.session)); err != nil { // so that kills come at any time between two heartbeats
			return nil, err
		}
		gap, err := p.kill(ctx, dead)
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, gap)
	}
	return gaps, nil
}

func createTopic(ctx context.Context, o options) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(o.brokers...))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer client.Close()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = o.group, int32(o.partitions), 1
	req := kmsg.NewCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, topic), 10_000
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resp, err := req.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("create topic %s: %w", o.group, err)
	}
	return nil
}

// fill starts members until there are enough, and waits until they share all partitions.
func (p *play) fill(ctx context.Context) error {
	for len(p.running) < p.members {
		p.names++
		if err := p.start(fmt.Sprintf("m%d", p.names)); err != nil {
			return err
		}
	}
	return p.await(ctx, "all members have their share", func() bool { return p.owners.even(p.living()) })
}

func (p *play) living() []string {
	var names []string
	for name := range p.running {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *play) start(name string) error {
	cmd := exec.Command(p.binary, "-brokers", strings.Join(p.brokers, ","), "-group", p.group, "-member", name,
		"-session", p.session.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start member %s: %w", name, err)
	}
	p.running[name] = cmd
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			var l line
			if json.Unmarshal(in.Bytes(), &l) == nil { // else it was killed in the middle of it
				p.lines <- l
			}
		}
		_ = cmd.Wait() // it was killed, or p.await tells
		p.ended <- name
	}()
	return nil
}

// kill kills the members that come first by name and returns when the last of their partitions is elsewhere.
func (p *play) kill(ctx context.Context, dead int) (time.Duration, error) {
	victims := p.living()[:dead]
	lost := p.owners.had(victims)
	at := protocol.Now()
	for _, name := range victims {
		if err := p.running[name].Process.Kill(); err != nil {
			return 0, fmt.Errorf("kill %s: %w", name, err)
		}
		delete(p.running, name)
	}
	var last protocol.Instant
	err := p.await(ctx, "what the killed had is elsewhere", func() (ok bool) {
		last, ok = p.owners.last(lost, victims)
		return ok
	})
	return last.Sub(at), err
}

// await takes in what the members write until a condition holds.
func (p *play) await(ctx context.Context, what string, holds func() bool) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !holds() {
		select {
		case l := <-p.lines:
			p.owners.take(l)
		case name := <-p.ended:
			if p.running[name] != nil {
				return fmt.Errorf("member %s ended", name)
			}
		case <-limit.C:
			return fmt.Errorf("waited %s and it is not so: %s", patience, what)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// rest lets time pass.
func (p *play) rest(ctx context.Context, d time.Duration) error {
	over := time.Now().Add(d)
	alarm := time.AfterFunc(d, func() { p.lines <- line{} }) // an empty line changes nothing, and makes await look again
	defer alarm.Stop()
	return p.await(ctx, "the pause is over", func() bool { return !time.Now().Before(over) })
}

// stop kills all that still run, and waits for them.
func (p *play) stop() {
	for _, cmd := range p.running {
		_ = cmd.Process.Kill() // it may have ended
	}
	for left := len(p.running); left > 0; {
		select {
		case <-p.lines:
		case name := <-p.ended:
			if p.running[name] != nil {
				left--
			}
		}
	}
}

// owners is who has which partition, by what the members wrote down.
type owners struct {
	partitions int
	of         map[int32]string
	since      map[int32]protocol.Instant
}

func newOwners(partitions int) *owners {
	return &owners{partitions: partitions, of: make(map[int32]string), since: make(map[int32]protocol.Instant)}
}

// take takes in a line. What a member gives back is nobody's, unless another one had it before that was heard of.
func (o *owners) take(l line) {
	for _, p := range l.Unassigned {
		if o.of[p] == l.Member {
			delete(o.of, p)
		}
	}
	for _, p := range l.Assigned {
		if l.At >= o.since[p] {
			o.of[p], o.since[p] = l.Member, l.At
		}
	}
}

// had are the partitions of some members.
func (o *owners) had(members []string) []int32 {
	var out []int32
	for p, m := range o.of {
		if slices.Contains(members, m) {
			out = append(out, p)
		}
	}
	return out
}

// last is when the last of some partitions was given to a member other than the dead; false while one has not been.
func (o *owners) last(partitions []int32, dead []string) (protocol.Instant, bool) {
	var last protocol.Instant
	for _, p := range partitions {
		m, ok := o.of[p]
		if !ok || slices.Contains(dead, m) {
			return 0, false
		}
		last = max(last, o.since[p])
	}
	return last, true
}

// even tells whether these members, and no others, have all partitions, in shares that differ by at most one.
func (o *owners) even(members []string) bool {
	count := make(map[string]int, len(members))
	for _, m := range o.of {
		count[m]++
	}
	least, most := o.partitions, 0
	for _, m := range members {
		least, most = min(least, count[m]), max(most, count[m])
		delete(count, m)
	}
	return len(o.of) == o.partitions && len(count) == 0 && most-least <= 1
}
