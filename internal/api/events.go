package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/view"
)

// Changed is the data of an event of /v1/events: what differs from the event before it.
type Changed struct {
	Index       uint64        `json:"index"`
	Members     []view.Member `json:"members"`      // without heartbeats
	Tasks       []view.Task   `json:"tasks"`        // as the value has them: whether they fail is not known here
	Jobs        []string      `json:"jobs"`         // names: ask /v1/job
	GoneMembers []string      `json:"gone_members"` // that are no more
	GoneTasks   []string      `json:"gone_tasks"`
}

// Beginning is the data of the events "begin" and "reset": everything is to be read again, from /v1/members, /v1/tasks
// and /v1/jobs.
type Beginning struct {
	Index    uint64   `json:"index"`
	Store    string   `json:"store"` // for people
	Protocol string   `json:"protocol"`
	Unready  []string `json:"unready"` // why the answering member cannot do its work, for example because the store does not answer: its data is old then
	Pinned   bool     `json:"pinned"`  // the move budget is 0: see /v1/rebalance
	Acts     bool     `json:"acts"`    // whether the member takes what changes the cluster: it does where its API has a token
}

// The pace of /v1/events.
const (
	glance     = 250 * time.Millisecond // between looks at the value, of all streams
	beat       = 5 * time.Second        // a stream says at least so often that it lives
	maxChanges = 2_000                  // more are not listed: read everything again
	maxStreams = 100
	maxRecent  = 128 // values that a stream can go on from; they share what has not changed
)

// follower is one open stream.
type follower struct {
	h     *handler
	r     *http.Request
	w     http.ResponseWriter
	seen  cluster.Value
	ready string // what the last event "ready" said
	said  time.Time
}

// events sends what changes, as server-sent events, until the client goes: "begin", "changed", "reset", "ready". The
// identifier of an event is the index of the log. With a recent one as Last-Event-ID the stream has no "begin", and
// continues with what has changed since.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		fail(w, http.StatusNotImplemented, "this connection cannot carry events")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	f := &follower{h: h, r: r, w: w, seen: h.looks.now(h.c.Value, glance)}
	if seen, ok := h.recent.find(r.Header.Get("Last-Event-ID")); ok {
		f.seen, f.ready, f.said = seen, readyText(f.reasons(), seen), time.Now()
	} else if !f.begin("begin") {
		return
	}
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for f.look() {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-h.c.done:
			return
		}
	}
}

// look sends what is new; false if the client cannot be reached.
func (f *follower) look() bool {
	v := f.h.looks.now(f.h.c.Value, glance)
	if changes := cluster.Changes(f.seen, v); len(changes) > 0 {
		f.seen = v
		if len(changes) > maxChanges {
			return f.begin("reset")
		}
		return f.send("changed", changedOf(v, changes))
	}
	f.seen = v
	if readyText(f.reasons(), v) != f.ready {
		return f.begin("ready")
	}
	return time.Since(f.said) < beat || f.write(": beat\n\n")
}

func changedOf(v cluster.Value, changes []cluster.Record) Changed {
	out := Changed{Index: uint64(v.Index()), Members: []view.Member{}, Tasks: []view.Task{}, Jobs: []string{},
		GoneMembers: []string{}, GoneTasks: []string{}}
	for _, c := range changes {
		switch {
		case c.Member != "":
			if m, ok := v.Member(c.Member); ok {
				out.Members = append(out.Members, view.Of(v).Member(m))
			} else {
				out.GoneMembers = append(out.GoneMembers, string(c.Member))
			}
		case c.Job != "":
			out.Jobs = append(out.Jobs, string(c.Job))
		default:
			if p, ok := v.Partition(c.Partition); ok {
				out.Tasks = append(out.Tasks, view.Of(v).Task(p))
			} else {
				out.GoneTasks = append(out.GoneTasks, string(c.Partition))
			}
		}
	}
	return out
}

func (f *follower) reasons() []string {
	if f.h.c.Ready == nil {
		return []string{}
	}
	return append([]string{}, f.h.c.Ready()...)
}

// readyText is what an event "ready" says, as one text to compare.
func readyText(unready []string, v cluster.Value) string {
	return fmt.Sprint(unready, v.Settings().Pinned)
}

func (f *follower) begin(event string) bool {
	unready := f.reasons()
	f.ready = readyText(unready, f.seen)
	return f.send(event, Beginning{Index: uint64(f.seen.Index()), Store: f.h.c.Store, Protocol: f.h.c.Protocol,
		Unready: unready,
		Pinned:  f.seen.Settings().Pinned, Acts: f.h.c.Actions != nil &&
			f.h.c.guarded() && userOf(f.r).Role == RoleOperate})
}

func (f *follower) send(event string, data any) bool {
	if !f.h.take(f.r) {
		return false
	}
	b, err := json.Marshal(data)
	<-f.h.turns
	f.h.recent.keep(f.seen)
	return err == nil && f.write(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", uint64(f.seen.Index()), event, b))
}

func (f *follower) write(s string) bool {
	c := http.NewResponseController(f.w)
	if c.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
		return false
	}
	if _, err := f.w.Write([]byte(s)); err != nil || c.Flush() != nil {
		return false
	}
	f.said = time.Now()
	return true
}
