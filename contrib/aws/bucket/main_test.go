package bucket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/contrib/aws/bucket"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/proof/port"
	"github.com/rota-run/rota/store/memory"
)

// patience bounds all that a test does; it says nothing about how long things should take.
const patience = 2 * time.Minute

const quick = 20_000_000 // ns: tests do not wait for what is rare

// keys are those that the gateway knows; the second one is a secret.
var keys = credentials.NewStaticCredentialsProvider("ak", "hunter2hunter2", "")

// bed is a gateway, a cluster, and what was taken.
type bed struct {
	t      *testing.T
	ctx    context.Context
	url    string
	client *s3.Client
	store  *memory.Server
	// gateway is the one in this process, without tamper.
	gateway http.Handler

	mu       sync.Mutex
	taken    []string // "name content", in order
	requests map[string]int
	logs     *output.Text
	tamper   func(w http.ResponseWriter, r *http.Request) bool // answers instead of the gateway, if it wants
}

func setup(t *testing.T, buckets ...string) *bed {
	t.Helper()
	t.Parallel()
	b := &bed{t: t, store: newStore(), requests: map[string]int{}, logs: output.New(t)}
	b.gateway = gofakes3.New(s3mem.New()).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer b.count(r) // when it is done: who waits for the count does something else next
		b.mu.Lock()
		tamper := b.tamper
		b.mu.Unlock()
		if tamper == nil || !tamper(w, r) {
			b.gateway.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	b.use(server.URL)
	for _, name := range buckets {
		must.Succeed(t, must.Err(b.client.CreateBucket(b.ctx, &s3.CreateBucketInput{Bucket: &name})))
	}
	return b
}

func (b *bed) count(r *http.Request) {
	what := r.Method
	if r.URL.Query().Has("list-type") {
		what = "LIST"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests[what]++
}

func (b *bed) use(url string) {
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	b.t.Cleanup(cancel)
	b.ctx, b.url = ctx, url
	b.client = s3.New(s3.Options{BaseEndpoint: &url, UsePathStyle: true, Region: "us-east-1", Credentials: keys,
		Logger: logging.Nop{}})
}

func (b *bed) config() bucket.Config {
	return bucket.Config{Endpoint: b.url, PathStyle: true, Poll: quick, Window: 20}
}

func (b *bed) put(in, name, content string) string {
	b.t.Helper()
	out, err := b.client.PutObject(b.ctx,
		&s3.PutObjectInput{Bucket: &in, Key: &name, Body: bytes.NewReader([]byte(content))})
	must.Succeed(b.t, err)
	return aws.ToString(out.ETag)
}

func (b *bed) join(name string, types ...rota.Type) *rota.Member {
	b.t.Helper()
	m, err := rota.Join(b.ctx, rota.Config{Member: name, Store: b.store.Open(), TTL: patience, Types: types,
		Logger: slog.New(slog.NewTextHandler(b.logs, nil))})
	must.Succeed(b.t, err)
	b.t.Cleanup(func() {
		if err := m.Leave(context.WithoutCancel(b.ctx)); err != nil {
			b.t.Errorf("leave %s: %v", name, err)
		}
	})
	return m
}

// objects is a process that notes what it takes; extra may be nil.
func (b *bed) objects(extra func(o bucket.Object) error) bucket.Objects {
	return bucket.Objects{
		Load: []func(*config.LoadOptions) error{config.WithCredentialsProvider(keys), config.WithSharedConfigFiles(nil),
			config.WithSharedCredentialsFiles(nil)},
		Take: func(_ context.Context, _ *rota.Grant, o bucket.Object) error {
			data, err := io.ReadAll(o.Body)
			if err == nil && extra != nil {
				err = extra(o)
			}
			if err != nil {
				return err
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.taken = append(b.taken, o.Name+" "+string(data))
			return nil
		},
	}
}

func (b *bed) submit(m *rota.Member, c bucket.Config, places ...string) {
	b.t.Helper()
	must.Succeed(b.t, m.Submit(b.ctx, "job", bucket.Task("objects", c, places...)))
}

// run is a pass of one member over some places.
func (b *bed) run(c bucket.Config, o bucket.Objects, places ...string) {
	b.t.Helper()
	m := b.join("a", bucket.NewType("objects", o))
	b.submit(m, c, places...)
	if err := m.Wait(b.ctx, "job"); err != nil {
		for p := range m.Value().Partitions() {
			b.t.Log(p.ID, p.State, p.Message)
		}
		b.t.Fatal(err)
	}
}

// await returns when something holds, which is looked at from time to time.
func (b *bed) await(what string, holds func() bool) {
	b.t.Helper()
	b.awaitFree(what, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return holds()
	})
}

// awaitFree is await for what asks the gateway.
func (b *bed) awaitFree(what string, holds func() bool) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if holds() {
			return
		}
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			b.mu.Lock()
			defer b.mu.Unlock()
			b.t.Fatalf("it is not so: %s; taken are %.500q", what, b.taken)
		}
	}
}

