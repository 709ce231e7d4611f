package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// TestWhatAWatchWants: events of rows below its prefix, and of all that may have some.
func TestWhatAWatchWants(t *testing.T) {
	t.Parallel()
	o := Options{Path: "/r"}
	for prefix, paths := range map[string]map[string]bool{
		"w/": {o.at(rowsNode): true, o.rowPath("w/a"): true, o.rowPath("x/a"): false, o.at(rowsNode, "+w"): true,
			o.at(rowsNode, "+w+x"): true, o.at(rowsNode, "+x"): false, o.at(rowsNode, "w"): false, o.lifePath("w"): false},
		"w/ab": {o.rowPath("w/a"): false, o.rowPath("w/abc"): true, o.at(rowsNode, "+w"): true,
			o.at(rowsNode, "+w+ab"): true, o.at(rowsNode, "+w+a"): false},
		"w/x/": {o.at(rowsNode, "+w"): false},
	} {
		for path, want := range paths {
			if (&watch{prefix: prefix}).wants(o, path) != want {
				t.Errorf("a watch of %s wants %s: %t", prefix, path, !want)
			}
		}
	}
}

// TestArming: a spot is armed once, by a read that is wanted there and was answered before an event came; what was
// found counts until then. Each event tells those who watch, and takes away what may have changed.
func TestArming(t *testing.T) {
	t.Parallel()
	h, _ := watching()
	h.c.o.Path, h.look = "/r", time.Hour // nobody looks meanwhile
	clear(h.watches)
	hints := 0
	w := &watch{prefix: "w/", hint: func() { hints++ }}
	h.watches[w] = struct{}{}
	folder, path := h.c.o.at(rowsNode, "+w"), h.c.o.rowPath("w/a")
	at, children, data := spot{path: path}, spot{folder, true}, spot{path: folder}
	if h.begin(spot{path: h.c.o.rowPath("x/a")}) != nil {
		t.Error("a read arms what nobody watches")
	}
	a := h.begin(at)
	if _, found := h.found(at); a == nil || found || h.begin(at) != nil {
		t.Error("a read that is under way has found something, or another one arms the same spot")
	}
	if h.settle(at, a, node{}, io.EOF) || h.armed[at] != nil {
		t.Error("a read that failed has armed something")
	}
	a = h.begin(at)
	h.event(zk.Event{Type: zk.EventNodeDataChanged, Path: path})
	if _, known := h.known(at); h.settle(at, a, node{}, nil) || known {
		t.Error("what was found before an event is known")
	}
	h.settle(at, h.begin(at), node{data: []byte("x")}, nil)
	n, _ := h.known(at)
	n.data[0] = 'y'
	if n, known := h.known(at); !known || string(n.data) != "x" {
		t.Errorf("known is %q", n.data)
	}
	h.settle(data, h.begin(data), node{data: make([]byte, mostKept+1)}, nil)
	if _, known := h.known(data); known {
		t.Error("what is large is kept")
	}
	for _, c := range []struct {
		event zk.Event
		left  []spot
		hints int
	}{
		{zk.Event{Type: zk.EventNodeChildrenChanged, Path: folder}, []spot{at, data}, 1},
		{zk.Event{Type: zk.EventNodeDeleted, Path: folder}, []spot{at}, 1},
		{zk.Event{Type: zk.EventNodeDataChanged, Path: path}, []spot{children, data}, 1},
		{zk.Event{Type: zk.EventNodeDataChanged, Path: h.c.o.rowPath("x/a")}, []spot{at, children, data}, 0},
		{zk.Event{Type: zk.EventSession, State: zk.StateDisconnected}, nil, 0},
		{zk.Event{Type: zk.EventSession, State: zk.StateHasSession}, nil, 0},
	} {
		hints = 0
		for _, s := range []spot{at, children, data} {
			h.settle(s, h.claim(s), node{}, nil)
		}
		h.event(c.event)
		for _, s := range []spot{at, children, data} {
			if (h.armed[s] != nil) != slices.Contains(c.left, s) || hints != c.hints {
				t.Errorf("%+v: %v is armed: %t, %d hints", c.event, s, h.armed[s] != nil, hints)
			}
		}
	}
	for what, missed := range map[string]func(){"a spot": func() { h.missed(at) },
		"a connection": func() { h.event(zk.Event{Type: zk.EventSession, State: zk.StateHasSession}) }} {
		w.owed, w.dirty = false, false
		if missed(); !w.owed || !w.dirty {
			t.Errorf("where %s was not watched for a while nobody is told", what)
		}
	}
}

// TestStatesOfALink: a session that has expired is over where no other one may follow, and nothing waits for it.
func TestStatesOfALink(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		l := silentLease().link
		l.o.once, l.lastErr = once, io.EOF
		heard := l.heard
		l.answered(heard.Add(-time.Second))
		if l.state(zk.StateHasSession); l.lastErr != nil || !l.heard.Equal(heard) {
			t.Errorf("connected: %v, heard of %v later", l.lastErr, l.heard.Sub(heard))
		}
		ctx, end := context.WithCancelCause(t.Context())
		if end(io.EOF); !errors.Is(l.await(ctx), io.EOF) {
			t.Errorf("whose call has ended is told %v", l.await(ctx))
		}
		l.state(zk.StateExpired)
		l.o.wait = time.Millisecond
		if err := l.await(t.Context()); l.up || l.over != once || errors.Is(err, errExpired) != once {
			t.Errorf("once %t: %s, %v", once, fmt.Sprint(l.up, l.over), err)
		}
		close(l.closing)
		if err := l.await(t.Context()); !once && !errors.Is(err, errLinkClosed) {
			t.Errorf("closed: %v", err)
		}
	}
}
