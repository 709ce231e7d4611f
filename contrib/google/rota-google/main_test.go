package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gds "cloud.google.com/go/datastore"
	gps "cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/rota-run/rota/contrib/google/internal/emulator"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/publish"
)

// asBinary makes the test binary rota-google.
const asBinary = "ROTA_GOOGLE_TEST_AS_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestMainIsShort: a binary of one's own is at most 20 lines.
func TestMainIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("main.go")
	must.Succeed(t, err)
	if n := bytes.Count(text, []byte("\n")); n > 20 {
		t.Errorf("main.go has %d lines, at most 20 are promised", n)
	}
}

// stored is a task in Datastore.
type stored struct {
	Version  string   `datastore:"version"`
	Data     string   `datastore:"data,noindex"`
	Updated  int64    `datastore:"last_updated"`
	Metadata []string `datastore:"metadata"`
}

// logEntry is a record in Datastore.
type logEntry struct {
	Timestamp int64  `datastore:"timestamp"`
	TaskID    string `datastore:"task_id"`
	Type      string `datastore:"type"`
	Data      string `datastore:"data"`
}

// place is a user's folder and project.
type place struct {
	t       *testing.T
	ctx     context.Context
	dir     string
	env     []string
	project string
	tasks   *gds.Client
	topic   *gps.Client
	sub     string
}

func newPlace(t *testing.T, s emulator.Servers) *place {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	p := &place{t: t, ctx: ctx, dir: t.TempDir(), env: append(os.Environ(), append(s.Env(), asBinary+"=yes")...),
		project: emulator.Project()}
	t.Setenv("DATASTORE_EMULATOR_HOST", s.Datastore())
	t.Setenv("PUBSUB_EMULATOR_HOST", s.PubSub())
	var err error
	p.tasks, err = gds.NewClient(ctx, p.project)
	must.Succeed(t, err)
	p.topic, err = gps.NewClient(ctx, p.project)
	must.Succeed(t, err)
	t.Cleanup(func() { p.tasks.Close(); p.topic.Close() })
	name := "projects/" + p.project + "/topics/samples"
	must.Succeed(t, must.Err(p.topic.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: name})))
	p.sub = "projects/" + p.project + "/subscriptions/all"
	must.Succeed(t, must.Err(p.topic.SubscriptionAdminClient.CreateSubscription(ctx,
		&pubsubpb.Subscription{Name: p.sub, Topic: name})))
	return p
}

// put writes a task under a version that follows from its text.
func (p *place) put(id, data string, metadata ...string) {
	p.t.Helper()
	e := &stored{data, data, time.Now().UnixMilli(), metadata}
	must.Succeed(p.t, must.Err(p.tasks.Put(p.ctx, gds.NameKey("coalesce-tasks", id, nil), e)))
}

func (p *place) remove(id string) {
	p.t.Helper()
	must.Succeed(p.t, p.tasks.Delete(p.ctx, gds.NameKey("coalesce-tasks", id, nil)))
}

