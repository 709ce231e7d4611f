package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/call"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/stories"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
)

// TestStories plays testdata/stories: what people type where members a and b have joined, an act a line. "empty" is the
// first act of a story in which there is no store. $DIR is its folder, and $ASKER who it says has asked.
func TestStories(t *testing.T) {
	for _, st := range stories.Read(t, "testdata/stories/*.txt") {
		t.Run(st.Name, func(t *testing.T) {
			s, acts := &story{}, st.Acts
			if acts[0] == "empty" {
				s.place, acts = newPlace(t), acts[1:]
			} else {
				s.written = newWritten(t, nil)
				s.place, s.at = s.written.place, "file:store"
			}
			for _, act := range acts {
				if s.play(act); t.Failed() {
					t.Fatalf("that was: %s", act)
				}
			}
		})
	}
}

// story is one that is played in a place of its own.
type story struct {
	*place
	*written
	at    string // the store of commands that name none
	env   map[string]string
	stdin string
}

func (s *story) play(act string) {
	t := s.place.t
	t.Helper()
	act, texts := stories.Cut(act, "$DIR", s.dir, "$ASKER", asker(env{getenv: func(string) string { return "" }}))
	do, rest, _ := strings.Cut(act, " ")
	name, text, _ := strings.Cut(rest, " ")
	switch do {
	case "ok", "fails", "misused": // ok COMMAND => TEXT: on the store of the story, unless it names another one
		s.types(map[string]int{"fails": exitFailed, "misused": exitUsage}[do], rest, texts)
	case "hints": // those of status lead on: none answers that something is gone
		s.hints()
	case "in": // of the next commands
		s.stdin = rest + "\n"
	case "env": // env NAME=VALUE; NAME=VALUE
		s.env = map[string]string{}
		for one := range strings.SplitSeq(rest, "; ") {
			name, value, _ := strings.Cut(one, "=")
			s.env[name] = value
		}
	case "write":
		must.Succeed(t, os.MkdirAll(filepath.Join(s.dir, filepath.Dir(name)), 0o700))
		s.write(name, text+"\n")
	case "remove":
		must.Succeed(t, os.Remove(name))
	case "mode":
		mode := must.Get(strconv.ParseUint(text, 8, 32))(t)
		must.Succeed(t, os.Chmod(name, os.FileMode(mode)))
	case "none": // no file has such a name
		if all, err := filepath.Glob(name); err != nil || len(all) > 0 {
			t.Errorf("there are %q, %v", all, err)
		}
	case "same": // same FILE TEXT: it is what it was
		if got, err := os.ReadFile(name); err != nil || string(got) != text+"\n" {
			t.Errorf("it has %q, %v", got, err)
		}
	case "has": // has FILE TEXT: somewhere
		if got, err := os.ReadFile(name); err != nil || !strings.Contains(string(got), text) {
			t.Errorf("it has %q, %v", got, err)
		}
	case "poison":
		poisoned(t, name)
	case "reads": // reads 5: the log gives a value with this retention; nothing where it gives none
		retention, err := readable(t)
		if got := strconv.FormatInt(retention, 10); err == nil && got != rest || err != nil && rest != "" {
			t.Errorf("it reads %s, %v", got, err)
		}
	case "history":
		s.at = "file:store"
		history(t)
	case "claim": // claim STORE PROTOCOL QUEUE: the store is one of it
		st := must.Get(file.Open(t.Context(), name, file.Options{}))(t)
		if named, queue, _ := strings.Cut(text, " "); named != "" {
			must.Succeed(t, protocol.Claim(t.Context(), st, protocol.Place{Protocol: named, Queue: queue}))
		}
		must.Succeed(t, st.Close())
	default:
		s.changes(do, name, text)
	}
}

// types runs a command to its end.
func (s *story) types(code int, command string, texts stories.Texts) {
	t := s.place.t
	t.Helper()
	args := strings.Fields(command)
	if s.at != "" && !strings.HasPrefix(command, "store ") && !strings.Contains(command, "--store") {
		args = append(args, "--store", s.at)
	}
	out, errs, got := with(s.env, s.stdin, args...)
	if got != code || !texts.In(out+errs) || code == exitUsage && out != "" {
		t.Errorf("exit %d, want %d:\n%s%s", got, code, out, errs)
	}
}

// hints follows each command that status suggests.
func (s *story) hints() {
	t := s.place.t
	t.Helper()
	out, _, _ := s.rota("status", "--store", "file:store")
	for line := range strings.Lines(out) {
		if _, hint, ok := strings.Cut(line, "→ rota "); ok {
			if answer, errs, code := s.rota(strings.Fields(hint)...); code != exitOK ||
				strings.Contains(answer, "gone") {
				t.Errorf("%sthe hint leads to exit %d, %s%s", line, code, answer, errs)
			}
		}
	}
}

var tokenOf = regexp.MustCompile(`\$TOKEN\(([^)]*)\)`)

