package zookeeper

import (
	"context"
	"slices"

	"github.com/go-zookeeper/zk"
)

// The library sends requests of several goroutines in any order, and each waits for its answer. A call needs its
// reads in order, and many at a time. So a read begins when the one before it was written to the connection, whoever
// made that. A server executes what comes by one connection in its order.

// reading is a read that has left, or was refused.
type reading struct {
	h   *hub
	at  spot
	a   *arming // nil: it arms nothing
	got <-chan found
	set bool // the answer has armed it
}

// found is the answer to a read.
type found struct {
	node node
	err  error
}

// readLeft notes that a read is written.
func (l *link) readLeft() {
	select {
	case l.left <- struct{}{}:
	default:
	}
}

// send makes a read leave, after those of the calls before. An error says that there is no connection.
func (l *link) send(ctx context.Context, at spot) (<-chan found, error) {
	if err := l.await(ctx); err != nil {
		return nil, err
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, &awayError{cause: context.Cause(ctx)}
	}
	select {
	case <-l.left: // of one that was refused
	default:
	}
	got := make(chan found, 1)
	go func() { // ends when the read is answered or refused, at the latest with the link
		n, err := at.ask(l.conn)
		if err != nil {
			n, err = node{}, classify(err) // the library gives a stat with an error
		}
		got <- found{n, err}
	}()
	left := func(ended <-chan struct{}) bool {
		select {
		case <-l.left:
		case f := <-got:
			got <- f
		case <-ended:
			return false
		}
		<-l.turn
		return true
	}
	if left(ctx.Done()) {
		return got, nil
	}
	go left(nil) // it may still leave, and must not be taken for the next one
	return nil, &sentError{context.Cause(ctx)}
}

// read makes a read leave, and arms its spot where a watch wants that.
func (h *hub) read(ctx context.Context, at spot) (*reading, error) {
	return h.ask(ctx, at, h.begin(at))
}

func (h *hub) ask(ctx context.Context, at spot, a *arming) (*reading, error) {
	got, err := h.c.link.send(ctx, at)
	if err != nil && a != nil {
		h.settle(at, a, node{}, err)
	}
	return &reading{h: h, at: at, a: a, got: got}, err
}

// answer waits for the answer.
func (r *reading) answer(ctx context.Context) (node, error) {
	var f found
	select {
	case f = <-r.got:
	case <-ctx.Done():
		f.err = &sentError{context.Cause(ctx)}
	}
	if r.a != nil {
		r.set = r.h.settle(r.at, r.a, f.node, f.err)
	}
	return f.node, f.err
}

// spot is what a read looks at, and one of ZooKeeper's watches.
type spot struct {
	path     string
	children bool // the names of its children; else its data
}

// node is what a server says of a spot.
type node struct {
	data  []byte
	names []string // of the children
	stat  *zk.Stat // never changed
}

func (n node) clone() node { return node{slices.Clone(n.data), slices.Clone(n.names), n.stat} }

// ask makes the request.
func (at spot) ask(c *zk.Conn) (n node, err error) {
	if at.children {
		n.names, n.stat, err = c.Children(at.path)
		return n, err
	}
	n.data, n.stat, err = c.Get(at.path)
	return n, err
}

// arming is a spot that is armed, or is being armed.
type arming struct {
	done bool
	node node // what was found, if it is done
}

// mostKept is the most bytes of data that are looked at again while they are armed: what is watched is small, or is
// asked for each time.
const mostKept = 16 << 10