func (p *place) await(what string, ok func() bool) {
	p.t.Helper()
	for p.ctx.Err() == nil {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond) // waits: for another process
	}
	p.t.Fatalf("never: %s", what)
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// states are those of the tasks, by task; nil while there is no answer.
func (p *place) states() map[string]string {
	out, err := p.command("task", "list", "--store", "file:store", "-o", "json").Output()
	if err != nil {
		return nil
	}
	var answer []struct {
		Task  string `json:"task"`
		State string `json:"state"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		p.t.Fatalf("%s: %v", out, err)
	}
	all := map[string]string{}
	for _, task := range answer {
		all[task.Task] = task.State
	}
	return all
}

// logs are the log entries of a type about a task.
func (p *place) logs(kind, task string) (out []logEntry) {
	p.t.Helper()
	q := gds.NewQuery("coalesce-logs").FilterField("type", "=", kind).FilterField("task_id", "=", task)
	must.Succeed(p.t, must.Err(p.tasks.GetAll(p.ctx, q, &out)))
	return out
}

// received are the tags "version" of the samples that arrived since the last call.
func (p *place) received() map[string]bool {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Second)
	defer cancel()
	out := map[string]bool{}
	answer, err := p.topic.SubscriptionAdminClient.Pull(ctx,
		&pubsubpb.PullRequest{Subscription: p.sub, MaxMessages: 100})
	if err != nil {
		return out // nothing came within the time
	}
	var acks []string
	for _, m := range answer.ReceivedMessages {
		var s publish.Sample
		if err := json.Unmarshal(m.Message.Data, &s); err != nil {
			p.t.Errorf("message %s: %v", m.Message.Data, err)
		}
		out[s.Tags["task"]+"/"+s.Tags["version"]] = true
		acks = append(acks, m.AckId)
	}
	if len(acks) > 0 {
		must.Succeed(p.t, p.topic.SubscriptionAdminClient.Acknowledge(p.ctx,
			&pubsubpb.AcknowledgeRequest{Subscription: p.sub, AckIds: acks}))
	}
	return out
}

// start starts a member as a user does.
func (p *place) start() (stop func()) {
	p.t.Helper()
	out := output.New(p.t)
	cmd := p.command("run", "--store", "file:store", "--member", "a", "--listen", "none",
		"--source", "checks=datastore:"+p.project+"?filter=squad=backend&poll=100ms&rescan=500ms",
		"--allow-exec", "/no/such/program",
		"--storage", "datastore:"+p.project, "--storage", "file:journal.jsonl", "--publish", "pubsub:"+p.project+
			"/samples")
	cmd.Stdout, cmd.Stderr = out, out
	must.Succeed(p.t, cmd.Start())
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("the member ended with %v", err)
		}
	})
	p.t.Cleanup(stop)
	return stop
}

func check(version string) string {
	return `{"type": "noop", "every": "200ms", "config": {"emit": true}, "tags": {"version": "` + version + `"}}`
}

// TestAsAUser runs the binary on Datastore and Pub/Sub: tasks are added, changed, filtered and deleted; one is
// malformed, and one fails.
func TestAsAUser(t *testing.T) {
	emulator.Each(t, func(t *testing.T, s emulator.Servers) {
		p := newPlace(t, s)
		p.put("web", check("one"), "squad=backend")
		p.put("other", check("one"), "squad=frontend")
		stop := p.start()
		runs := func(want ...string) func() bool {
			return func() bool {
				all := p.states()
				delete(all, "rota.source.checks")
				for _, task := range want {
					if all[task] != "running" {
						return false
					}
				}
				return len(all) == len(want)
			}
		}
		p.await("only the task of the squad runs", runs("web"))
		p.await("its samples arrive", func() bool { return p.received()["web/one"] })
		p.put("web", check("two"), "squad=backend")
		p.await("the samples are those of the new version", func() bool { return p.received()["web/two"] })
		p.put("other", check("three"), "squad=backend")
		p.await("the metadata lets the other one in", runs("other", "web"))
		p.put("other", "{\"type\": \"noop\",\n \"evry\": \"1s\"}", "squad=backend")
		p.await("the malformed task is in the log",
			func() bool { return len(p.logs("malformed-task-error", "other")) > 0 })
		p.put("fails", `{"type": "exec", "every": "100ms", "config": {"argv": ["/no/such/program"]}}`, "squad=backend")
		p.await("the task that fails is in the log", func() bool { return len(p.logs("run-error", "fails")) > 0 })
		got := p.logs("malformed-task-error", "other")
		var data struct {
			Type, Message string
			Storage       struct {
				Type, Path string
				Location   struct{ Line, Column int }
				Line       []string
			}
		}
		if err := json.Unmarshal([]byte(got[0].Data), &data); err != nil || len(got) != 1 {
			t.Fatalf("%+v: %v", got, err)
		}
		if data.Type != "malformed-task-error" || !strings.Contains(data.Message, `unknown field "evry"`) ||
			data.Storage.Type != "datastore" ||
			data.Storage.Path != "datastore/other.json" || data.Storage.Location.Line != 2 ||
			len(data.Storage.Line) < 3 || got[0].Timestamp == 0 {
			t.Errorf("the log has %s", got[0].Data)
		}
		t.Logf("coalesce-logs has %s", got[0].Data)
		p.remove("web")
		p.await("the deleted task ends, and the malformed one keeps running", func() bool {
			all := p.states()
			return all["web"] == "" && all["other"] == "running"
		})
		stop()
		text, err := os.ReadFile(filepath.Join(p.dir, "journal.jsonl"))
		if err != nil || !bytes.Contains(text, []byte(`"kind":"malformed-task-error"`)) ||
			!bytes.Contains(text, []byte(`"kind":"member-joined"`)) {
			t.Errorf("the file of the journal has %s, %v", text, err)
		}
	})
}

func TestWrongPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--source", "x=datastore:"}, "is not PROJECT"},
		{[]string{"--source", "x=datastore:p?poll=1"}, "is not a time"},
		{[]string{"--source", "x=datastor:p"}, "datastor:p is not a directory"},
		{[]string{"--storage", "datastor:p"}, "try: --storage datastore:…"},
		{[]string{"--storage", "datastore:p?types=all&types=x"}, "is there twice"},
		{[]string{"--publish", "pubsub:p"}, "is not PROJECT/TOPIC"},
	} {
		cmd := exec.Command(os.Args[0], append([]string{"run", "--store", "memory:", "--listen", "none"}, c.args...)...)
		cmd.Env = append(os.Environ(), asBinary+"=yes", "DATASTORE_EMULATOR_HOST=127.0.0.1:1",
			"PUBSUB_EMULATOR_HOST=127.0.0.1:1")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v, %s, want %q", c.args, err, out, c.want)
		}
	}
}