// changes plays what members and programs write.
func (s *story) changes(do, name, text string) {
	t := s.place.t
	t.Helper()
	value := func() cluster.Value {
		v := must.Get(replica.Protocol{}.Observe(t.Context(), s.st, cluster.Value{}))(t)
		return v
	}
	token := func(id string) cluster.Token {
		p, ok := value().Partition(cluster.PartitionID(id))
		if !ok {
			t.Fatalf("there is no %s", id)
		}
		return p.Token
	}
	switch do {
	case "alive":
		s.alive()
	case "beat": // beat a 1h: a heartbeat that is so old by its own clock
		d := must.Get(time.ParseDuration(text))(t)
		s.beat(name, d)
	case "job": // job x every: of one task, by this spread
		var spread cluster.Spread
		must.Succeed(t, spread.UnmarshalText([]byte(text)))
		s.say(cluster.SubmitJob{Job: cluster.JobID(name), Spec: one(spread)})
	case "file": // file x: a task that a file defines
		spec := one(cluster.SpreadSingle)
		spec.Source = "tasks"
		s.say(cluster.SubmitJob{Job: cluster.JobID(name), Spec: spec})
	case "put": // put KEY JSON; $SOON is an instant that is to come, $TOKEN(x) the token of x
		text = strings.ReplaceAll(text, "$SOON", fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()))
		s.put(name, json.RawMessage(tokenOf.ReplaceAllStringFunc(text,
			func(of string) string { return fmt.Sprint(token(tokenOf.FindStringSubmatch(of)[1])) })))
	case "finishes":
		s.say(cluster.FinishPartition{Partition: cluster.PartitionID(name), Token: token(name)})
	case "spoils": // spoils x disk full: an attempt that fails
		s.say(cluster.FinishPartition{Partition: cluster.PartitionID(name), Token: token(name),
			Outcome: cluster.OutcomeFailed, Message: text})
	case "journal": // journal 1h JSON: so long ago
		var r journal.Record
		must.Succeed(t, json.Unmarshal([]byte(text), &r))
		r.AtMS = time.Now().Add(-must.Get(time.ParseDuration(name))(t)).UnixMilli()
		must.Succeed(t, journal.NewDocs(s.st, "a", 0).Append(t.Context(), r))
	case "kill":
		s.say(cluster.KillJob{Job: cluster.JobID(name)})
	case "is": // there is such a document
		must.Succeed(t, must.Err(s.st.Get(t.Context(), name)))
	case "holds": // holds a: it has left, and announced that it comes back
		m, _ := value().Member(cluster.MemberID(name))
		s.say(cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: "restart", Hold: true})
	case "calls": // calls resize KEY: a program submits a call
		c := must.Get(call.NewClient(s.st, call.ClientOptions{Queue: "importer"}))(t)
		t.Cleanup(c.Close)
		must.Succeed(t, must.Err(c.Submit(t.Context(), name, []byte(`{"file":"a.png"}`), call.Options{Key: text})))
	default:
		t.Fatalf("no act is %q", do)
	}
}

// history writes a log by hand: a joins at 12:00:01, c1 and c2 are submitted a second apart, c1 is killed. The writer
// "fast" has a clock that is an hour ahead.
func history(t *testing.T) {
	t.Helper()
	st := must.Get(file.Open(t.Context(), "store", file.Options{}))(t)
	defer st.Close()
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	for i, c := range []struct {
		writer  cluster.WriterID
		after   time.Duration
		command cluster.Command
	}{
		{"a", 1 * time.Second, cluster.PrepareJoin{Member: "a", Heartbeat: "pulse/a"}},
		{"fast", time.Hour, cluster.SubmitJob{Job: "c1",
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}}},
		{"a", 3 * time.Second, cluster.SubmitJob{Job: "c2",
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop"}}}}},
		{"a", 4300 * time.Millisecond, cluster.KillJob{Job: "c1"}},
	} {
		e := cluster.Entry{Writer: c.writer, Seq: uint64(i) + 1, AtMS: start.Add(c.after).UnixMilli(),
			Commands: []cluster.Command{c.command}}
		must.Succeed(t, must.Err(st.Append(t.Context(), e.Encode())))
	}
}

// poisoned is a store whose log has something of the kind.
func poisoned(t *testing.T, kind string) {
	t.Helper()
	st := must.Get(openStore(t.Context(), env{}, "file:store", member))(t)
	defer st.Close()
	var v cluster.Value
	put := func(wrong cluster.Hash, commands ...cluster.Command) {
		e := cluster.Entry{Writer: "w", Seq: uint64(v.Index()) + 1, BaseIndex: v.Index(), BaseChain: v.Chain() + wrong,
			Commands: commands}
		index := must.Get(st.Append(t.Context(), e.Encode()))(t)
		if wrong == 0 {
			e.Index = cluster.Index(index)
			v, _ = v.Apply(e)
		}
	}
	put(0, cluster.Configure{Retention: 5})
	switch kind {
	case "format":
		must.Succeed(t, must.Err(st.Append(t.Context(), []byte{0xE7, 99})))
	case "chain":
		put(1, cluster.Configure{Retention: 77})
	case "snapshot":
		must.Succeed(t, st.SaveSnapshot(t.Context(), store.Record{Index: uint64(v.Index()), Data: []byte{0xA7, 99, 1}}))
	case "trimmed":
		must.Succeed(t, st.SaveSnapshot(t.Context(), store.Record{Index: uint64(v.Index()), Data: []byte{0xA7, 1}}))
		must.Succeed(t, st.Trim(t.Context(), uint64(v.Index())))
	}
}

// readable tells whether a member could read the log, and what it would find.
func readable(t *testing.T) (int64, error) {
	t.Helper()
	st := must.Get(openStore(t.Context(), env{}, "file:store", look))(t)
	defer st.Close()
	v, err := fold.Observe(t.Context(), st, cluster.Value{})
	return v.Settings().Retention, err
}