// awaitMessage waits until a partition has failed with an error that contains all the words.
func (b *bed) awaitMessage(m *rota.Member, key string, words ...string) (message string) {
	b.t.Helper()
	b.await(fmt.Sprintf("%s failed with %q", key, words), func() bool {
		p, _ := m.Value().Partition(cluster.NewPartitionID("job", "", key))
		message = p.Message
		for _, w := range words {
			if !strings.Contains(message, w) {
				return false
			}
		}
		return message != ""
	})
	return message
}

func (b *bed) once(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[string]int{}
	for _, s := range b.taken {
		n[s]++
		if n[s] > 1 {
			b.t.Errorf("%q was taken %d times", s, n[s])
		}
	}
	for _, s := range want {
		if n[s] == 0 {
			b.t.Errorf("%q was not taken", s)
		}
	}
	if len(b.taken) != len(want) {
		b.t.Errorf("%d were taken, want %d", len(b.taken), len(want))
	}
}

func newStore() *memory.Server { return memory.New() }

// gateway starts a real gateway on a directory, or skips the test.
func gateway(t *testing.T) *bed {
	t.Helper()
	t.Parallel()
	program := os.Getenv("ROTA_VERSITYGW")
	if program == "" {
		found, err := exec.LookPath("versitygw")
		if err != nil {
			t.Skip("no real gateway: NOT RUN. go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, or set ROTA_VERSITYGW to it")
		}
		program = found
	}
	addrs, release, err := port.Find(1)
	must.Succeed(t, err)
	t.Cleanup(release)
	addr := addrs[0]
	cmd := exec.Command(program, "--access", "ak", "--secret", "hunter2hunter2", "--port", addr, "posix", t.TempDir()) //nolint:gosec // chosen by who tests
	cmd.Dir = t.TempDir()
	log, err := os.Create(filepath.Join(cmd.Dir, "log"))
	must.Succeed(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	b := &bed{t: t, store: newStore(), requests: map[string]int{}, logs: output.New(t)}
	b.use("http://" + addr)
	b.awaitFree("the gateway serves", func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		_, err := b.client.ListBuckets(ctx, &s3.ListBucketsInput{})
		return err == nil
	})
	for _, name := range []string{"logs", "done"} {
		must.Succeed(t, must.Err(b.client.CreateBucket(b.ctx, &s3.CreateBucketInput{Bucket: &name})))
	}
	return b
}

// The same on a gateway that is not written for tests: names that sort otherwise as files, marks with conditions,
// deletes.
func TestOnARealGateway(t *testing.T) {
	b := gateway(t)
	var want []string
	put := func(name, content string) {
		b.put("logs", name, content)
		want = append(want, name+" "+content)
	}
	for i := range 120 {
		put(fmt.Sprintf("2026/%03d.log", i), "x")
	}
	for _, odd := range []string{"2026-a/x", "2026.b", "2026/a b+%20c", "2026/ü", "20/a/b/c/d"} {
		put(odd, "y")
	}
	b.run(b.config(), b.objects(nil), "s3://logs/")
	b.once(want...)
	b.taken = nil
	m := b.join("b", bucket.NewType("objects", b.objects(nil)))
	c := b.config()
	c.Follow, c.Marks = bucket.Marks, "s3://done/"
	must.Succeed(t, m.Submit(b.ctx, "marks", bucket.Task("objects", c, "s3://logs/")))
	b.await("all are taken", func() bool { return len(b.taken) >= len(want) })
	b.put("logs", "2026/007.log", "new")
	want = append(want, "2026/007.log new")
	b.await("the changed one is taken", func() bool { return len(b.taken) >= len(want) })
	b.once(want...)
}
